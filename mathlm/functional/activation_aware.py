"""Rounding that spares the weights which large inputs meet.

Sources: Lin et al. (2023), arXiv:2306.00978, section 3.2.
"""

from collections.abc import Sequence

import torch
from torch import Tensor

from ..errors import InputError
from ..shapes import Float
from .quantization import affine_levels

ALPHAS = tuple(i / 10 for i in range(10))
FLOOR = 1e-4  # least size of an input, as a part of the largest


def activation_scale(size: Float[Tensor, " I"], alpha: float | int) -> Float[Tensor, " I"]:
    """Factors of the columns of W that grow with the inputs they meet.

    Computes::

        s_i = a_i^α / √(max a^α · min a^α),   a_i = mean |x_i|

    Sizes below 1/10,000 of the largest count as that. α = 0, and inputs that are all 0, give 1.

    Args:
        size: a, of each input, not negative.
        alpha: α, 0 … 1.

    Returns:
        s, with the largest and the smallest one's product 1.

    Raises:
        InputError: If α is out of range, or a size is negative or not finite.
    """
    if not 0 <= alpha <= 1:
        raise InputError(f"alpha={alpha} must be 0 … 1: 0 leaves W as it is")
    if not bool((size.isfinite() & (size >= 0)).all()):
        raise InputError("a size is negative, NaN or infinite: give mean |x| of each input")
    if not bool(size.any()):
        return torch.ones_like(size)
    s = size.clamp_min(FLOOR * float(size.max())) ** alpha
    return s / (s.max() * s.min()).sqrt()


def aware_rounding(
    w: Float[Tensor, "O I"],
    s: Float[Tensor, " I"],
    bits: int,
    group: int | None = None,
    dtype: torch.dtype | None = None,
) -> Float[Tensor, "O I"]:
    """What the weights are after their columns were scaled, rounded and scaled back.

    Implements eq-fast-aware::

        Ŵ = Q(W diag(s)) diag(1/s),   error of an output = 1/12 Σ_i (x_i / s_i)² Δ'²

    Δ' is the step of the scaled weights. It hardly grows as long as the scaled column does not
    hold a group's largest number.

    Args:
        w: W.
        s: Factors of the columns, positive.
        bits: Of the levels, :func:`affine_levels`.
        group: Columns that share a grid; None = all.
        dtype: That the grid is kept in; None = that of ``w``.

    Returns:
        Ŵ, in the dtype of ``w``.
    """
    return affine_levels(w * s, bits, group, dtype).values(w.dtype) / s


def output_error(
    w: Float[Tensor, "O I"], rounded: Float[Tensor, "O I"], x: Float[Tensor, "n I"]
) -> float:
    """Mean over inputs of the squared length of what changes in the output.

    Computes::

        1/n Σ_x |x (W - Ŵ)ᵀ|²
    """
    return float((x @ (w - rounded).mT).square().sum()) / len(x)


def best_activation_scale(
    weights: Sequence[Float[Tensor, "_ I"]],
    x: Float[Tensor, "n I"],
    size: Float[Tensor, " I"],
    bits: int,
    group: int | None = None,
    *,
    dtype: torch.dtype | None = None,
    alphas: Sequence[float | int] = ALPHAS,
) -> tuple[Float[Tensor, " I"], list[float]]:
    """The scale, of those that some α gives, which changes the outputs least.

    Computes::

        α* = argmin_α Σ_W 1/n Σ_x |x (W - Q(W diag(s_α)) diag(1/s_α))ᵀ|²

    Args:
        weights: The matrices that read the same inputs; they share s.
        x: Inputs to measure on.
        size: a = mean |x_i|, over more inputs perhaps.
        bits: Of the levels.
        group: Columns that share a grid; None = all.
        dtype: That the grid is kept in; None = that of the weights.
        alphas: Tried, the first of the best is taken.

    Returns:
        s, and the error for each α.

    Raises:
        InputError: If there are no weights, inputs or alphas, or as :func:`affine_levels`.
    """
    if not len(weights) or not len(x) or not len(alphas):
        raise InputError(
            f"{len(weights)} matrices, {len(x)} inputs and {len(alphas)} values of alpha: "
            "each must be at least 1"
        )
    scales = [activation_scale(size, alpha) for alpha in alphas]
    errors = [
        sum(output_error(w, aware_rounding(w, s, bits, group, dtype), x) for w in weights)
        for s in scales
    ]
    return scales[errors.index(min(errors))], errors
