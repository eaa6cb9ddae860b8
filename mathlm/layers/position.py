"""Positions as modules: tables that follow the model's device and dtype."""

from torch import Tensor, nn

from .. import functional as F
from ..shapes import Float, Int

Rotation = tuple[Tensor, Tensor]


class LearnedPosition(nn.Embedding):
    """One learned vector for each position, added to the token's.

    Args:
        context: Positions 0 ... context - 1.
        d_model: D.
    """

    def __init__(self, context: int, d_model: int) -> None:
        super().__init__(context, d_model)


class SinusoidalPosition(nn.Module):
    """The fixed table of sines and cosines, added to the token's vector.

    Args:
        context: Positions 0 ... context - 1.
        d_model: D, even.
    """

    table: Tensor

    def __init__(self, context: int, d_model: int) -> None:
        super().__init__()
        self.register_buffer("table", F.sinusoidal_table(context, d_model), persistent=False)

    def forward(self, positions: Int[Tensor, "*batch"]) -> Float[Tensor, "*batch D"]:
        """Rows of the table."""
        return self.table[positions]


class RotaryPosition(nn.Module):
    """Cosines and sines by which queries and keys are turned.

    Args:
        context: Positions 0 ... context - 1.
        d_head: K, even.
        base: See :func:`mathlm.functional.rotary_table`.
    """

    cos: Tensor
    sin: Tensor

    def __init__(self, context: int, d_head: int, base: float = 10_000.0) -> None:
        super().__init__()
        cos, sin = F.rotary_table(context, d_head, base)
        self.register_buffer("cos", cos, persistent=False)
        self.register_buffer("sin", sin, persistent=False)

    def forward(self, positions: Int[Tensor, "*batch T"]) -> Rotation:
        """Cosines and sines of shape ``(*batch, 1, T, K/2)``, the 1 standing for the heads."""
        return self.cos[positions].unsqueeze(-3), self.sin[positions].unsqueeze(-3)


class AlibiPosition(nn.Module):
    """Penalties on distance, added to the scores.

    Args:
        n_heads: H.
    """

    slopes: Tensor

    def __init__(self, n_heads: int) -> None:
        super().__init__()
        self.register_buffer("slopes", F.alibi_slopes(n_heads), persistent=False)

    def forward(
        self, queries: Int[Tensor, "*batch T"], keys: Int[Tensor, "*batch S"]
    ) -> Float[Tensor, "*batch H T S"]:
        """Bias of the scores."""
        return F.alibi_bias(self.slopes, queries, keys)
