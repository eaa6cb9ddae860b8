import pytest
import torch
from torch import nn

from mathlm.functional import causal_mask
from mathlm.layers import (
    CrossAttention,
    DecoderBlock,
    FeedForward,
    KeyValueCache,
    LayerNorm,
    MemoryCache,
    PostNormDecoderBlock,
    SelfAttention,
)

TIGHT = {"rtol": 1e-12, "atol": 1e-13}
B, T, S, D, H, F = 2, 5, 4, 12, 3, 20
KINDS = pytest.mark.parametrize("kind", [DecoderBlock, PostNormDecoderBlock])


def make(kind, dropout=0.0):
    attention = SelfAttention(D, H, bias=True)
    cross = CrossAttention(D, H, bias=True)
    norms = [LayerNorm(D) for _ in range(3)]
    feed_forward = FeedForward(D, F, "relu")
    block = kind(norms[0], attention, norms[1], cross, norms[2], feed_forward, dropout)
    for p in block.parameters():
        p.data += 0.3 * torch.randn_like(p)
    return block


def copy_attention(ours, theirs):
    maps = (ours.W_q, ours.W_k, ours.W_v)
    theirs.in_proj_weight.data = torch.cat([W.weight for W in maps])
    theirs.in_proj_bias.data = torch.cat([W.bias for W in maps])
    theirs.out_proj = ours.W_o


def decoder_layer(block):
    """The same weights in the layer of torch."""
    first = isinstance(block, DecoderBlock)
    theirs = nn.TransformerDecoderLayer(D, H, F, 0.0, batch_first=True, norm_first=first)
    copy_attention(block.attention, theirs.self_attn)
    copy_attention(block.cross_attention, theirs.multihead_attn)
    theirs.linear1, theirs.linear2 = block.feed_forward.W_in, block.feed_forward.W_out
    names = ("attention_norm", "cross_attention_norm", "feed_forward_norm")
    for norm, own in zip((theirs.norm1, theirs.norm2, theirs.norm3), names, strict=True):
        norm.weight, norm.bias = getattr(block, own).gamma, getattr(block, own).beta
    return theirs


@pytest.fixture
def streams():
    return torch.randn(B, T, D), torch.randn(B, S, D)


@KINDS
@pytest.mark.parametrize("padded", [False, True])
def test_it_is_the_decoder_layer_of_torch(kind, padded, streams):
    block, (x, m) = make(kind), streams
    real = torch.arange(S) < torch.tensor([[S], [2]])
    y = block(x, m, memory_mask=real[:, None, None] if padded else None)
    hidden = {"memory_key_padding_mask": ~real} if padded else {}
    expected = decoder_layer(block)(x, m, tgt_mask=~causal_mask(T, T), **hidden)
    torch.testing.assert_close(y, expected, **TIGHT)


def test_a_pre_norm_stream_grows_by_what_each_part_adds(streams):
    block, taps = make(DecoderBlock), {}
    y = block(*streams, taps=taps)
    parts = ("attention_out", "cross_attention_out", "feed_forward_out")
    marks = ("resid_pre", "resid_mid", "resid_cross", "resid_post")
    for part, before, after in zip(parts, marks, marks[1:], strict=False):
        torch.testing.assert_close(taps[after] - taps[before], taps[part], **TIGHT)
    assert y is taps["resid_post"]


def test_a_post_norm_stream_is_normalized_behind_each_sum(streams):
    block, taps = make(PostNormDecoderBlock), {}
    y = block(*streams, taps=taps)
    parts = ("attention", "cross_attention", "feed_forward")
    marks = ("resid_pre", "resid_mid", "resid_cross", "resid_post")
    for part, before, after in zip(parts, marks, marks[1:], strict=False):
        expected = getattr(block, f"{part}_norm")(taps[before] + taps[f"{part}_out"])
        torch.testing.assert_close(taps[after], expected, **TIGHT)
    assert y is taps["resid_post"]


@KINDS
def test_taps_change_nothing_and_reach_into_the_parts(kind, streams):
    block, taps = make(kind), {}
    torch.testing.assert_close(block(*streams, taps=taps), block(*streams), **TIGHT)
    assert taps["attention.weights"].shape == (B, H, T, T)
    assert taps["cross_attention.weights"].shape == (B, H, T, S)
    assert taps["feed_forward.hidden"].shape == (B, T, F)


@KINDS
def test_each_position_sees_those_before_it_and_the_whole_memory(kind, streams):
    block, (x, m) = make(kind), [z.requires_grad_() for z in streams]
    for t in range(T):
        dx, dm = torch.autograd.grad(block(x, m)[:, t].square().sum(), (x, m))
        assert (dx[:, t + 1 :] == 0).all()
        assert (dx[:, : t + 1].abs().sum(-1) > 1e-9).all()
        assert (dm.abs().sum(-1) > 1e-9).all()


@KINDS
def test_with_caches_position_by_position_gives_the_same(kind, streams):
    block, (x, m) = make(kind).requires_grad_(False), streams
    caches = {"cache": KeyValueCache(1, B, H, T, D // H).layers[0]}
    caches["memory_cache"] = MemoryCache()
    y = [block(x[:, t : t + 1], m, **caches) for t in range(T)]
    torch.testing.assert_close(torch.cat(y, 1), block(x, m), **TIGHT)


@KINDS
def test_dropout_acts_in_training_only(kind, streams):
    block = make(kind, dropout=0.5)
    assert not torch.equal(block(*streams), block(*streams))
    block.eval()
    assert torch.equal(block(*streams), block(*streams))


def test_dropout_falls_on_each_of_the_three_branches(streams):
    """With all of every branch dropped, the stream is left, normalized three times or never."""
    pre, post, (x, m) = make(DecoderBlock, 1.0), make(PostNormDecoderBlock, 1.0), streams
    assert torch.equal(pre(x, m), x)
    norms = (post.attention_norm, post.cross_attention_norm, post.feed_forward_norm)
    for norm in norms:
        x = norm(x)
    assert torch.equal(post(streams[0], m), x)
