"""Bottleneck adapters: small trained networks behind the halves of a block."""

import math
from typing import Any

import torch
from torch import Tensor, nn

from ..errors import ConfigError
from ..functional.low_rank import bottleneck
from ..shapes import Float
from .block import Block
from .feedforward import ACTIVATIONS
from .taps import Taps, scope, tap


class Bottleneck(nn.Module):
    """A vector, and what a narrow network makes of it; at the start nothing.

    Implements eq-small-bottleneck::

        y = x + W_up f(W_down x + b_down) + b_up

    W_down is uniform in ±1/√D, the other three are 0: 2 D w + w + D numbers. They may be in a
    wider dtype than x, to which the sum is rounded.

    Args:
        d_model: D.
        width: w, numbers that are read from a vector.
        activation: f: relu, gelu, gelu_tanh or silu.
        generator: Source of W_down, on the CPU; None = torch's own.

    Raises:
        ConfigError: If the width is no whole number of at least 1, or f is not known.

    Example:
        >>> x = torch.randn(3, 8)
        >>> torch.equal(Bottleneck(8, width=2)(x), x)  # at the start
        True

    References:
        Houlsby et al. (2019), arXiv:1902.00751, section 2.1.
    """

    def __init__(
        self,
        d_model: int,
        width: int,
        activation: str = "relu",
        generator: torch.Generator | None = None,
    ) -> None:
        super().__init__()
        if type(width) is not int or width < 1:
            raise ConfigError(f"width={width!r} must be a whole number, at least 1")
        if not isinstance(activation, str) or activation not in ACTIVATIONS:
            raise ConfigError(
                f"activation={activation!r} is not one of {', '.join(ACTIVATIONS)}"
            )
        self.width, self.activation = width, activation
        bound = 1 / math.sqrt(d_model)
        W = torch.empty(width, d_model).uniform_(-bound, bound, generator=generator)
        self.W_down, self.b_down = nn.Parameter(W), nn.Parameter(torch.zeros(width))
        self.W_up = nn.Parameter(torch.zeros(d_model, width))
        self.b_up = nn.Parameter(torch.zeros(d_model))

    def forward(self, x: Float[Tensor, "*batch D"]) -> Float[Tensor, "*batch D"]:
        """Act on each vector alone."""
        f = ACTIVATIONS[self.activation]
        wide = x.to(self.W_down.dtype)
        y = bottleneck(wide, self.W_down, self.b_down, self.W_up, self.b_up, f)
        return y.to(x.dtype)

    def extra_repr(self) -> str:
        """Sizes."""
        return f"d_model={len(self.b_up)}, width={self.width}, activation={self.activation!r}"


class AdaptedBlock(Block):
    """A block whose halves pass through a bottleneck before they are added to the stream.

    Computes::

        x ← x + adapter(attention(norm(x)))
        x ← x + adapter(feed_forward(norm(x)))

    It shares the parts of the block that it is made of, under the same names.

    Args:
        block: The block.
        attention_adapter: Behind attention; None = nothing.
        feed_forward_adapter: Behind the feed-forward network; None = nothing.

    Example:
        >>> from mathlm.layers import FeedForward, LayerNorm, SelfAttention
        >>> parts = LayerNorm(8), SelfAttention(8, 2), LayerNorm(8), FeedForward(8, 32)
        >>> block, x = Block(*parts), torch.randn(1, 3, 8)
        >>> adapted = AdaptedBlock(block, attention_adapter=Bottleneck(8, width=2))
        >>> torch.allclose(adapted(x), block(x))  # at the start an adapter adds nothing
        True
    """

    def __init__(
        self,
        block: Block,
        attention_adapter: Bottleneck | None = None,
        feed_forward_adapter: Bottleneck | None = None,
    ) -> None:
        super().__init__(
            block.attention_norm,
            block.attention,
            block.feed_forward_norm,
            block.feed_forward,
            block.dropout.p,
        )
        self.attention_adapter = attention_adapter
        self.feed_forward_adapter = feed_forward_adapter
        self.train(block.training)

    def forward(
        self, x: Float[Tensor, "B T D"], *, taps: Taps | None = None, **attend: Any
    ) -> Float[Tensor, "B T D"]:
        """Read from and add to the residual stream; ``attention_out`` is behind the adapter."""
        x = tap(taps, "resid_pre", x)
        a = self.attend(self.attention_norm(x), taps, **attend)
        a = a if self.attention_adapter is None else self.attention_adapter(a)
        x = tap(taps, "resid_mid", x + self.dropout(tap(taps, "attention_out", a)))
        f = self.feed_forward(self.feed_forward_norm(x), scope(taps, "feed_forward."))
        f = f if self.feed_forward_adapter is None else self.feed_forward_adapter(f)
        return tap(taps, "resid_post", x + self.dropout(tap(taps, "feed_forward_out", f)))

    def plain(self) -> Block:
        """The block without its adapters, of the same parts."""
        parts = self.attention_norm, self.attention, self.feed_forward_norm, self.feed_forward
        return Block(*parts, self.dropout.p).train(self.training)
