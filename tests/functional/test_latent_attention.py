import math

import pytest
import torch

from mathlm.errors import InputError, InputTypeError
from mathlm.functional import (
    absorbed_latent_attention,
    causal_mask,
    dot_product_attention,
    latent_attention,
)

TIGHT = {"rtol": 1e-12, "atol": 1e-13}
B, T, S, H, K, R, C, V = 2, 3, 5, 4, 6, 2, 7, 3
SHAPES = ((B, H, T, K), (B, H, T, R), (B, S, C), (B, S, R), (H * K, C), (H * V, C))
FORMS = pytest.mark.parametrize("attend", [latent_attention, absorbed_latent_attention])


def tensors(**changed):
    names = ("q", "q_rotary", "latent", "k_rotary", "W_uk", "W_uv")
    return [torch.randn(changed.get(n, s)) for n, s in zip(names, SHAPES, strict=True)]


@pytest.mark.parametrize("mask", [None, causal_mask(T, S)])
def test_absorbed_equals_unabsorbed_in_value_and_gradient(mask):
    args = [x.requires_grad_() for x in tensors()]
    plain, absorbed = latent_attention(*args, mask), absorbed_latent_attention(*args, mask)
    torch.testing.assert_close(absorbed, plain, **TIGHT)
    dy = torch.randn_like(plain)
    for a, b in zip(
        torch.autograd.grad(absorbed, args, dy), torch.autograd.grad(plain, args, dy),
        strict=True,
    ):  # fmt: skip
        torch.testing.assert_close(a, b, rtol=1e-10, atol=1e-12)


@FORMS
def test_it_is_attention_whose_keys_and_values_are_maps_of_the_latent_vector(attend):
    q, q_rotary, latent, k_rotary, W_uk, W_uv = args = tensors()
    for h in range(H):
        k = latent @ W_uk[h * K : (h + 1) * K].mT
        v = latent @ W_uv[h * V : (h + 1) * V].mT
        query = torch.cat((q[:, h], q_rotary[:, h]), -1)
        expected = dot_product_attention(query, torch.cat((k, k_rotary), -1), v)
        torch.testing.assert_close(attend(*args)[:, h], expected, **TIGHT)


@FORMS
@pytest.mark.parametrize("G", [1, 2, 4])
def test_grouped_query_attention_is_the_case_of_maps_that_copy(attend, G):
    """A latent vector that holds all keys and values of G groups, and W_uk, W_uv that pick."""
    q, k, v = torch.randn(B, H, T, K), torch.randn(B, G, S, K), torch.randn(B, G, S, K)
    latent = torch.cat((k, v), 1).transpose(1, 2).flatten(2)  # (B, S, 2 G K)
    picks = torch.eye(2 * G * K).view(2 * G, K, 2 * G * K)
    W_uk, W_uv = (x.repeat_interleave(H // G, 0).flatten(0, 1) for x in picks.chunk(2))
    nothing = torch.empty(B, H, T, 0), torch.empty(B, S, 0)
    y = attend(q, nothing[0], latent, nothing[1], W_uk, W_uv)
    k, v = (x.repeat_interleave(H // G, 1) for x in (k, v))
    torch.testing.assert_close(y, dot_product_attention(q, k, v), **TIGHT)


@FORMS
def test_a_query_that_sees_nothing_gives_zero(attend):
    mask = torch.ones(T, S, dtype=torch.bool)
    mask[1] = False
    assert (attend(*tensors(), mask)[:, :, 1] == 0).all()


@FORMS
@pytest.mark.parametrize("poison", [1e6, math.inf, math.nan])
def test_what_stands_at_an_unseen_token_does_not_matter(attend, poison):
    """Nor does a query that sees nothing."""
    mask = causal_mask(T, S).clone()
    mask[:, 2] = mask[1] = False
    args = tensors()
    poisoned = [x.clone() for x in args]
    for x in poisoned[:2]:  # queries
        x[:, :, 1] = poison
    for x in poisoned[2:4]:
        x[:, 2] = poison
    expected = attend(*args, mask)
    torch.testing.assert_close(attend(*poisoned, mask), expected, rtol=0, atol=0)


@FORMS
@pytest.mark.parametrize(
    ("changed", "says"),
    [
        ({"q_rotary": (B, H, T, 4)}, r"k_rotary \(2, 5, 2\) do not fit"),
        ({"q_rotary": (B, H, 2, R)}, "need one batch, heads and positions"),
        ({"latent": (B, 4, C)}, r"latent \(2, 4, 7\)"),
        ({"latent": (1, S, C), "k_rotary": (1, S, R)}, "the batch of q"),
        ({"W_uk": (H * K, 5)}, r"W_uk \(24, 5\) must be \(24, 7\)"),
        ({"W_uv": (H * V + 1, C)}, r"W_uv \(13, 7\)"),
    ],
)
def test_shapes_that_do_not_fit_are_refused(unchecked, attend, changed, says):
    with pytest.raises(InputError, match=says):
        attend(*tensors(**changed))


@FORMS
def test_a_mask_that_is_not_boolean_is_refused(attend):
    with pytest.raises(InputTypeError, match="mask must be bool"):
        attend(*tensors(), torch.ones(T, S))
