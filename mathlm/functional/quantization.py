"""Numbers on a grid of few, evenly spaced levels: the grid, the nearest level, the error."""

import math
from dataclasses import dataclass
from numbers import Integral

import torch
from torch import Tensor
from torch.nn.functional import pad

from ..errors import InputError, InputTypeError
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
    """

    codes: Int[Tensor, "*rows N g"]
    step: Float[Tensor, "*rows N 1"]
    zero: Float[Tensor, "*rows N 1"] | None = None
    width: int | None = None

    def values(self, dtype: torch.dtype | None = None) -> Float[Tensor, "*rows I"]:
        """ŵ, in rows again, in this dtype; None = that of the steps."""
        dtype = self.step.dtype if dtype is None else dtype
        w = self.codes.to(dtype) * self.step.to(dtype)
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
        dtype: That Δ is kept in, rounded up; None = that of ``w``.

    Returns:
        Codes and steps.

    Raises:
        InputError: If a number is not finite or there is none, or the bits or the group are
            out of range.
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
        dtype: That zero and Δ are kept in; None = that of ``w``.

    Returns:
        Codes, steps and zeros.

    Raises:
        InputError: As :func:`symmetric_levels`.
    """
    w, width = in_groups(w, bits, group), w.shape[-1]
    half = 2 ** (bits - 1)
    low, high = w.aminmax(dim=-1, keepdim=True)
    zero = (low + half * ((high - low) / (2 * half - 1))).to(dtype or w.dtype)
    above, below = (high - zero.to(w)) / (half - 1), (zero.to(w) - low) / half
    step = rounded_up(torch.maximum(above, below), dtype or w.dtype)
    return Levels(nearest_codes(w - zero.to(w), step, -half, half - 1), step, zero, width)


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
    """
    N, g = levels.codes.shape[-2:]
    width = N * g if levels.width is None else levels.width
    if x.shape[-1] != width:
        raise InputError(f"rows of {width} weights meet {x.shape[-1]} inputs: give those of W")
    power = pad(x.square(), (0, N * g - width)).unflatten(-1, (N, g)).sum(-1)  # |x|² of groups
    return power @ rounding_variance(levels.step.squeeze(-1)).mT.to(power)


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
    step = torch.where(step > 0, step, 1.0).to(w)
    return torch.round(w / step).clamp_(lowest, highest).to(torch.int8)


def rounded_up(x: Tensor, dtype: torch.dtype) -> Tensor:
    """The least number of a format that is not below ``x``."""
    y = x.to(dtype)
    return torch.where(y.to(x) < x, torch.nextafter(y, torch.full_like(y, math.inf)), y)


def in_groups(w: Tensor, bits: int, group: int | None) -> Tensor:
    """Rows cut into groups, (..., N, g), the last filled with its last number; no gradient."""
    require_bits(bits)
    if w.numel() == 0:
        raise InputError(f"w has shape {tuple(w.shape)}: there is nothing to round")
    width = w.shape[-1]
    group = width if group is None else group
    require_integer("group", group)
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
    require_integer("bits", bits)
    if not 2 <= bits <= MOST_BITS:
        raise InputError(f"bits={bits} must be 2 … {MOST_BITS}")


def require_integer(name: str, value: int) -> None:
    """Refuse a number that is no integer."""
    if not isinstance(value, Integral) or isinstance(value, bool):
        raise InputTypeError(f"{name}={value!r} must be an integer")
