"""Normalization layers."""

import torch
from torch import Tensor, nn

from .. import functional as F
from ..shapes import Float


class LayerNorm(nn.Module):
    """Layer normalization with a learned gain and shift.

    Args:
        d_model: Width D.
        eps: Added to the variance.
        bias: Whether there is a shift β.
    """

    def __init__(self, d_model: int, eps: float = 1e-5, bias: bool = True) -> None:
        super().__init__()
        self.eps = eps
        self.gamma = nn.Parameter(torch.ones(d_model))
        self.beta = nn.Parameter(torch.zeros(d_model)) if bias else None

    def forward(self, x: Float[Tensor, "*batch D"]) -> Float[Tensor, "*batch D"]:
        """Standardize over the last axis, scale and shift."""
        return F.layer_norm(x, self.gamma, self.beta, self.eps)


class RMSNorm(nn.Module):
    """Root-mean-square normalization with a learned gain.

    Args:
        d_model: Width D.
        eps: Added to the mean square.
    """

    def __init__(self, d_model: int, eps: float = 1e-5) -> None:
        super().__init__()
        self.eps = eps
        self.gamma = nn.Parameter(torch.ones(d_model))

    def forward(self, x: Float[Tensor, "*batch D"]) -> Float[Tensor, "*batch D"]:
        """Divide by the root mean square over the last axis and scale."""
        return F.rms_norm(x, self.gamma, self.eps)
