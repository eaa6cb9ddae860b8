"""Residual blocks: the normalization before each half, or behind it."""

from collections.abc import Callable
from functools import partial
from typing import Any

from torch import Tensor, nn

from ..shapes import Float
from .attention import SelfAttention
from .feedforward import FeedForward
from .taps import Taps, scope, tap


class ResidualBlock(nn.Module):
    """The parts of a block: attention and a feed-forward network, each with a normalization."""

    def __init__(
        self,
        attention_norm: nn.Module,
        attention: SelfAttention,
        feed_forward_norm: nn.Module,
        feed_forward: FeedForward,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        self.attention_norm, self.attention = attention_norm, attention
        self.feed_forward_norm, self.feed_forward = feed_forward_norm, feed_forward
        self.dropout = nn.Dropout(dropout)

    def attend(
        self,
        x: Float[Tensor, "B T D"],
        taps: Taps | None,
        through: Callable[..., Tensor] | None = None,
        **attend: Any,
    ) -> Float[Tensor, "B T D"]:
        """Attention to ``x``, called directly or through what calls it in another way."""
        call = self.attention if through is None else partial(through, self.attention)
        return call(x, taps=scope(taps, "attention."), **attend)


class Block(ResidualBlock):
    """Attention, then a feed-forward network, each added to the stream that it reads.

    Implements eq-pre-norm::

        x ← x + attention(norm(x))
        x ← x + feed_forward(norm(x))

    Args:
        attention_norm: Normalization before attention.
        attention: Mixes positions.
        feed_forward_norm: Normalization before the feed-forward network.
        feed_forward: Acts on each position alone.
        dropout: Probability with which an entry of either branch is set to 0 in training.

    Example:
        >>> from mathlm.layers import FeedForward, LayerNorm, SelfAttention
        >>> block = Block(LayerNorm(8), SelfAttention(8, 2), LayerNorm(8), FeedForward(8, 32))
        >>> taps = {}
        >>> block(torch.randn(1, 3, 8), taps=taps).shape, "resid_mid" in taps
        (torch.Size([1, 3, 8]), True)

    References:
        Xiong et al. (2020), arXiv:2002.04745, table 1.
    """

    def forward(
        self, x: Float[Tensor, "B T D"], *, taps: Taps | None = None, **attend: Any
    ) -> Float[Tensor, "B T D"]:
        """Read from and add to the residual stream.

        Args:
            x: Residual stream.
            taps: Receives ``resid_pre``, ``attention_out``, ``resid_mid``, ``feed_forward_out``
                and ``resid_post``; those of the parts under ``attention.``, ``feed_forward.``.
            **attend: Mask, rotation, bias and cache for :class:`SelfAttention`;
                ``through`` is called in its place, with it, its input and the others.

        Returns:
            Residual stream behind the block.
        """
        x = tap(taps, "resid_pre", x)
        a = self.attend(self.attention_norm(x), taps, **attend)
        x = tap(taps, "resid_mid", x + self.dropout(tap(taps, "attention_out", a)))
        f = self.feed_forward(self.feed_forward_norm(x), scope(taps, "feed_forward."))
        return tap(taps, "resid_post", x + self.dropout(tap(taps, "feed_forward_out", f)))


class PostNormBlock(ResidualBlock):
    """The block of the first transformers: each sum is normalized before it is read again.

    Implements eq-post-norm::

        x ← norm(x + attention(x))
        x ← norm(x + feed_forward(x))

    Args:
        attention_norm: Normalization of the sum behind attention.
        attention: Mixes positions.
        feed_forward_norm: Normalization of the sum behind the feed-forward network.
        feed_forward: Acts on each position alone.
        dropout: Probability with which an entry of either branch is set to 0 in training.

    Example:
        >>> from mathlm.layers import FeedForward, LayerNorm, SelfAttention
        >>> parts = LayerNorm(8), SelfAttention(8, 2), LayerNorm(8), FeedForward(8, 32)
        >>> y = PostNormBlock(*parts)(torch.randn(1, 3, 8))
        >>> torch.allclose(y.mean(-1), torch.zeros(1, 3), atol=1e-5)  # normalized
        True

    References:
        Vaswani et al. (2017), arXiv:1706.03762, section 3.1.
    """

    def forward(
        self, x: Float[Tensor, "B T D"], *, taps: Taps | None = None, **attend: Any
    ) -> Float[Tensor, "B T D"]:
        """Read from and add to the stream, and normalize it.

        Args:
            x: The stream.
            taps: Names as in :class:`Block`; ``resid_mid`` and ``resid_post`` are normalized.
            **attend: Mask, rotation, bias and cache for :class:`SelfAttention`.

        Returns:
            The stream behind the block.
        """
        x = tap(taps, "resid_pre", x)
        a = self.attend(x, taps, **attend)
        a = self.dropout(tap(taps, "attention_out", a))
        x = tap(taps, "resid_mid", self.attention_norm(x + a))
        f = self.feed_forward(x, scope(taps, "feed_forward."))
        f = self.dropout(tap(taps, "feed_forward_out", f))
        return tap(taps, "resid_post", self.feed_forward_norm(x + f))
