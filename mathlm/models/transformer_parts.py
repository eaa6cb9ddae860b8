"""What an encoder-decoder is made of: its blocks, normalizations, positions and masks."""

from typing import Any

import torch
from torch import Tensor, nn

from ..layers import (
    Block,
    CrossAttention,
    DecoderBlock,
    FeedForward,
    LayerNorm,
    LearnedPosition,
    PostNormBlock,
    PostNormDecoderBlock,
    RelativePosition,
    RMSNorm,
    SelfAttention,
    SinusoidalPosition,
)
from ..shapes import Bool, Float
from .transformer_config import TransformerConfig


def count_real(ids: Tensor, real: Bool[Tensor, "B T"] | None) -> Tensor:
    """Positions 0, 1, 2 ... over the real tokens of each row, (T,) where all are real."""
    if real is None:
        return torch.arange(ids.shape[1], device=ids.device)
    return (real.cumsum(1) - 1).clamp(min=0)


def key_mask(real: Bool[Tensor, "B S"] | None) -> Bool[Tensor, "B 1 1 S"] | None:
    """The mask that hides padding from every query of every head alike."""
    return None if real is None else real[:, None, None, :]


def without_padding(
    x: Float[Tensor, "B T D"], real: Bool[Tensor, "B T"] | None
) -> Float[Tensor, "B T D"]:
    """The vectors, 0 at padding."""
    return x if real is None else x.masked_fill(~real.unsqueeze(-1), 0.0)


def relative(
    position: nn.Module | None, queries: Tensor, keys: Tensor | None = None
) -> dict[str, Any]:
    """What attention adds to the scores for distances; made once for all layers."""
    if not isinstance(position, RelativePosition):
        return {}
    return {"bias": position(queries, queries if keys is None else keys)}


def starts_wide(config: TransformerConfig) -> bool:
    """Whether embeddings start with standard deviation 1: neither stack nor head asks for less.

    A stream of vectors with entries near 1 needs them where they are not multiplied by √D; a
    head that is the same matrix must then read smaller vectors.
    """
    small_head = config.scale_head or config.tie_embeddings in ("none", "inputs")
    return small_head and not config.scale_embeddings


def make_norm(config: TransformerConfig) -> nn.Module:
    """The normalization that a configuration asks for."""
    if config.norm == "rms":
        return RMSNorm(config.d_model, config.norm_eps)
    return LayerNorm(config.d_model, config.norm_eps, bias=config.bias)


def make_position(config: TransformerConfig, *, both_ways: bool) -> nn.Module | None:
    """The position module of one stack, if any."""
    makers = {
        "sinusoidal": lambda: SinusoidalPosition(config.context, config.d_model),
        "learned": lambda: LearnedPosition(config.context, config.d_model),
        "relative": lambda: RelativePosition(
            config.n_heads, config.n_buckets, config.max_distance, both_ways
        ),
        "none": lambda: None,
    }
    return makers[config.position]()


def make_attention(config: TransformerConfig, *, causal: bool) -> SelfAttention:
    """Self-attention of one block."""
    return SelfAttention(
        config.d_model,
        config.n_heads,
        d_head=config.d_head,
        bias=config.bias,
        causal=causal,
        scale=None if config.attention_scale else 1.0,
    )


def make_feed_forward(config: TransformerConfig) -> FeedForward:
    """The feed-forward network of one block."""
    return FeedForward(config.d_model, config.ff_width, config.activation, config.bias)


def encoder_block(config: TransformerConfig) -> Block | PostNormBlock:
    """One block of the encoder."""
    return (Block if config.norm_first else PostNormBlock)(
        make_norm(config),
        make_attention(config, causal=False),
        make_norm(config),
        make_feed_forward(config),
        config.dropout,
    )


def decoder_block(config: TransformerConfig) -> DecoderBlock | PostNormDecoderBlock:
    """One block of the decoder."""
    cross_attention = CrossAttention(
        config.d_model,
        config.n_heads,
        config.d_head,
        bias=config.bias,
        scale=None if config.attention_scale else 1.0,
    )
    return (DecoderBlock if config.norm_first else PostNormDecoderBlock)(
        make_norm(config),
        make_attention(config, causal=True),
        make_norm(config),
        cross_attention,
        make_norm(config),
        make_feed_forward(config),
        config.dropout,
    )
