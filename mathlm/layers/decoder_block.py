"""Residual blocks of a decoder: self-attention, cross-attention, a feed-forward network."""

from typing import Any

from torch import Tensor, nn

from ..shapes import Float
from .attention import SelfAttention
from .cache import MemoryCache
from .cross_attention import CrossAttention
from .feedforward import FeedForward
from .taps import Taps, scope, tap


class ResidualDecoderBlock(nn.Module):
    """The parts of a decoder block: three of them, each with a normalization."""

    def __init__(
        self,
        attention_norm: nn.Module,
        attention: SelfAttention,
        cross_attention_norm: nn.Module,
        cross_attention: CrossAttention,
        feed_forward_norm: nn.Module,
        feed_forward: FeedForward,
        dropout: float | int = 0.0,
    ) -> None:
        super().__init__()
        self.attention_norm, self.attention = attention_norm, attention
        self.cross_attention_norm = cross_attention_norm
        self.cross_attention = cross_attention
        self.feed_forward_norm, self.feed_forward = feed_forward_norm, feed_forward
        self.dropout = nn.Dropout(dropout)


class PostNormDecoderBlock(ResidualDecoderBlock):
    """The decoder block of the first transformer: each sum is normalized.

    Implements eq-transformer-decoder::

        x ← norm(x + attention(x))
        x ← norm(x + cross_attention(x, m))
        x ← norm(x + feed_forward(x))

    Args:
        attention_norm: Normalization of the sum behind self-attention.
        attention: Mixes the positions of the target, causally.
        cross_attention_norm: Normalization of the sum behind cross-attention.
        cross_attention: Looks up the memory, what the encoder made of the source.
        feed_forward_norm: Normalization of the sum behind the feed-forward network.
        feed_forward: Acts on each position alone.
        dropout: Probability with which an entry of a branch is set to 0 in training.

    References:
        Vaswani et al. (2017), arXiv:1706.03762, section 3.1.
    """

    def forward(
        self,
        x: Float[Tensor, "B T D"],
        memory: Float[Tensor, "B S D"],
        *,
        memory_mask: Tensor | None = None,
        memory_cache: MemoryCache | None = None,
        taps: Taps | None = None,
        **attend: Any,
    ) -> Float[Tensor, "B T D"]:
        """Read from and add to the stream, and normalize it.

        Args:
            x: The stream of the target.
            memory: Output of the encoder.
            memory_mask: Which positions of the memory may be seen; see
                :class:`CrossAttention`.
            memory_cache: Keys and values of the memory.
            taps: Names as in :class:`DecoderBlock`; ``resid_mid``, ``resid_cross`` and
                ``resid_post`` are normalized.
            **attend: Mask, rotation, bias and cache for :class:`SelfAttention`.

        Returns:
            The stream behind the block.
        """
        x = tap(taps, "resid_pre", x)
        a = self.attention(x, taps=scope(taps, "attention."), **attend)
        a = self.dropout(tap(taps, "attention_out", a))
        x = tap(taps, "resid_mid", self.attention_norm(x + a))
        at = scope(taps, "cross_attention.")
        c = self.cross_attention(x, memory, mask=memory_mask, cache=memory_cache, taps=at)
        c = self.dropout(tap(taps, "cross_attention_out", c))
        x = tap(taps, "resid_cross", self.cross_attention_norm(x + c))
        f = self.feed_forward(x, scope(taps, "feed_forward."))
        f = self.dropout(tap(taps, "feed_forward_out", f))
        return tap(taps, "resid_post", self.feed_forward_norm(x + f))


class DecoderBlock(ResidualDecoderBlock):
    """The decoder block with each normalization before its part.

    Computes::

        x ← x + attention(norm(x))
        x ← x + cross_attention(norm(x), m)
        x ← x + feed_forward(norm(x))

    Args:
        attention_norm: Normalization before self-attention.
        attention: Mixes the positions of the target, causally.
        cross_attention_norm: Normalization before cross-attention, of the target alone.
        cross_attention: Looks up the memory, what the encoder made of the source.
        feed_forward_norm: Normalization before the feed-forward network.
        feed_forward: Acts on each position alone.
        dropout: Probability with which an entry of a branch is set to 0 in training.

    References:
        Raffel et al. (2020), arXiv:1910.10683, section 2.1.
    """

    def forward(
        self,
        x: Float[Tensor, "B T D"],
        memory: Float[Tensor, "B S D"],
        *,
        memory_mask: Tensor | None = None,
        memory_cache: MemoryCache | None = None,
        taps: Taps | None = None,
        **attend: Any,
    ) -> Float[Tensor, "B T D"]:
        """Read from and add to the residual stream.

        Args:
            x: Residual stream of the target.
            memory: Output of the encoder.
            memory_mask: Which positions of the memory may be seen; see
                :class:`CrossAttention`.
            memory_cache: Keys and values of the memory.
            taps: Receives ``resid_pre``, ``attention_out``, ``resid_mid``,
                ``cross_attention_out``, ``resid_cross``, ``feed_forward_out`` and
                ``resid_post``; those of the parts under ``attention.``, ``cross_attention.``
                and ``feed_forward.``.
            **attend: Mask, rotation, bias and cache for :class:`SelfAttention`.

        Returns:
            Residual stream behind the block.
        """
        x = tap(taps, "resid_pre", x)
        a = self.attention(self.attention_norm(x), taps=scope(taps, "attention."), **attend)
        x = tap(taps, "resid_mid", x + self.dropout(tap(taps, "attention_out", a)))
        q, at = self.cross_attention_norm(x), scope(taps, "cross_attention.")
        c = self.cross_attention(q, memory, mask=memory_mask, cache=memory_cache, taps=at)
        x = tap(taps, "resid_cross", x + self.dropout(tap(taps, "cross_attention_out", c)))
        f = self.feed_forward(self.feed_forward_norm(x), scope(taps, "feed_forward."))
        return tap(taps, "resid_post", x + self.dropout(tap(taps, "feed_forward_out", f)))
