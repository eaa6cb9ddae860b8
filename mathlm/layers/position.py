"""Positions as modules: tables that follow the model's device, in float32 at least."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from .. import functional as F
from ..shapes import Float, Int

Rotation = tuple[Tensor, Tensor]


class LearnedPosition(nn.Embedding):
    """One learned vector for each position, added to the token's.

    Args:
        context: Positions 0 ... context - 1.
        d_model: D.

    Example:
        >>> LearnedPosition(context=16, d_model=8)(torch.arange(3)).shape
        torch.Size([3, 8])
    """

    def __init__(self, context: int, d_model: int) -> None:
        super().__init__(context, d_model)

    def forward(self, positions: Int[Tensor, "*batch"]) -> Float[Tensor, "*batch D"]:
        """Rows of the table."""
        F.require_token_ids(positions, self.num_embeddings, "position")
        return super().forward(positions)


class FixedTables(nn.Module):
    """Computed tables, which keep float32 when the weights of the model go to 16 bits.

    A table that was rounded with them would stay wrong when they come back, though no weight
    and no entry of the state tells.

    Attributes:
        dtype: That of the model.
    """

    def __init__(self, **tables: Tensor) -> None:
        super().__init__()
        for name, table in tables.items():
            self.register_buffer(name, table, persistent=False)
        self.dtype = next(iter(tables.values())).dtype

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> Any:
        """Move the tables as ``fn`` does, but round them to no fewer than 32 bits."""
        before = dict(self._buffers)
        self.dtype = fn(torch.empty(0, dtype=self.dtype)).dtype
        super()._apply(fn, recurse)
        for name, table in self._buffers.items():
            if table is not None and table.dtype.itemsize < 4:
                self._buffers[name] = before[name].to(table.device)  # type: ignore[union-attr]
        return self


class SinusoidalPosition(FixedTables):
    """The fixed table of sines and cosines, added to the token's vector.

    Args:
        context: Positions 0 ... context - 1.
        d_model: D, even.

    Example:
        >>> SinusoidalPosition(context=16, d_model=4)(torch.tensor([0]))  # sin 0, cos 0
        tensor([[0., 1., 0., 1.]])
    """

    table: Tensor

    def __init__(self, context: int, d_model: int) -> None:
        super().__init__(table=F.sinusoidal_table(context, d_model))

    def forward(self, positions: Int[Tensor, "*batch"]) -> Float[Tensor, "*batch D"]:
        """Rows of the table."""
        F.require_token_ids(positions, len(self.table), "position")
        return self.table[positions].to(self.dtype)


class RotaryPosition(FixedTables):
    """Cosines and sines by which queries and keys are turned.

    Args:
        context: Positions 0 ... context - 1.
        d_head: K, even.
        base: See :func:`mathlm.functional.rotary_table`.
        scaling: For a context longer than the trained one; None = as it was trained.

    Example:
        >>> cos, sin = RotaryPosition(context=16, d_head=4)(torch.arange(3))
        >>> cos.shape
        torch.Size([1, 3, 2])
    """

    cos: Tensor
    sin: Tensor

    def __init__(
        self,
        context: int,
        d_head: int,
        base: float | int = 10_000.0,
        scaling: F.RopeScaling | None = None,
    ) -> None:
        cos, sin = F.rotary_table(context, d_head, base, scaling)
        super().__init__(cos=cos, sin=sin)

    def forward(self, positions: Int[Tensor, "*batch T"]) -> Rotation:
        """Cosines and sines of shape ``(*batch, 1, T, K/2)``, the 1 standing for the heads."""
        F.require_token_ids(positions, len(self.cos), "position")
        return self.cos[positions].unsqueeze(-3), self.sin[positions].unsqueeze(-3)


class AlibiPosition(FixedTables):
    """Penalties on distance, added to the scores.

    Args:
        n_heads: H.

    Example:
        >>> AlibiPosition(n_heads=2)(torch.tensor([16]), torch.tensor([0]))  # 2⁻⁴, 2⁻⁸
        tensor([[[-1.0000]],
                [[-0.0625]]])
    """

    slopes: Tensor

    def __init__(self, n_heads: int) -> None:
        super().__init__(slopes=F.alibi_slopes(n_heads))

    def forward(
        self, queries: Int[Tensor, "*batch T"], keys: Int[Tensor, "*batch S"]
    ) -> Float[Tensor, "*batch H T S"]:
        """Bias of the scores."""
        return F.alibi_bias(self.slopes, queries, keys).to(self.dtype)


class RelativePosition(nn.Embedding):
    """A learned table of what each distance adds to the scores of each head.

    Computes::

        bias[h, t, s] = table[bucket(s - t), h]

    One table serves all layers, as in T5.

    Args:
        n_heads: H.
        n_buckets: Rows of the table.
        max_distance: Distance from which on all are alike [tokens].
        bidirectional: Whether queries look both ways.

    Raises:
        InputError: If the buckets do not divide, or the distance lies among the exact ones.

    Example:
        >>> bias = RelativePosition(n_heads=2)
        >>> bias(torch.arange(3), torch.arange(5)).shape, bias.weight.shape
        (torch.Size([2, 3, 5]), torch.Size([32, 2]))

    References:
        Raffel et al. (2020), arXiv:1910.10683, section 2.1.
    """

    def __init__(
        self,
        n_heads: int,
        n_buckets: int = 32,
        max_distance: int = 128,
        bidirectional: bool = False,
    ) -> None:
        super().__init__(n_buckets, n_heads)
        self.max_distance, self.bidirectional = max_distance, bidirectional
        F.relative_buckets(
            torch.zeros(1, dtype=torch.int64), n_buckets, max_distance, bidirectional
        )

    def forward(  # type: ignore[override]
        self, queries: Int[Tensor, "*batch T"], keys: Int[Tensor, "*batch S"]
    ) -> Float[Tensor, "*batch H T S"]:
        """Bias of the scores."""
        return F.relative_bias(
            self.weight, queries, keys, self.max_distance, self.bidirectional
        )
