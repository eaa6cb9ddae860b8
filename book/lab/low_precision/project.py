"""Tests of a reader's rounding to 8 bits with a scale for each block."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy import ndarray

from lab.grading import Case, FaultError, Report, advice_on_shapes, grade_by

Quantize = Callable[..., Any]
ON_SHAPES = advice_on_shapes("With blocks as one more axis, scales are (..., blocks, 1).")


def grade(quantize: Quantize) -> Report:
    """Test an implementation of E4M3 with a scale for each block.

    Args:
        quantize: ``quantize(x, block)`` returns the rounded array and the scales, of shape
            (..., blocks).

    Returns:
        A report: print it, or read ``passed`` and ``faults``.
    """
    return grade_by(TESTS, quantize, advice=ON_SHAPES)


def numbers() -> ndarray:
    """The finite numbers of E4M3, in order: 126 above 0, their negatives, and 0."""
    normal = [2.0**e * (1 + k / 8) for e in range(-6, 9) for k in range(8)]
    positive = [k * 2.0**-9 for k in range(1, 8)] + normal[:-1]  # the last pattern is NaN
    return np.array([-x for x in reversed(positive)] + [0.0] + positive)


def _found(quantize: Quantize, x: ndarray, block: int) -> tuple[ndarray, ndarray]:
    """What is returned, once its form is right and the argument is untouched."""
    copy = x.copy()
    found = quantize(x, block)
    if not isinstance(found, tuple) or len(found) != 2:
        raise FaultError(f"return the pair (rounded, scales), not {type(found).__name__}.")
    if not np.array_equal(x, copy):
        raise FaultError("your code changes its argument in place.")
    y, s = (np.asarray(a) for a in found)
    if y.shape != x.shape:
        raise FaultError(f"the rounded array has shape {y.shape}; it must have {x.shape}.")
    expected = (*x.shape[:-1], x.shape[-1] // block)
    if s.shape != expected:
        raise FaultError(f"the scales have shape {s.shape}; they must have {expected}.")
    if not (np.isfinite(y).all() and np.isfinite(s).all()):
        raise FaultError("something is NaN or infinite: a block of zeros has no logarithm.")
    return y, s


def _scale(quantize: Quantize) -> None:
    for most, right in ((448.0, 1.0), (449.0, 2.0), (1000.0, 4.0), (3.5, 2.0**-7)):
        _, s = _found(quantize, np.array([[most, most / 2]]), 2)
        if s[0, 0] == right:
            continue
        if s[0, 0] == most / 448:
            raise FaultError("the scale is max|x| / 448: it must be a power of two.")
        if s[0, 0] * 448 < most:
            raise FaultError(f"a block with the largest number {most:g} overflows: round up.")
        raise FaultError(
            f"the largest number {most:g} needs the scale {right:g}, not {s[0, 0]:g}."
        )


def _kept(quantize: Quantize) -> None:
    x = np.append(numbers(), 448.0)[None]  # the last one fixes the scale at 1
    y, _ = _found(quantize, x, x.shape[1])
    small = np.abs(x) < 2.0**-6
    if not np.array_equal(y[~small], x[~small]):
        raise FaultError("a number of the format is not kept; it has 3 bits after the point.")
    if not np.array_equal(y, x):
        raise FaultError("subnormal numbers are not kept: below 2^-6 the spacing stays 2^-9.")


def _nearest(quantize: Quantize) -> None:
    held, rng = numbers(), np.random.default_rng(0)
    x = np.append(rng.normal(size=999) * 2.0 ** rng.integers(-10, 7, size=999), 448.0)
    x = np.clip(x, -448, 448)[None]
    y, _ = _found(quantize, x, 1000)
    if not np.isin(y, held).all():
        raise FaultError("a result is no number of E4M3.")
    best = np.abs(x[..., None] - held).min(-1)
    if (np.abs(y - x) > best).any():
        raise FaultError("a number does not go to the nearest one: do not cut digits off.")


def _ties(quantize: Quantize) -> None:
    x = np.array([[1.0625, 1.1875, -1.0625, 448.0]])  # between 1, 1.125 and 1.25
    y, _ = _found(quantize, x, 4)
    if y[0, :3].tolist() != [1.0, 1.25, -1.0]:
        raise FaultError(
            f"1.0625 and 1.1875 lie in the middle and go to the even 1 and 1.25, not to "
            f"{y[0, 0]:g} and {y[0, 1]:g}."
        )


def _blocks(quantize: Quantize) -> None:
    x = np.array([[[1e6, 1.0, 0.3, 0.2], [0.0, 0.0, -1e-9, 2e-9]]])
    y, s = _found(quantize, x, 2)
    right = np.array([[[4096.0, 2.0**-10], [1.0, 2.0**-37]]])
    if len(np.unique(s)) == 1:
        raise FaultError("all blocks have one scale: each has its own.")
    if s[0, 1, 0] == 1.0 and not np.array_equal(s, right):
        raise FaultError(f"scales of [1e6, 1], [0.3, 0.2], [0, 0], [-1e-9, 2e-9] are {right}.")
    if y[0, 1, :2].any():
        raise FaultError("a block of zeros must stay zero.")
    if y[0, 0, 1] != 0.0:
        raise FaultError("next to 1e6 the number 1 is below half the least one and becomes 0.")
    if (np.abs(y - x)[0, :, 2:] > np.abs(x)[0, :, 2:] / 16).any():
        raise FaultError("a block is not scaled back: return s · fl(x / s).")


SCALE, KEPT = "the scale of one block", "numbers of the format stay"
TESTS = (
    Case(SCALE, _scale),
    Case(KEPT, _kept, (SCALE,)),
    Case("others go to the nearest", _nearest, (KEPT,)),
    Case("ties go to even", _ties, (KEPT,)),
    Case("several blocks", _blocks, (SCALE,)),
)
