import pytest
import torch
from torch import nn

from mathlm.errors import ConfigError, InputError
from mathlm.functional import causal_mask, rotary_table
from mathlm.layers import KeyValueCache, SelfAttention

TIGHT = {"rtol": 1e-12, "atol": 1e-14}
B, T, D, H = 2, 7, 24, 4


@pytest.fixture
def x():
    return torch.randn(B, T, D)


def torch_attention(ours):
    """The same weights in the module of torch."""
    theirs = nn.MultiheadAttention(D, H, batch_first=True)
    with torch.no_grad():
        maps = (ours.W_q, ours.W_k, ours.W_v)
        theirs.in_proj_weight.copy_(torch.cat([W.weight for W in maps]))
        theirs.in_proj_bias.copy_(torch.cat([W.bias for W in maps]))
        theirs.out_proj.load_state_dict(ours.W_o.state_dict())
    return theirs


def test_it_matches_the_multi_head_attention_of_torch(x):
    ours = SelfAttention(D, H, bias=True)
    hidden = ~causal_mask(T, T)
    expected = torch_attention(ours)(x, x, x, attn_mask=hidden, need_weights=False)[0]
    torch.testing.assert_close(ours(x), expected, **TIGHT)


def test_the_jacobian_is_block_triangular(x):
    layer = SelfAttention(D, H)
    J = torch.autograd.functional.jacobian(layer, x[:1])[0, :, :, 0].abs().sum((1, 3))  # (T, T)
    assert (J.triu(1) == 0).all()
    assert (J.tril()[torch.tril_indices(T, T).unbind()] > 0).all()


def test_a_window_cuts_what_is_further_back(x):
    layer = SelfAttention(D, H, window=3)
    J = torch.autograd.functional.jacobian(layer, x[:1])[0, :, :, 0].abs().sum((1, 3))
    assert torch.equal(J > 0, causal_mask(T, T, window=3))


def test_grouped_heads_are_heads_whose_keys_and_values_are_repeated(x):
    grouped, full = SelfAttention(D, H, n_kv_heads=2), SelfAttention(D, H)
    full.load_state_dict(grouped.state_dict() | {
        f"W_{n}.weight": getattr(grouped, f"W_{n}")
        .weight.unflatten(0, (2, 6)).repeat_interleave(2, 0).flatten(0, 1)
        for n in "kv"
    })  # fmt: skip
    torch.testing.assert_close(grouped(x), full(x), **TIGHT)


@pytest.mark.parametrize("options", [{}, {"n_kv_heads": 2}, {"window": 3}, {"n_kv_heads": 1}])
def test_taps_change_nothing_and_show_weights_that_sum_to_1(options, x):
    layer, taps = SelfAttention(D, H, **options), {}
    torch.testing.assert_close(layer(x, taps=taps), layer(x), **TIGHT)
    assert taps["weights"].shape == (B, H, T, T)
    torch.testing.assert_close(taps["weights"].sum(-1), torch.ones(B, H, T), **TIGHT)
    assert list(taps) == ["q", "k", "v", "weights", "heads"]


def test_without_causal_order_every_position_sees_every_other_as_in_torch(x):
    ours = SelfAttention(D, H, bias=True, causal=False)
    expected = torch_attention(ours)(x, x, x, need_weights=False)[0]
    torch.testing.assert_close(ours(x), expected, **TIGHT)
    torch.testing.assert_close(ours(x, taps={}), expected, **TIGHT)


def test_a_window_without_causal_order_is_refused():
    with pytest.raises(ConfigError, match="window=3 looks back: it needs causal=True"):
        SelfAttention(D, H, window=3, causal=False)


@pytest.mark.parametrize("split", range(1, T))
@pytest.mark.parametrize("options", [{}, {"n_kv_heads": 2, "window": 3}])
def test_reading_in_two_parts_is_reading_at_once(split, options, x):
    layer, cache = SelfAttention(D, H, **options), KeyValueCache(1, B, 4, T, 6).layers[0]
    if "n_kv_heads" in options:
        cache = KeyValueCache(1, B, 2, T, 6).layers[0]
    with torch.no_grad():
        parts = [layer(part, cache=cache) for part in (x[:, :split], x[:, split:])]
    torch.testing.assert_close(torch.cat(parts, 1), layer(x), **TIGHT)


def test_normalized_queries_and_keys_do_not_see_the_scale_of_their_maps(x):
    layer = SelfAttention(D, H, qk_norm=True, norm_eps=0.0)
    y = layer(x)
    with torch.no_grad():
        layer.W_q.weight.mul_(7.0)
        layer.W_k.weight.mul_(0.3)
    torch.testing.assert_close(layer(x), y, rtol=1e-10, atol=1e-12)


def test_a_shift_of_all_rotations_changes_nothing(x):
    layer, (cos, sin) = SelfAttention(D, H), rotary_table(100, D // H)
    near = layer(x, rotation=(cos[:T], sin[:T]))
    far = layer(x, rotation=(cos[50 : 50 + T], sin[50 : 50 + T]))
    torch.testing.assert_close(near, far, rtol=1e-10, atol=1e-12)
    assert (near - layer(x)).abs().max() > 1e-3


@pytest.mark.parametrize(("bias", "expected"), [(True, "qkvo"), (False, ""), ("qkv", "qkv")])
def test_bias_stands_where_it_is_asked_for(bias, expected):
    names = SelfAttention(D, H, bias=bias).state_dict()
    assert "".join(n[2] for n in names if n.endswith("bias")) == expected


def test_a_head_may_have_a_width_of_its_own(x):
    layer = SelfAttention(D, 3, d_head=10)
    assert layer.W_o.weight.shape == (D, 30)
    assert layer(x).shape == x.shape


def test_dropout_acts_in_training_only(x):
    layer = SelfAttention(D, H, dropout=0.5)
    assert not torch.equal(layer(x), layer(x))
    layer.eval()
    assert torch.equal(layer(x), layer(x))


def test_taps_with_dropout_are_refused(x):
    with pytest.raises(InputError, match="weights without dropout"):
        SelfAttention(D, H, dropout=0.5)(x, taps={})


@pytest.mark.parametrize(
    ("sizes", "message"),
    [
        ((24, 5), "n_heads=5 must divide d_model=24"),
        ((24, 4, 3), "n_kv_heads=3 must divide n_heads=4"),
        ((24, 0), "n_heads=0 must be at least 1"),
        ((24, 4, 0), "n_kv_heads=0 must be at least 1"),
    ],
)
def test_sizes_that_do_not_divide_are_refused(sizes, message):
    with pytest.raises(ConfigError, match=message):
        SelfAttention(*sizes)


def test_a_mask_of_three_axes_is_refused_because_rows_would_be_taken_for_heads():
    attention = SelfAttention(8, 2)
    with pytest.raises(InputError, match=r"has 3 axes: give \(T, S\).*\(B, 1, T, S\)"):
        attention(torch.randn(2, 3, 8), mask=torch.ones(2, 3, 3, dtype=torch.bool))
