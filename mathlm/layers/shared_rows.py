"""Rows whose equal beginnings are computed once, and spread where rows need their own."""

from dataclasses import dataclass

from torch import Tensor
from torch.nn.functional import embedding

from ..shapes import Float, Int


@dataclass(frozen=True, eq=False)
class SharedRows:
    """Which places of B rows of T tokens are one and the same, for they follow the same text.

    What acts on each token alone is computed for N distinct ones; attention, which needs rows,
    gets them by :meth:`spread` and gives back by :meth:`collect`.

    Args:
        place: Number of the distinct token at each place, below N; any at padding.
        first: Where each distinct token stands first, counted row by row.
    """

    place: Int[Tensor, "B T"]
    first: Int[Tensor, " N"]

    def spread(self, heads: Float[Tensor, "1 H N K"]) -> Float[Tensor, "B H T K"]:
        """Vectors of the distinct tokens, at all places where these stand."""
        flat = heads.transpose(1, 2).flatten(2)[0]  # (N, H·K)
        rows = embedding(
            self.place, flat
        )  # its backward pass adds rows up: index_add is slower
        return rows.unflatten(-1, (heads.shape[1], -1)).transpose(1, 2)

    def collect(self, rows: Float[Tensor, "B T D"]) -> Float[Tensor, "1 N D"]:
        """Vectors at the first place of each distinct token."""
        return embedding(self.first, rows.flatten(0, 1)).unsqueeze(0)
