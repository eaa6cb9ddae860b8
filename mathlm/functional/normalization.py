"""Normalization of vectors over their features, or over the batch."""

import torch
import torch.nn.functional as F
from torch import Tensor

from ..errors import InputError
from ..shapes import Float
from .pooling import require_mask


def layer_norm(
    x: Float[Tensor, "*batch D"],
    gamma: Float[Tensor, " D"],
    beta: Float[Tensor, " D"] | None = None,
    eps: float = 1e-5,
) -> Float[Tensor, "*batch D"]:
    """Standardize each vector over its features, then scale and shift.

    Implements eq-layer-norm::

        y = γ ⊙ (x - μ) / √(var + ε) + β,   var biased (1/D)

    Mean and variance of half-precision vectors are taken in float32. A vector of equal entries
    gives β.

    Args:
        x: Input vectors.
        gamma: Gain γ.
        beta: Shift β; None = 0.
        eps: Added to the variance, in units of x².

    Returns:
        y, with the dtype of x.

    Raises:
        InputError: If γ or β has not one entry a feature.

    Example:
        >>> layer_norm(torch.tensor([1.0, 3.0]), torch.ones(2)).round(decimals=3)
        tensor([-1.,  1.])

    References:
        Ba, Kiros and Hinton (2016), arXiv:1607.06450, eq. (3)-(4).
    """
    require_one_a_feature(x, gamma=gamma, beta=beta)
    beta = None if beta is None else beta.to(x.dtype)
    return F.layer_norm(x, x.shape[-1:], gamma.to(x.dtype), beta, eps)


def rms_norm(
    x: Float[Tensor, "*batch D"], gamma: Float[Tensor, " D"], eps: float = 1e-5
) -> Float[Tensor, "*batch D"]:
    """Divide each vector by its root mean square, then scale.

    Implements eq-rms-norm::

        y = γ ⊙ x / √(mean(x²) + ε)

    The mean square of half-precision vectors is taken in float32.

    Args:
        x: Input vectors.
        gamma: Gain γ.
        eps: Added to the mean square, in units of x².

    Returns:
        y, with the dtype of x.

    Raises:
        InputError: If γ has not one entry a feature.

    Example:
        >>> rms_norm(torch.tensor([2.0, -2.0]), torch.ones(2)).round(decimals=3)
        tensor([ 1., -1.])

    References:
        Zhang and Sennrich (2019), arXiv:1910.07467, eq. (4).
    """
    require_one_a_feature(x, gamma=gamma)
    return F.rms_norm(x, x.shape[-1:], gamma.to(x.dtype), eps)


def require_one_a_feature(x: Tensor, **vectors: Tensor | None) -> None:
    """Refuse a gain or a bias that has not one entry for each feature of x."""
    for name, vector in vectors.items():
        if vector is not None and vector.shape != x.shape[-1:]:
            raise InputError(
                f"{name} has shape {tuple(vector.shape)}, expected {tuple(x.shape[-1:])}: one "
                f"entry for each feature of x, {tuple(x.shape)}"
            )


def batch_norm(
    x: Float[Tensor, "*batch D"],
    gamma: Float[Tensor, " D"],
    beta: Float[Tensor, " D"] | None = None,
    eps: float = 1e-5,
    mask: Tensor | None = None,
) -> Float[Tensor, "*batch D"]:
    """Standardize each feature over the vectors of the batch, then scale and shift.

    Implements eq-batch-norm::

        y_n = γ ⊙ (x_n - μ) / √(var + ε) + β,   μ and var of :func:`batch_statistics`

    Args:
        x: Input vectors.
        gamma: Gain γ.
        beta: Shift β; None = 0.
        eps: Added to the variance, in units of x².
        mask: bool ``(*batch)``, True where a vector counts; None = all do. y of padding is 0.

    Returns:
        y, with the dtype of x.

    Raises:
        InputError: If fewer than two vectors count, the mask does not fit, or eps is negative,
            or 0 where the variance is 0.
        InputTypeError: If the mask is not boolean.

    Example:
        >>> batch_norm(torch.tensor([[1.0], [3.0]]), torch.ones(1)).round(decimals=3)
        tensor([[-1.],
                [ 1.]])

    References:
        Ioffe and Szegedy (2015), arXiv:1502.03167, algorithm 1.
    """
    mean, var = batch_statistics(x, mask)
    return fixed_batch_norm(x, mean, var, gamma, beta, eps, mask)


def batch_statistics(
    x: Float[Tensor, "*batch D"], mask: Tensor | None = None
) -> tuple[Float[Tensor, " D"], Float[Tensor, " D"]]:
    """Mean and variance of each feature over the vectors of the batch.

    Computes::

        μ = 1/N Σ_n x_n,   var = 1/N Σ_n (x_n - μ)²   over the N vectors that count

    Those of half-precision vectors are taken in float32. What stands at padding does not
    matter, NaN included.

    Args:
        x: Vectors.
        mask: bool ``(*batch)``, True where a vector counts; None = all do.

    Returns:
        Mean, and biased variance (1/N).

    Raises:
        InputError: If fewer than two vectors count, or the mask does not fit.
        InputTypeError: If the mask is not boolean.

    Example:
        >>> batch_statistics(torch.tensor([[1.0], [3.0]]))
        (tensor([2.]), tensor([1.]))
    """
    _require_fit(x, mask)
    rows = x.flatten(0, -2) if mask is None else x[mask]  # (N, D)
    if len(rows) < 2:
        raise InputError(
            f"{len(rows)} of the vectors of x {tuple(x.shape)} count: a variance over the "
            "batch needs at least 2; call eval() to use the running statistics"
        )
    rows = rows.to(torch.promote_types(x.dtype, torch.float32))
    shifted = rows - rows[:1].detach()  # equal entries become exactly 0
    mean = shifted.mean(0)
    return mean + rows[0].detach(), (shifted - mean).square().mean(0)


def fixed_batch_norm(
    x: Float[Tensor, "*batch D"],
    mean: Float[Tensor, " D"],
    var: Float[Tensor, " D"],
    gamma: Float[Tensor, " D"],
    beta: Float[Tensor, " D"] | None = None,
    eps: float = 1e-5,
    mask: Tensor | None = None,
) -> Float[Tensor, "*batch D"]:
    """Batch normalization by a mean and a variance that are given, as after training.

    Computes::

        y = γ ⊙ (x - μ) / √(var + ε) + β

    No vector of the batch has a part in the value of another.

    Args:
        x: Vectors.
        mean: μ, one for each feature.
        var: Variance, one for each feature.
        gamma: Gain γ.
        beta: Shift β; None = 0.
        eps: Added to the variance, in units of x².
        mask: bool ``(*batch)``, True where a vector counts; None = all do. y of padding is 0.

    Returns:
        y, with the dtype of x.

    Raises:
        InputError: If the mask does not fit, or eps is negative, or 0 where the variance is 0.
        InputTypeError: If the mask is not boolean.

    Example:
        >>> x, mean, var = torch.tensor([[3.0, 5.0]]), torch.ones(2), torch.full((2,), 4.0)
        >>> fixed_batch_norm(x, mean, var, gamma=torch.ones(2), eps=0.0)
        tensor([[1., 2.]])
    """
    _require_fit(x, mask)
    if eps < 0 or (eps == 0 and not var.all()):
        raise InputError(f"eps={eps} must be positive, or 0 if no feature has variance 0")
    if mask is not None:
        x = x.masked_fill(~mask.unsqueeze(-1), 0.0)
    y = gamma * ((x - mean) / (var + eps).sqrt())
    y = y if beta is None else y + beta
    return (y if mask is None else y.masked_fill(~mask.unsqueeze(-1), 0.0)).to(x.dtype)


def _require_fit(x: Tensor, mask: Tensor | None) -> None:
    if x.ndim < 2:
        raise InputError(
            f"x has shape {tuple(x.shape)}: one vector is no batch, give (*, N, D)"
        )
    if mask is None:
        return
    require_mask(mask, "counts")
    if mask.shape != x.shape[:-1]:
        raise InputError(
            f"mask {tuple(mask.shape)} must be {tuple(x.shape[:-1])}: one entry for each "
            f"vector of x {tuple(x.shape)}"
        )
