import pytest
import torch
from torch import nn

from mathlm.errors import ConfigError
from mathlm.layers import (
    Block,
    FeedForward,
    LayerNorm,
    PostNormBlock,
    RMSNorm,
    SelfAttention,
)

TIGHT = {"rtol": 1e-12, "atol": 1e-14}
D = 12


def make_block(dropout=0.0, kind=Block):
    return kind(
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


def encoder_layer(block):
    """The same weights in the layer of torch."""
    theirs = nn.TransformerEncoderLayer(D, 3, 20, 0.0, batch_first=True)
    attention, theirs_attention = block.attention, theirs.self_attn
    maps = (attention.W_q, attention.W_k, attention.W_v)
    theirs_attention.in_proj_weight.data = torch.cat([W.weight for W in maps])
    theirs_attention.in_proj_bias.data = torch.cat([W.bias for W in maps])
    theirs_attention.out_proj = attention.W_o
    theirs.linear1, theirs.linear2 = block.feed_forward.W_in, block.feed_forward.W_out
    for norm, own in ((theirs.norm1, "attention_norm"), (theirs.norm2, "feed_forward_norm")):
        norm.weight, norm.bias = getattr(block, own).gamma, getattr(block, own).beta
    return theirs


def test_a_post_norm_block_is_the_encoder_layer_of_torch():
    attention = SelfAttention(D, 3, bias=True, causal=False)
    block = PostNormBlock(LayerNorm(D), attention, LayerNorm(D), FeedForward(D, 20, "relu"))
    for p in block.parameters():
        p.data += 0.3 * torch.randn_like(p)
    x = torch.randn(2, 5, D)
    torch.testing.assert_close(block(x), encoder_layer(block)(x), **TIGHT)


def test_the_stream_of_a_post_norm_block_is_normalized_behind_each_sum():
    block, x, taps = make_block(kind=PostNormBlock), torch.randn(2, 5, D), {}
    y = block(x, taps=taps)
    mid = block.attention_norm(taps["resid_pre"] + taps["attention_out"])
    torch.testing.assert_close(taps["resid_mid"], mid, **TIGHT)
    end = block.feed_forward_norm(mid + taps["feed_forward_out"])
    torch.testing.assert_close(y, end, **TIGHT)
    assert y is taps["resid_post"]


@pytest.mark.parametrize("kind", [Block, PostNormBlock])
def test_dropout_acts_in_training_only(kind):
    block, x = make_block(dropout=0.5, kind=kind), torch.randn(2, 5, D)
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
