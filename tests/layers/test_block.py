import pytest
import torch
from torch import nn

from mathlm.errors import ConfigError
from mathlm.layers import Block, FeedForward, LayerNorm, RMSNorm, SelfAttention

TIGHT = {"rtol": 1e-12, "atol": 1e-14}
D = 12


def make_block(dropout=0.0):
    return Block(
        LayerNorm(D), SelfAttention(D, 3), RMSNorm(D), FeedForward(D, 4 * D), dropout=dropout
    )


def test_the_stream_grows_by_what_each_half_adds():
    block, x, taps = make_block(), torch.randn(2, 5, D), {}
    y = block(x, taps=taps)
    mid = x + block.attention(block.attention_norm(x))
    torch.testing.assert_close(taps["resid_mid"], mid, **TIGHT)
    torch.testing.assert_close(
        y, mid + block.feed_forward(block.feed_forward_norm(mid)), **TIGHT
    )
    added = taps["attention_out"] + taps["feed_forward_out"]
    torch.testing.assert_close(taps["resid_post"] - taps["resid_pre"], added, **TIGHT)


def test_a_block_whose_output_maps_are_zero_is_the_identity():
    block, x = make_block(), torch.randn(2, 5, D)
    for W in (block.attention.W_o, block.feed_forward.W_out):
        nn.init.zeros_(W.weight)
    nn.init.zeros_(block.feed_forward.W_out.bias)
    assert torch.equal(block(x), x)


def test_dropout_acts_in_training_only():
    block, x = make_block(dropout=0.5), torch.randn(2, 5, D)
    assert not torch.equal(block(x), block(x))
    block.eval()
    assert torch.equal(block(x), block(x))


@pytest.mark.parametrize("activation", ["relu", "gelu", "gelu_tanh", "silu"])
def test_feed_forward_is_map_activation_map(activation):
    layer, x = FeedForward(D, 20, activation), torch.randn(3, D)
    f = {"gelu_tanh": nn.GELU("tanh")}.get(activation) or getattr(nn.functional, activation)
    torch.testing.assert_close(layer(x), layer.W_out(f(layer.W_in(x))), **TIGHT)


def test_swiglu_feed_forward_has_a_gate():
    layer, x = FeedForward(D, 20, "swiglu", bias=False), torch.randn(3, D)
    expected = layer.W_out(nn.functional.silu(layer.W_gate(x)) * layer.W_in(x))
    torch.testing.assert_close(layer(x), expected, **TIGHT)
    assert set(layer.state_dict()) == {"W_in.weight", "W_gate.weight", "W_out.weight"}


def test_an_activation_that_is_not_known_is_refused():
    with pytest.raises(Exception, match="tanh") as caught:
        FeedForward(D, 20, "tanh")
    assert isinstance(caught.value, ConfigError | TypeError)


def test_norm_modules_own_gain_and_shift():
    assert set(LayerNorm(D).state_dict()) == {"gamma", "beta"}
    assert set(LayerNorm(D, bias=False).state_dict()) == {"gamma"}
    assert set(RMSNorm(D).state_dict()) == {"gamma"}


@pytest.mark.parametrize("kind", [LayerNorm, RMSNorm])
def test_norm_modules_use_their_eps(kind):
    x = 1e-4 * torch.randn(3, D)
    assert (kind(D, eps=1e-5)(x).abs() < 0.2).all()
    assert kind(D, eps=1e-14)(x).square().mean().item() == pytest.approx(1.0, rel=1e-4)
