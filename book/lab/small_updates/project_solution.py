"""Reference solution of the project of this page: LoRA for one linear map."""

import torch
from torch import Tensor, nn


class LoRA(nn.Module):
    """A frozen linear map with a trained pair.

    Args:
        base: The map.
        rank: r.
        alpha: α; the scale is α/r.
    """

    def __init__(self, base: nn.Linear, rank: int, alpha: float) -> None:
        super().__init__()
        self.base, self.s = base.requires_grad_(False), alpha / rank
        d, k = base.weight.shape
        W = base.weight  # dtype and device
        self.A = nn.Parameter(W.new_empty(rank, k).uniform_(-1, 1) / k**0.5)
        self.B = nn.Parameter(W.new_zeros(d, rank))

    def forward(self, x: Tensor) -> Tensor:
        """Wx + b + sBAx."""
        return self.base(x) + self.s * (x @ self.A.mT) @ self.B.mT

    @torch.no_grad()
    def merged(self) -> Tensor:
        """W + sBA, rounded once."""
        W = self.base.weight
        return (W.float() + self.s * self.B.float() @ self.A.float()).to(W.dtype)
