"""The layers of torch and the NumPy reference, two witnesses of one set of equations."""

import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose
from torch import nn

from mathlm import reference as ref
from mathlm.functional import causal_mask, influence
from mathlm.layers import (
    Block,
    FeedForward,
    KeyValueCache,
    LayerNorm,
    PostNormBlock,
    RMSNorm,
    SelfAttention,
)

B, T, D, H = 2, 5, 12, 4
BLOCKS = {
    "pre": (Block, ref.pre_norm_block, ref.pre_norm_block_backward),
    "post": (PostNormBlock, ref.post_norm_block, ref.post_norm_block_backward),
}
KINDS = pytest.mark.parametrize("kind", list(BLOCKS))
NORMS = {"layer": LayerNorm, "rms": RMSNorm}
HEADS = pytest.mark.parametrize("G", [4, 2, 1], ids=["multi-head", "grouped", "multi-query"])


def blind():
    """Half of the pairs, drawn for each sequence and head; two rows see nothing."""
    mask = torch.rand(B, H, T, T) < 0.5
    mask[0, :, 1], mask[1, 2, 3] = False, False
    return mask


MASKS = {
    "none": lambda: None,
    "causal": lambda: causal_mask(T, T),
    "window": lambda: causal_mask(T, T, window=2),
    "padding": lambda: (torch.arange(T) < torch.tensor([T, 2])[:, None])[:, None, None],
    "padding and causal": lambda: MASKS["padding"]() & causal_mask(T, T),
    "per head": lambda: (torch.rand(1, H, T, T) < 0.5) | causal_mask(T, T),
    "blind rows": blind,
}
ALL_MASKS = pytest.mark.parametrize("mask", list(MASKS))


def shaken(layer):
    """The layer with every parameter, gains and biases too, away from its first value."""
    for p in layer.parameters():
        p.data += 0.3 * torch.randn_like(p)
    return layer


def weights_of(layer):
    return {name: w.numpy() for name, w in layer.state_dict().items()}


def close(ours, theirs):
    """Equal to 1e-12 of the largest entry, at least 1: what cancels keeps its terms' errors."""
    theirs = theirs.detach().numpy()
    assert_allclose(ours, theirs, rtol=0, atol=1e-12 * max(1.0, np.abs(theirs).max()))


def compare(layer, x, y, backward, **attend):
    """Values, then the gradients in x and in every parameter, for a random dy."""
    leaf, dy = x.clone().requires_grad_(), torch.randn_like(x)
    theirs = layer(leaf, **attend)
    theirs.backward(dy)
    dx, dweights = backward(dy.numpy())[:2]
    close(y, theirs)
    close(dx, leaf.grad)
    assert list(dweights) == list(layer.state_dict())
    for name, p in layer.named_parameters():
        close(dweights[name], p.grad)


@HEADS
@ALL_MASKS
@pytest.mark.parametrize("bias", [True, False, "qkv"])
def test_self_attention_equals_the_reference_with_its_gradients(G, mask, bias):
    layer = shaken(SelfAttention(D, H, G, bias=bias, causal=False))
    x, mask = torch.randn(B, T, D), MASKS[mask]()
    plain = None if mask is None else mask.numpy()
    y, cache = ref.multi_head_attention(x.numpy(), weights_of(layer), H, plain)
    compare(layer, x, y, lambda dy: ref.multi_head_attention_backward(dy, cache), mask=mask)


@pytest.mark.parametrize("activation", ["relu", "gelu", "gelu_tanh", "silu", "swiglu"])
@pytest.mark.parametrize("bias", [True, False])
def test_feed_forward_equals_the_reference_with_its_gradients(activation, bias):
    layer, x = shaken(FeedForward(D, 7, activation, bias)), torch.randn(B, T, D)
    y, cache = ref.feed_forward(x.numpy(), weights_of(layer), activation)
    compare(layer, x, y, lambda dy: ref.feed_forward_backward(dy, cache))


def make_block(kind, norm="layer", activation="gelu", G=H, causal=False, bias=True):
    make, attention = NORMS[norm], SelfAttention(D, H, G, bias=bias, causal=causal)
    feed = FeedForward(D, 7, activation, bias)
    return shaken(BLOCKS[kind][0](make(D, 1e-3), attention, make(D, 1e-3), feed))


@KINDS
@pytest.mark.parametrize("norm", list(NORMS))
@pytest.mark.parametrize("activation", ["relu", "gelu_tanh", "swiglu"])
@pytest.mark.parametrize("mask", ["none", "causal", "padding", "blind rows"])
def test_blocks_equal_the_reference_with_their_gradients(kind, norm, activation, mask):
    layer = make_block(kind, norm, activation, G=2)
    x, mask = torch.randn(B, T, D), MASKS[mask]()
    plain = None if mask is None else mask.numpy()
    _, forward, backward = BLOCKS[kind]
    y, cache = forward(x.numpy(), weights_of(layer), H, plain, norm, activation, 1e-3)
    compare(layer, x, y, lambda dy: backward(dy, cache), mask=mask)


@KINDS
def test_a_block_without_shifts_equals_the_reference(kind):
    layer = make_block(kind, bias=False)
    for name in ("attention_norm", "feed_forward_norm"):
        setattr(layer, name, shaken(LayerNorm(D, 1e-3, bias=False)))
    x, (_, forward, backward) = torch.randn(B, T, D), BLOCKS[kind]
    y, cache = forward(x.numpy(), weights_of(layer), H, None, "layer", "gelu", 1e-3)
    compare(layer, x, y, lambda dy: backward(dy, cache))


# our name -> torch's; the three maps of attention are rows of one matrix there
ENCODER = {
    "attention_norm.gamma": "norm1.weight",
    "attention_norm.beta": "norm1.bias",
    "attention.W_o.weight": "self_attn.out_proj.weight",
    "attention.W_o.bias": "self_attn.out_proj.bias",
    "feed_forward_norm.gamma": "norm2.weight",
    "feed_forward_norm.beta": "norm2.bias",
    "feed_forward.W_in.weight": "linear1.weight",
    "feed_forward.W_in.bias": "linear1.bias",
    "feed_forward.W_out.weight": "linear2.weight",
    "feed_forward.W_out.bias": "linear2.bias",
}


def from_encoder(named):
    """Parameters of torch's encoder layer, or their gradients, under our names."""
    ours = {name: named[theirs].detach().numpy() for name, theirs in ENCODER.items()}
    for part in ("weight", "bias"):
        maps = named[f"self_attn.in_proj_{part}"].detach().chunk(3)
        ours |= {f"attention.W_{n}.{part}": w.numpy() for n, w in zip("qkv", maps, strict=True)}
    return ours


@KINDS
@pytest.mark.parametrize("activation", ["relu", "gelu"])
@pytest.mark.parametrize("masked", [False, True])
def test_the_reference_is_the_encoder_layer_of_torch_with_its_gradients(
    kind, activation, masked
):
    theirs = nn.TransformerEncoderLayer(
        D, H, 7, 0.0, activation, batch_first=True, norm_first=kind == "pre"
    )
    weights = from_encoder(dict(shaken(theirs).named_parameters()))
    x, dy = torch.randn(B, T, D, requires_grad=True), torch.randn(B, T, D)
    mask = causal_mask(T, T) if masked else None
    y = theirs(x, None if mask is None else ~mask)
    y.backward(dy)
    _, forward, backward = BLOCKS[kind]
    plain = None if mask is None else mask.numpy()
    ours, cache = forward(x.detach().numpy(), weights, H, plain, "layer", activation)
    close(ours, y)
    dx, dweights = backward(dy.numpy(), cache)
    close(dx, x.grad)
    expected = from_encoder({n: p.grad for n, p in theirs.named_parameters()})
    assert dweights.keys() == expected.keys()
    for name, gradient in expected.items():
        close(dweights[name], torch.tensor(gradient))


def test_plain_fused_and_flash_attention_agree_with_their_gradients():
    q, k, v, dy = torch.randn(4, B, H, 9, 3)
    leaves = [z.clone().requires_grad_() for z in (q, k, v)]
    theirs = torch.nn.functional.scaled_dot_product_attention(*leaves, is_causal=True)
    theirs.backward(dy)
    y, cache = ref.flash_attention(q.numpy(), k.numpy(), v.numpy(), block=4, causal=True)
    close(y, theirs)
    for ours, leaf in zip(ref.flash_attention_backward(dy.numpy(), cache), leaves, strict=True):
        close(ours, leaf.grad)


@KINDS
@HEADS
def test_shuffled_positions_give_shuffled_outputs_without_a_mask_only(kind, G):
    x, order = torch.randn(B, T, D), [3, 0, 4, 2, 1]
    layer = make_block(kind, G=G)
    torch.testing.assert_close(layer(x[:, order]), layer(x)[:, order], rtol=1e-11, atol=1e-12)
    layer.attention.causal = True
    assert (layer(x[:, order]) - layer(x)[:, order]).abs().max() > 1e-3


@KINDS
@HEADS
def test_the_jacobian_of_a_causal_block_is_block_triangular(kind, G):
    layer = make_block(kind, G=G, causal=True)
    reached = influence(lambda x: layer(x[None])[0], torch.randn(T, D)) > 0
    assert torch.equal(reached, causal_mask(T, T))


def padded_run(layer, x, filling):
    """Value and gradients of x with three more positions that no query may see."""
    leaf = x.clone().requires_grad_()
    tail = torch.full((len(x), 3, D), filling)
    real = (torch.arange(x.shape[1] + 3) < x.shape[1])[None, None, None]
    y = layer(torch.cat([leaf, tail], 1), mask=real)[:, : x.shape[1]]
    dy = torch.arange(y.numel(), dtype=y.dtype).view_as(y).sin()
    return y.detach(), torch.autograd.grad(y, [leaf, *layer.parameters()], dy)


@KINDS
@pytest.mark.parametrize("filling", [0.0, -3.0, 1e6])
def test_padding_changes_neither_values_nor_gradients(kind, filling):
    layer, x = make_block(kind), torch.randn(B, T, D)
    leaf = x.clone().requires_grad_()
    alone = layer(leaf)
    dy = torch.arange(alone.numel(), dtype=alone.dtype).view_as(alone).sin()
    expected = torch.autograd.grad(alone, [leaf, *layer.parameters()], dy)
    y, gradients = padded_run(layer, x, filling)
    close(y.numpy(), alone)
    for ours, theirs in zip(gradients, expected, strict=True):
        close(ours.numpy(), theirs)


def test_nan_at_a_padded_position_does_not_reach_the_others():
    layer, x = SelfAttention(D, H, 2, causal=False), torch.randn(B, T, D)
    poisoned = torch.cat([x, torch.full((B, 3, D), torch.nan)], 1)
    mask = (torch.arange(T + 3) < T)[None, None, None]
    torch.testing.assert_close(layer(poisoned, mask=mask)[:, :T], layer(x), rtol=1e-12, atol=0)


@pytest.mark.parametrize("Tq", [1, 2, 3, 4])
@HEADS
def test_the_last_queries_are_aligned_with_the_last_of_seven_keys(Tq, G):
    layer, x = SelfAttention(D, H, G), torch.randn(1, 7, D)
    cache = KeyValueCache(1, 1, G, 7, D // H).layers[0]
    with torch.no_grad():
        layer(x[:, :-Tq], cache=cache)
        last = layer(x[:, -Tq:], cache=cache)
    whole = layer(x)[:, -Tq:]
    torch.testing.assert_close(last, whole, rtol=1e-12, atol=1e-14)
    memory, mask = x.numpy(), causal_mask(Tq, 7).numpy()
    y, _ = ref.multi_head_attention(memory[:, -Tq:], weights_of(layer), H, mask, memory)
    close(y, whole)


@pytest.mark.parametrize("G", [2, 1])
def test_a_grouped_block_is_one_whose_keys_and_values_are_repeated(G):
    grouped, full = make_block("pre", G=G), make_block("pre")
    state = dict(grouped.state_dict())
    for name in ("W_k.weight", "W_v.weight", "W_k.bias", "W_v.bias"):
        heads = state[f"attention.{name}"].unflatten(0, (G, -1))
        state[f"attention.{name}"] = heads.repeat_interleave(H // G, 0).flatten(0, 1)
    full.load_state_dict(state)
    x = torch.randn(B, T, D)
    torch.testing.assert_close(grouped(x), full(x), rtol=1e-12, atol=1e-13)
