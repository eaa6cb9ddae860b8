"""Numbers on a grid of few, evenly spaced levels: the grid, the nearest level, the error."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn.functional import pad

from ..checks import require_integer
from ..errors import InputError
from ..shapes import Float, Int

MOST_BITS = 8


@dataclass(frozen=True)
class Levels:
    """Numbers as codes on evenly spaced levels, with one grid for each group of g in a row.

    Computes::

        ŵ = zero + Δ code,   code in -2^(b-1) … 2^(b-1) - 1

    Args:
        codes: int8, (..., I/g, g).
        step: Δ, distance of neighboring levels, (..., I/g, 1).
        zero: Value of code 0, of the same shape; None = 0.
        width: I, numbers in a row; None = all codes. Those behind it fill the last group.

    Example:
        >>> codes = torch.tensor([[[-1, 0, 1]]], dtype=torch.int8)
        >>> Levels(codes, step=torch.tensor([[[0.5]]])).values().tolist()
        [[-0.5, 0.0, 0.5]]
    """

    codes: Int[Tensor, "*rows N g"]
    step: Float[Tensor, "*rows N 1"]
    zero: Float[Tensor, "*rows N 1"] | None = None
    width: int | None = None

    def values(self, dtype: torch.dtype | None = None) -> Float[Tensor, "*rows I"]:
        """ŵ, in rows again, in this dtype; None = that of the steps."""
        dtype = self.step.dtype if dtype is None else dtype
        w = self.codes * self.step.to(dtype)
        w = w if self.zero is None else w + self.zero.to(dtype)
        return w.flatten(-2)[..., : self.width]

    def value_of_zero(self) -> Float[Tensor, "*rows N 1"]:
        """What code 0 stands for."""
        return torch.zeros_like(self.step) if self.zero is None else self.zero


def symmetric_levels(
    w: Float[Tensor, "*rows I"],
    bits: int,
    group: int | None = None,
    dtype: torch.dtype | None = None,
) -> Levels:
    """Round to the nearest of evenly spaced levels around 0.

    Implements eq-fast-levels::

        Δ = max |w| / (2^(b-1) - 1),   code = round(w / Δ)

    The largest and the smallest level are as far from 0; the code -2^(b-1) is not used. No
    number moves by more than Δ / 2. A group of zeros has Δ = 0 and stays zero.

    Args:
        w: Numbers, each row in groups of its own.
        bits: b, 2 … 8.
        group: g, numbers that share a grid; the last of a row may be fewer. None = all of it.
        dtype: That Δ is kept in, rounded up; None = that of ``w``, at least float32.

    Returns:
        Codes and steps.

    Raises:
        InputError: If a number is not finite or there is none, or the bits or the group are
            out of range.

    Example:
        >>> w = torch.tensor([[1.0, -0.7, 0.2]])
        >>> symmetric_levels(w, bits=2).codes.flatten().tolist()  # of -1, 0 and 1
        [1, -1, 0]
    """
    w, width = in_groups(w, bits, group), w.shape[-1]
    top = 2 ** (bits - 1) - 1
    step = rounded_up(w.abs().amax(-1, keepdim=True) / top, dtype or w.dtype)
    return Levels(nearest_codes(w, step, -top, top), step, None, width)


def affine_levels(
    w: Float[Tensor, "*rows I"],
    bits: int,
    group: int | None = None,
    dtype: torch.dtype | None = None,
) -> Levels:
    """Round to the nearest of evenly spaced levels between the least and the largest number.

    Computes, with h = 2^(b-1)::

        zero = min w + h (max w - min w) / (2^b - 1)
        Δ    = max((max w - zero) / (h - 1), (zero - min w) / h)
        code = round((w - zero) / Δ)

    In exact numbers Δ = (max w - min w) / (2^b - 1), and the outer levels are the least and the
    largest number. Where ``dtype`` has few digits, zero is rounded to it first and Δ is made as
    large as is then needed: no number moves by more than Δ / 2.

    Args:
        w: Numbers, each row in groups of its own.
        bits: b, 2 … 8.
        group: g, numbers that share a grid; the last of a row may be fewer. None = all of it.
        dtype: That zero and Δ are kept in; None = that of ``w``, at least float32.

    Returns:
        Codes, steps and zeros.

    Raises:
        InputError: As :func:`symmetric_levels`.

    Example:
        >>> levels = affine_levels(torch.tensor([[0.0, 1.2, 1.8, 3.0]]), bits=2)
        >>> levels.codes.tolist(), levels.values().tolist()
        ([[[-2, -1, 0, 1]]], [[0.0, 1.0, 2.0, 3.0]])
    """
    w, width = in_groups(w, bits, group), w.shape[-1]
    half = 2 ** (bits - 1)
    low, high = w.aminmax(dim=-1, keepdim=True)
    zero = (low + half * ((high - low) / (2 * half - 1))).to(dtype or w.dtype)
    above, below = (high - zero) / (half - 1), (zero - low) / half
    step = rounded_up(torch.maximum(above, below), dtype or w.dtype)
    return Levels(nearest_codes(w - zero, step, -half, half - 1), step, zero, width)


def rounding_variance(step: Float[Tensor, "*shape"]) -> Float[Tensor, "*shape"]:
    """Mean square of what rounding to levels changes, if it is uniform within half a step.

    Implements eq-fast-variance::

        E e² = 1/Δ ∫ e² de over -Δ/2 … Δ/2 = Δ² / 12

    Args:
        step: Δ.

    Returns:
        The variance.

    Example:
        >>> float(rounding_variance(torch.tensor(6.0)))
        3.0
    """
    return step.square() / 12


def product_variance(x: Float[Tensor, "*batch I"], levels: Levels) -> Float[Tensor, "*batch O"]:
    """Mean square of what rounding W changes in x Wᵀ.

    Implements eq-fast-product::

        E (Σ_i x_i e_oi)² = Σ_i x_i² Δ_oi² / 12

    For errors that are independent, of mean 0, and uniform within their steps. In a small group
    they are smaller, since its least and its largest number do not move.

    Args:
        x: Inputs.
        levels: The rounded W, (O, I), with Δ for each group of each row.

    Returns:
        The variance of each output.

    Raises:
        InputError: If the rows are not as long as the inputs.

    Example:
        >>> levels = Levels(torch.zeros(1, 1, 3, dtype=torch.int8), step=torch.ones(1, 1, 1))
        >>> x = torch.tensor([[2.0, 2.0, 2.0]])
        >>> product_variance(x, levels)  # (4 + 4 + 4) / 12
        tensor([[1.]])
    """
    N, g = levels.codes.shape[-2:]
    width = N * g if levels.width is None else levels.width
    if x.shape[-1] != width:
        raise InputError(f"rows of {width} weights meet {x.shape[-1]} inputs: give those of W")
    power = pad(x.square(), (0, N * g - width)).unflatten(-1, (N, g)).sum(-1)  # |x|² of groups
    return power @ rounding_variance(levels.step.squeeze(-1).to(power)).mT


def decibels(w: Float[Tensor, "*shape"], rounded: Float[Tensor, "*shape"]) -> float:
    """How far the error lies below the numbers: signal-to-noise ratio.

    Computes::

        10 log₁₀(Σ w² / Σ (w - ŵ)²)

    Args:
        w: The numbers.
        rounded: ŵ.

    Returns:
        The ratio [dB]; infinite if nothing changed.

    Raises:
        InputError: If all numbers are 0, which no error can be compared with.

    Example:
        >>> decibels(torch.tensor([10.0]), torch.tensor([9.0]))  # 10 log₁₀(100 / 1)
        20.0
    """
    signal, noise = float(w.double().square().sum()), error_sum(w, rounded)
    if signal == 0:
        raise InputError("all numbers are 0: an error has no size in proportion to them")
    return 10 * math.log10(signal / noise) if noise > 0 else math.inf


def expected_decibels(bits: int, crest: float | int) -> float:
    """Signal-to-noise ratio of symmetric levels, from the shape of what is rounded.

    Implements eq-fast-decibels::

        10 log₁₀(12 (2^(b-1) - 1)² / c²),   c = max |w| / √mean w²

    That is Σ w² / n over Δ²/12, with the Δ of :func:`symmetric_levels`.

    A bit more is 20 log₁₀ 2 = 6.02 dB more, where 2^b is large. One outlier that doubles
    the maximum, and c with it, costs a bit.

    Args:
        bits: b, 2 … 8.
        crest: c, at least 1.

    Returns:
        The ratio [dB].

    Raises:
        InputError: If a number is out of range.

    Example:
        >>> round(expected_decibels(bits=2, crest=1), 2)  # 10 log₁₀ 12
        10.79
    """
    require_bits(bits)
    if not 1 <= crest < math.inf:
        raise InputError(f"crest={crest} is max |w| / rms of w: finite, and at least 1")
    return 20 * math.log10(math.sqrt(12) * (2 ** (bits - 1) - 1) / crest)


def error_sum(w: Tensor, rounded: Tensor) -> float:
    """Σ (w - ŵ)²."""
    if w.shape != rounded.shape:
        raise InputError(f"shapes differ: {tuple(w.shape)} and {tuple(rounded.shape)}")
    return float((w.double() - rounded.double()).square().sum())


def nearest_codes(w: Tensor, step: Tensor, lowest: int, highest: int) -> Tensor:
    """round(w / Δ) as int8; 0 where Δ is."""
    if not bool(step.isfinite().all()):
        raise InputError(
            f"the numbers reach so far that the distance of two levels is infinite in "
            f"{step.dtype}: scale them down, or keep the steps in a wider format"
        )
    step = torch.where(step > 0, step, 1.0)
    return torch.round(w / step).clamp_(lowest, highest).to(torch.int8)


def rounded_up(x: Tensor, dtype: torch.dtype) -> Tensor:
    """The least number of a format that is not below ``x``."""
    y = x.to(dtype)
    return torch.where(y < x, torch.nextafter(y, torch.full_like(y, math.inf)), y)


def in_groups(w: Tensor, bits: int, group: int | None) -> Tensor:
    """Rows cut into groups, (..., N, g), the last filled with its last number; no gradient."""
    require_bits(bits)
    if w.numel() == 0:
        raise InputError(f"w has shape {tuple(w.shape)}: there is nothing to round")
    width = w.shape[-1]
    group = width if group is None else group
    require_integer(group=group)
    if group < 1:
        raise InputError(f"group={group} must be at least 1: the numbers that share a grid")
    if not bool(w.isfinite().all()):
        bad = int((~w.isfinite()).sum())
        raise InputError(f"{bad} of {w.numel()} numbers are NaN or infinite: not to be rounded")
    w = w.detach() if w.dtype == torch.float64 else w.detach().float()
    filling = w[..., -1:].expand(*w.shape[:-1], -width % group)
    return torch.cat((w, filling), -1).unflatten(-1, (-1, group))


def require_bits(bits: int) -> None:
    """Refuse a number of bits without levels on both sides of 0, or beyond a byte."""
    require_integer(bits=bits)
    if not 2 <= bits <= MOST_BITS:
        raise InputError(f"bits={bits} must be 2 … {MOST_BITS}")


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

    Example:
        >>> activation_scale(torch.tensor([1.0, 4.0]), alpha=1)  # divided by √(1 · 4)
        tensor([0.5000, 2.0000])
    """
    if not 0 <= alpha <= 1:
        raise InputError(f"alpha={alpha} must be 0 … 1: 0 leaves W as it is")
    if not bool((size.isfinite() & (size >= 0)).all()):
        raise InputError("a size is negative, NaN or infinite: give mean |x| of each input")
    if not bool(size.any()):
        return torch.ones_like(size)
    wide = size.to(torch.promote_types(size.dtype, torch.float32))  # float16 ends at 65504
    s = wide.clamp_min(FLOOR * float(wide.max())) ** alpha
    return (s / (s.max() * s.min()).sqrt()).to(size.dtype)


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
        dtype: That the grid is kept in; None = as of :func:`affine_levels`.

    Returns:
        Ŵ, in the dtype of ``w``.

    Example:
        >>> w, ones = torch.tensor([[0.0, 0.5, 2.0, 3.0]]), torch.ones(4)
        >>> aware_rounding(w, ones, bits=2)  # levels 0, 1, 2, 3; 0.5 is no level
        tensor([[0., 0., 2., 3.]])
        >>> aware_rounding(w, torch.tensor([1.0, 2.0, 1.0, 1.0]), bits=2)  # twice 0.5 is one
        tensor([[0.0000, 0.5000, 2.0000, 3.0000]])
    """
    return affine_levels(w * s, bits, group, dtype).values(w.dtype) / s


def output_error(
    w: Float[Tensor, "O I"], rounded: Float[Tensor, "O I"], x: Float[Tensor, "n I"]
) -> float:
    """Mean over inputs of the squared length of what changes in the output.

    Computes::

        1/n Σ_x |x (W - Ŵ)ᵀ|²

    Example:
        >>> w, rounded = torch.tensor([[1.0, 2.0]]), torch.tensor([[1.0, 1.0]])
        >>> output_error(w, rounded, torch.tensor([[3.0, 2.0]]))  # (2 · 1)²
        4.0
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
        dtype: That the grid is kept in; None = as of :func:`affine_levels`.
        alphas: Tried, the first of the best is taken.

    Returns:
        s, and the error for each α.

    Raises:
        InputError: If there are no weights, inputs or alphas, or as :func:`affine_levels`.

    Example:
        >>> w, x = torch.tensor([[0.0, 1.0, 2.0, 3.0]]), torch.tensor([[1.0, 1.0, 1.0, 4.0]])
        >>> s, errors = best_activation_scale([w], x, x.abs().mean(0), bits=2)
        >>> s.tolist(), errors[0]  # w has only levels as it is, which no scale improves
        ([1.0, 1.0, 1.0, 1.0], 0.0)
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
