"""The encoder-decoder against the one of torch and the NumPy reference."""

import math

import numpy as np
import pytest
import torch
from models.transformer_families import TIGHT, make, tokens
from torch import nn

from mathlm import reference as ref
from mathlm.functional import causal_mask

FIELDS = ("vocab_size", "target_vocab_size", "context", "d_model", "n_layers", "n_heads")
OTHERS = ("n_decoder_layers", "d_ff", "norm_eps", "activation", "bias", "tie_embeddings")


def copy_attention(ours, theirs):
    maps = (ours.W_q, ours.W_k, ours.W_v)
    theirs.in_proj_weight.data = torch.cat([W.weight for W in maps])
    if ours.W_q.bias is not None:
        theirs.in_proj_bias.data = torch.cat([W.bias for W in maps])
    theirs.out_proj = ours.W_o


def copy_norm(ours, theirs):
    theirs.weight, theirs.bias = ours.gamma, ours.beta


def copy_block(ours, theirs):
    copy_attention(ours.attention, theirs.self_attn)
    copy_norm(ours.attention_norm, theirs.norm1)
    norms = [theirs.norm2]
    if hasattr(theirs, "multihead_attn"):
        copy_attention(ours.cross_attention, theirs.multihead_attn)
        copy_norm(ours.cross_attention_norm, theirs.norm2)
        norms = [theirs.norm3]
    copy_norm(ours.feed_forward_norm, norms[0])
    theirs.linear1, theirs.linear2 = ours.feed_forward.W_in, ours.feed_forward.W_out


def torch_transformer(model):
    """The same weights in the model of torch, which has neither embeddings nor head."""
    config = model.config
    sizes = (config.d_model, config.n_heads, config.ff_width, 0.0, config.activation)
    kind = {"layer_norm_eps": config.norm_eps, "bias": config.bias, "batch_first": True}
    kind["norm_first"] = config.norm_first
    norms = [nn.LayerNorm(config.d_model) if config.norm_first else None for _ in range(2)]
    encoder = nn.TransformerEncoder(
        nn.TransformerEncoderLayer(*sizes, **kind), config.n_layers, norms[0], False
    )
    decoder = nn.TransformerDecoder(
        nn.TransformerDecoderLayer(*sizes, **kind), config.decoder_layers, norms[1]
    )
    theirs = nn.Transformer(
        *sizes[:2], custom_encoder=encoder, custom_decoder=decoder, batch_first=True
    )
    for stack in ("encoder", "decoder"):
        for ours, other in zip(
            getattr(model, stack), getattr(theirs, stack).layers, strict=True
        ):
            copy_block(ours, other)
        norm = getattr(model, f"{stack}_norm")
        if norm is not None:  # post-norm streams are normalized already
            copy_norm(norm, getattr(theirs, stack).norm)
    return theirs.eval()


def embedded(embedding, ids):
    """Rows times √D plus the table of sines and cosines, after its definition."""
    D = embedding.weight.shape[1]
    angle = torch.arange(ids.shape[1])[:, None] / 10000 ** (torch.arange(0, D, 2) / D)
    return embedding(ids) * math.sqrt(D) + torch.stack((angle.sin(), angle.cos()), -1).flatten(
        1
    )


@pytest.mark.parametrize("norm_first", [False, True])
@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("activation", ["relu", "gelu"])
def test_it_is_the_transformer_of_torch(norm_first, bias, activation):
    model = make("2017", norm_first=norm_first, bias=bias, activation=activation)
    source, target = tokens(3, 8), tokens(3, 6)
    real = torch.arange(8) < torch.tensor([[8], [5], [1]])
    y = torch_transformer(model)(
        embedded(model.source_embedding, source),
        embedded(model.target_embedding, target),
        tgt_mask=~causal_mask(6, 6),
        src_key_padding_mask=~real,
        memory_key_padding_mask=~real,
    )
    ours = model(source, target, source_mask=real)
    torch.testing.assert_close(ours, model.head(y), **TIGHT)


def test_its_gradients_are_those_of_the_transformer_of_torch():
    model, source, target = make("2017"), tokens(2, 8), tokens(2, 6)
    theirs, dy = torch_transformer(model), torch.randn(2, 6, 40)
    tables = (model.source_embedding, model.target_embedding)
    streams = [
        embedded(table, ids) for table, ids in zip(tables, (source, target), strict=True)
    ]
    y = model.head(theirs(*streams, tgt_mask=~causal_mask(6, 6)))
    shared = [t.weight for t in tables] + [model.decoder[1].feed_forward.W_in.weight]
    expected = torch.autograd.grad((y * dy).sum(), shared)
    found = torch.autograd.grad((model(source, target) * dy).sum(), shared)
    torch.testing.assert_close(found, expected, rtol=1e-10, atol=1e-11)


def reference_of(model):
    fields = {name: getattr(model.config, name) for name in FIELDS + OTHERS}
    theirs = ref.Transformer(ref.TransformerConfig(**fields), np.random.default_rng(0))
    theirs.weights = {n: p.detach().numpy() for n, p in model.named_parameters()}
    return theirs


@pytest.mark.parametrize("tie", ["none", "target", "all"])
@pytest.mark.parametrize("side", ["left", "right"])
def test_the_reference_gives_the_same_logits(tie, side):
    model = make("2017", target_vocab_size=None, tie_embeddings=tie, n_decoder_layers=1)
    source, target = tokens(3, 7), tokens(3, 6)
    real = torch.arange(7) < torch.tensor([[7], [4], [1]])
    masks = [real if side == "right" else real.flip(1), torch.arange(6) < 5 * torch.ones(3, 1)]
    arrays = [z.numpy() for z in (source, target, *masks)]
    expected = torch.from_numpy(reference_of(model).logits(*arrays)[0])
    y = model(source, target, source_mask=masks[0], target_mask=masks[1])
    torch.testing.assert_close(y[masks[1]], expected[masks[1]], rtol=1e-10, atol=1e-10)
