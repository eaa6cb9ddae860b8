import numpy as np
import pytest
import torch

from mathlm import reference as ref
from mathlm.errors import ConfigError
from mathlm.functional import rotary_table
from mathlm.layers import LatentAttention, LatentCache
from mathlm.models import GPTConfig
from mathlm.scaling import kv_cache_bytes, latent_cache_bytes

TIGHT = {"rtol": 1e-12, "atol": 1e-13}
B, T, D, H, C, R = 2, 7, 24, 4, 10, 6


def layer_and_input():
    return LatentAttention(D, H, C, R), torch.randn(B, T, D), rotary_table(T, R)


@pytest.mark.parametrize("absorb", [False, True])
def test_it_is_the_reference_in_value_and_gradient(absorb):
    layer, x, rotation = layer_and_input()
    weights = {n: p.detach().numpy() for n, p in layer.state_dict().items()}
    expected, cache = ref.latent_attention(x.numpy(), weights, H, np.tri(T, dtype=bool))
    y = layer(x.requires_grad_(), rotation, absorb=absorb)
    np.testing.assert_allclose(y.detach(), expected, rtol=1e-10, atol=1e-12)
    dy = torch.randn_like(y)
    y.backward(dy)
    dx, grads = ref.latent_attention_backward(dy.numpy(), cache)
    np.testing.assert_allclose(dx, x.grad, rtol=1e-9, atol=1e-12)
    for name, parameter in layer.named_parameters():
        np.testing.assert_allclose(grads[name], parameter.grad, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("split", range(1, T))
def test_with_a_cache_it_is_the_whole_for_every_split(split):
    layer, x, (cos, sin) = layer_and_input()
    whole, cache = layer(x, (cos, sin)), LatentCache()
    first = layer(x[:, :split], (cos[:split], sin[:split]), cache=cache)
    rest = layer(x[:, split:], (cos[split:], sin[split:]), cache=cache, absorb=True)
    torch.testing.assert_close(torch.cat((first, rest), 1), whole, **TIGHT)


def test_the_count_is_what_a_cache_holds():
    layer, x, rotation = layer_and_input()
    cache = LatentCache()
    assert cache.nbytes == 0
    layer(x, rotation, cache=cache)
    assert cache.nbytes == latent_cache_bytes(1, C, R, T, B, bytes_per_number=8)


def test_the_past_does_not_see_the_future():
    layer, x, rotation = layer_and_input()
    J = torch.autograd.functional.jacobian(lambda z: layer(z, rotation), x[:1])
    assert (J[0, :, :, 0].abs().sum((1, 3)).triu(1) == 0).all()


def test_scores_depend_on_the_distance_and_not_on_the_place():
    layer, x, _ = layer_and_input()
    cos, sin = rotary_table(T + 50, R)
    shifted = layer(x, (cos[50:], sin[50:]))
    torch.testing.assert_close(shifted, layer(x, (cos[:T], sin[:T])), rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize(
    ("sizes", "says"),
    [
        ((24, 4, 10, 5), "d_rotary=5 even"),
        ((24, 4, 0, 6), "d_latent=0"),
        ((24, 5, 10, 6), "n_heads=5 must divide d_model=24"),
    ],
)
def test_sizes_that_do_not_fit_are_refused(sizes, says):
    with pytest.raises(ConfigError, match=says):
        LatentAttention(*sizes)


def test_deepseek_v2_keeps_as_much_as_two_and_a_quarter_groups():
    """512 + 64 numbers for each layer and token; heads are 128 wide; 60 layers."""
    numbers = latent_cache_bytes(60, 512, 64, 1, bytes_per_number=1)
    assert numbers == 34_560
    grouped = GPTConfig(n_layers=60, n_heads=128, n_kv_heads=1, d_head=128, d_model=5120)
    assert numbers / kv_cache_bytes(grouped, 1, bytes_per_number=1) == 2.25
