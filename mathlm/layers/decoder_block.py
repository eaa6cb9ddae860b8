"""Residual blocks of a decoder: self-attention, cross-attention, a feed-forward network."""

from typing import Any

from torch import Tensor, nn

from .. import functional as F
from ..errors import InputError
from ..functional.attention import require_mask_fits
from ..shapes import Bool, Float
from .attention import SelfAttention, require_heads, require_row_masks
from .cache import MemoryCache
from .feedforward import FeedForward
from .taps import Taps, scope, tap


class CrossAttention(nn.Module):
    """Multi-head attention of one sequence to another, the memory.

    Implements eq-transformer-cross::

        headₕ = softmax(Qₕ Kₕᵀ / √d_k) Vₕ,   y = W_o [head₁; …; head_H] + b
        Q = W_q x,   K = W_k m,   V = W_v m,   cut into heads

    Every position of ``x`` sees every position of the memory that the mask shows: there is no
    order between the two.

    Args:
        d_model: Width of both sequences, D.
        n_heads: Heads, H.
        d_head: Width of one head, K. None = D / H, which must then be whole.
        bias: Whether the four maps have one.
        dropout: Probability with which an attention weight is set to 0 in training.
        scale: Factor of the scores; None = 1/√d_k.

    Raises:
        ConfigError: If the sizes do not divide.

    Example:
        >>> attention = CrossAttention(d_model=16, n_heads=4)
        >>> attention(torch.randn(1, 3, 16), torch.randn(1, 5, 16)).shape  # 3 read 5
        torch.Size([1, 3, 16])

    References:
        Vaswani et al. (2017), arXiv:1706.03762, section 3.2.3.
    """

    def __init__(
        self,
        d_model: int,
        n_heads: int,
        d_head: int | None = None,
        *,
        bias: bool = False,
        dropout: float | int = 0.0,
        scale: float | int | None = None,
    ) -> None:
        super().__init__()
        require_heads(d_model, n_heads, n_heads, d_head)
        self.d_head = d_model // n_heads if d_head is None else d_head
        self.dropout, self.scale = dropout, scale
        self.W_q = nn.Linear(d_model, n_heads * self.d_head, bias=bias)
        self.W_k = nn.Linear(d_model, n_heads * self.d_head, bias=bias)
        self.W_v = nn.Linear(d_model, n_heads * self.d_head, bias=bias)
        self.W_o = nn.Linear(n_heads * self.d_head, d_model, bias=bias)

    def forward(
        self,
        x: Float[Tensor, "B T D"],
        memory: Float[Tensor, "B S D"],
        *,
        mask: Bool[Tensor, "..."] | None = None,
        cache: MemoryCache | None = None,
        taps: Taps | None = None,
    ) -> Float[Tensor, "B T D"]:
        """Look up the memory once for each position of ``x``.

        What stands at a position of the memory that no query may see does not matter, NaN
        included.

        Args:
            x: One vector for each query.
            memory: Source of keys and values.
            mask: True where a query may attend, (T, S) or broadcastable with four axes to
                (B, H, T, S), such as (B, 1, 1, S) for padding; None = everywhere.
            cache: Keys and values of the memory; filled by the first call, read by the others.
            taps: Receives ``q``, ``k``, ``v``, ``weights`` and ``heads``.

        Returns:
            One vector for each position of ``x``.

        Raises:
            InputError: If the mask does not fit, or the cache holds another memory.
            InputTypeError: If the mask is not boolean.
        """
        require_row_masks(mask)
        q = self.cut(self.W_q(x))
        require_mask_fits(mask, (*q.shape[:-1], memory.shape[1]))
        k, v = self.keys_and_values(memory, mask, cache)  # (B, H, S, K)
        y = self.attend(q, k, v, mask, taps)  # (B, H, T, K)
        return self.W_o(y.transpose(1, 2).flatten(2))

    def keys_and_values(
        self, memory: Float[Tensor, "B S D"], mask: Tensor | None, cache: MemoryCache | None
    ) -> tuple[Tensor, Tensor]:
        """Of the memory (B, H, S, K), computed unless the cache holds them."""
        if cache is not None and cache.holds(memory):
            return cache.k, cache.v
        cached = cache is not None  # for any mask, and without a gradient that NaN could spoil
        seen = memory if mask is None or cached else hide_unseen(memory, mask)
        k, v = self.cut(self.W_k(seen)), self.cut(self.W_v(seen))
        if cache is not None:
            cache.fill(memory, k, v)
        return k, v

    def cut(self, x: Float[Tensor, "B T J"]) -> Float[Tensor, "B H T K"]:
        """Vectors of all heads side by side, as one vector for each head."""
        return x.unflatten(-1, (-1, self.d_head)).transpose(1, 2)

    def attend(
        self,
        q: Float[Tensor, "B H T K"],
        k: Float[Tensor, "B H S K"],
        v: Float[Tensor, "B H S K"],
        mask: Tensor | None,
        taps: Taps | None,
    ) -> Float[Tensor, "B H T K"]:
        """Values mixed by the weights; through the fused kernel unless taps ask for weights."""
        dropout = self.dropout if self.training else 0.0
        if taps is None:
            return F.fused_attention(q, k, v, mask, dropout=dropout, scale=self.scale)
        if dropout > 0:
            raise InputError("taps show the weights without dropout: call model.eval() first")
        q, k, v = tap(taps, "q", q), tap(taps, "k", k), tap(taps, "v", v)
        if mask is not None:  # a cache also holds what no query may see, and 0 · NaN is NaN
            v = v.masked_fill(~mask.any(-2).unsqueeze(-1), 0.0)
        weights = F.attention_weights(q, k, mask, scale=self.scale)  # (B, H, T, S)
        return tap(taps, "heads", tap(taps, "weights", weights) @ v)


def hide_unseen(memory: Float[Tensor, "B S D"], mask: Tensor) -> Float[Tensor, "B S D"]:
    """The memory, 0 where no query of a row sees it."""
    seen = mask.flatten(0, -2).any(0) if mask.ndim < 4 else mask.any(dim=(1, 2))
    return memory.masked_fill(~seen.unsqueeze(-1), 0.0)


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

    Example:
        >>> from mathlm.layers import FeedForward, LayerNorm, SelfAttention
        >>> own, other = SelfAttention(8, 2), CrossAttention(8, 2)
        >>> parts = LayerNorm(8), own, LayerNorm(8), other, LayerNorm(8), FeedForward(8, 32)
        >>> y = PostNormDecoderBlock(*parts)(torch.randn(1, 3, 8), torch.randn(1, 5, 8))
        >>> torch.allclose(y.mean(-1), torch.zeros(1, 3), atol=1e-5)  # normalized
        True

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

    Example:
        >>> from mathlm.layers import FeedForward, LayerNorm, SelfAttention
        >>> own, other = SelfAttention(8, 2), CrossAttention(8, 2)
        >>> network = FeedForward(8, 32)
        >>> block = DecoderBlock(LayerNorm(8), own, LayerNorm(8), other, LayerNorm(8), network)
        >>> block(torch.randn(1, 3, 8), torch.randn(1, 5, 8)).shape  # 3 of the target read 5
        torch.Size([1, 3, 8])

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
