"""Normalization layers."""

import math

import torch
from torch import Tensor, nn

from .. import functional as F
from ..errors import ConfigError, InputError
from ..shapes import Float


class LayerNorm(nn.Module):
    """Layer normalization with a learned gain and shift.

    Args:
        d_model: Width D.
        eps: Added to the variance.
        bias: Whether there is a shift β.

    Raises:
        ConfigError: If the width is less than 1, or eps is negative or not finite.

    Example:
        >>> LayerNorm(2)(torch.tensor([1.0, 3.0])).round(decimals=3)
        tensor([-1.,  1.], grad_fn=...)
    """

    def __init__(self, d_model: int, eps: float = 1e-5, bias: bool = True) -> None:
        super().__init__()
        _require_norm(d_model, eps)
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

    Raises:
        ConfigError: If the width is less than 1, or eps is negative or not finite.

    Example:
        >>> RMSNorm(2)(torch.tensor([2.0, -2.0])).round(decimals=3)
        tensor([ 1., -1.], grad_fn=...)
    """

    def __init__(self, d_model: int, eps: float = 1e-5) -> None:
        super().__init__()
        _require_norm(d_model, eps)
        self.eps = eps
        self.gamma = nn.Parameter(torch.ones(d_model))

    def forward(self, x: Float[Tensor, "*batch D"]) -> Float[Tensor, "*batch D"]:
        """Divide by the root mean square over the last axis and scale."""
        return F.rms_norm(x, self.gamma, self.eps)


class BatchNorm(nn.Module):
    """Batch normalization with a learned gain and shift, and running statistics.

    Computes::

        training:    y = γ ⊙ (x - μ) / √(var + ε) + β   with μ, var (1/N) of the batch
                     μ_run ← (1 - m) μ_run + m μ,   var_run ← (1 - m) var_run + m var N/(N - 1)
        evaluation:  y = γ ⊙ (x - μ_run) / √(var_run + ε) + β

    Args:
        d_model: Width D.
        eps: Added to the variance.
        momentum: Weight m of the newest batch in the running statistics, 0 < m ≤ 1.

    Raises:
        ConfigError: If the momentum is outside that range, or eps is not positive.

    Example:
        >>> BatchNorm(1)(torch.tensor([[1.0], [3.0]])).round(decimals=3)
        tensor([[-1.],
                [ 1.]], grad_fn=...)

    References:
        Ioffe and Szegedy (2015), arXiv:1502.03167, algorithms 1 and 2.
    """

    running_mean: Tensor
    running_var: Tensor

    def __init__(self, d_model: int, eps: float = 1e-5, momentum: float = 0.1) -> None:
        super().__init__()
        if not (0 < momentum <= 1 and eps > 0):
            raise ConfigError(f"need 0 < momentum={momentum} <= 1 and eps={eps} > 0")
        self.eps, self.momentum = eps, momentum
        self.gamma = nn.Parameter(torch.ones(d_model))
        self.beta = nn.Parameter(torch.zeros(d_model))
        self.register_buffer("running_mean", torch.zeros(d_model))
        self.register_buffer("running_var", torch.ones(d_model))

    def forward(
        self, x: Float[Tensor, "*batch D"], mask: Tensor | None = None
    ) -> Float[Tensor, "*batch D"]:
        """Standardize each feature, by the batch in training, else by what was seen there.

        Args:
            x: Vectors, in training at least two that count.
            mask: bool ``(*batch)``, True where a vector counts; None = all do. The others
                take no part, and their y is 0.

        Returns:
            y, with the dtype of x.
        """
        mean, var = self.running_mean, self.running_var
        if self.training:
            mean, var = F.batch_statistics(x, mask)
            self._remember(mean, var, x[..., 0].numel() if mask is None else int(mask.sum()))
        return F.fixed_batch_norm(x, mean, var, self.gamma, self.beta, self.eps, mask)

    @torch.no_grad()
    def _remember(self, mean: Tensor, var: Tensor, N: int) -> None:
        """Move the running statistics toward those of a batch of N vectors."""
        if not (mean.isfinite().all() and var.isfinite().all()):
            raise InputError("x is not finite where it counts: the running statistics are kept")
        self.running_mean.lerp_(mean.to(self.running_mean), self.momentum)
        self.running_var.lerp_((var * N / (N - 1)).to(self.running_var), self.momentum)


def _require_norm(d_model: int, eps: float) -> None:
    if d_model < 1 or not 0 <= eps < math.inf:
        raise ConfigError(
            f"need d_model={d_model} of 1 or more, and eps={eps} finite and not negative"
        )
