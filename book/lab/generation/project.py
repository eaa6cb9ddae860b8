"""Grader of the project of this page: nucleus sampling for a batch of rows."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy import ndarray

from lab.grading import Case, FaultError, Report, advice_on_shapes, grade_by

Sample = Callable[..., Any]
GRID = (np.arange(1000) + 0.5) / 1000  # uniform numbers that cut [0, 1) evenly
ROW = np.array([0.05, 0.5, 0.1, 0.2, 0.15])  # not sorted
ON_SHAPES = advice_on_shapes("logits are (B, V) and u is (B,): compare with u[:, None].")


def grade(sample: Sample) -> Report:
    """Test an implementation of nucleus sampling.

    It is called with uniform numbers that cut the unit interval evenly, so that the share of
    each token is its probability to a thousandth.

    Args:
        sample: ``sample(logits, P, temperature, u)`` returns token ids (B,), for logits (B, V)
            and uniform numbers u (B,).

    Returns:
        A report: print it, or read ``passed`` and ``faults``.
    """
    return grade_by(TESTS, sample, advice=ON_SHAPES)


def shares(sample: Sample, p: ndarray, P: float, temperature: float = 1.0) -> ndarray:
    """How often each token is drawn, once the form of the result is right."""
    logits = np.log(np.tile(p, (len(GRID), 1))) + 3.0
    old, u = logits.copy(), GRID.copy()
    found = np.asarray(sample(logits, P, temperature, u))
    if not (np.array_equal(logits, old, equal_nan=True) and np.array_equal(u, GRID)):
        raise FaultError("your code changes its arguments in place.")
    if found.shape != GRID.shape or found.dtype.kind not in "iu":
        raise FaultError(
            f"the result must be {len(GRID)} integers, one a row; yours has shape "
            f"{found.shape} and type {found.dtype}."
        )
    return np.bincount(found, minlength=len(p)) / len(GRID)


def right(p: ndarray, P: float) -> ndarray:
    """The nucleus by its definition: the fewest likeliest tokens that reach P."""
    kept, mass = np.zeros(len(p)), 0.0
    for i in sorted(range(len(p)), key=lambda i: (-p[i], i)):
        if mass >= P - 1e-12:
            break
        kept[i], mass = p[i], mass + p[i]
    return kept / mass


def _same(found: ndarray, expected: ndarray) -> bool:
    return bool(np.abs(found - expected).max() < 0.004)


def _whole(sample: Sample) -> None:
    found = shares(sample, ROW, 1.0)
    if not _same(found, ROW):
        raise FaultError(f"with P = 1 the shares are {found}; the distribution is {ROW}.")
    two = np.log(np.array([[0.9, 0.1], [0.1, 0.9]]))
    if np.asarray(sample(two, 1.0, 1.0, np.array([0.5, 0.5]))).tolist() != [0, 1]:
        raise FaultError("rows with other logits are not drawn from their own distributions.")


def _nucleus(sample: Sample) -> None:
    found, P = shares(sample, ROW, 0.8), 0.8
    if _same(found, right(ROW, P)):
        return
    if _same(found, np.array([0, 0.5, 0, 0.2, 0]) / 0.7):
        raise FaultError(
            "the token that reaches P is left out: keep a token if the sum *before* it is "
            "below P."
        )
    if (found > 0).tolist() == [False, True, False, True, True]:
        raise FaultError(
            f"the right tokens are kept, with the shares {found}: divide by their sum."
        )
    raise FaultError(f"for {ROW} and P = 0.8 the shares are {found}, not {right(ROW, P)}.")


def _sure(sample: Sample) -> None:
    found = shares(sample, np.array([0.02, 0.95, 0.03]), 0.9)
    if not _same(found, np.array([0, 1.0, 0])):
        raise FaultError(
            f"the best token alone has 0.95, more than P = 0.9; it must be kept, and nothing "
            f"else. The shares are {found}."
        )


def _ties(sample: Sample) -> None:
    found = shares(sample, np.full(4, 0.25), 0.5)
    if not _same(found, np.array([0.5, 0.5, 0, 0])):
        raise FaultError(
            f"of four equal tokens P = 0.5 keeps the first two; the shares are {found}. Sort "
            "with kind='stable'."
        )


def _impossible(sample: Sample) -> None:
    with np.errstate(divide="ignore"):
        found = shares(sample, np.array([0.0, 0.75, 0.25]), 1.0)
    if not _same(found, np.array([0, 0.75, 0.25])):
        raise FaultError(f"a token of probability 0 (logit -∞) is drawn, or breaks: {found}.")
    logits = np.log(np.array([[0.5, 0.5]]))
    if sample(logits, 1.0, 1.0, np.array([0.5]))[0] != 1:
        raise FaultError(
            "u = 0.5 belongs to the second half: take the first sum that is *above* u."
        )


def _temperature(sample: Sample) -> None:
    p = np.array([0.6, 0.3, 0.1])
    warm = p**0.5 / (p**0.5).sum()
    found = shares(sample, p, 0.7, 2.0)
    if _same(found, right(p, 0.7)):
        raise FaultError("the temperature is not used.")
    if not _same(found, right(warm, 0.7)):
        raise FaultError(
            "the nucleus must be that of the tempered distribution: first divide the logits by "
            f"the temperature, then truncate. The shares are {found}."
        )


def _large(sample: Sample) -> None:
    logits = np.array([[1000.0, 999.0], [-1000.0, -1001.0]])
    found = np.asarray(sample(logits, 1.0, 1.0, np.array([0.8, 0.7])))
    if found.tolist() != [1, 0]:
        raise FaultError("logits of ±1000 overflow: subtract the largest of each row first.")


ALL, NUCLEUS = "the whole distribution", "the nucleus"
TESTS = (
    Case(ALL, _whole),
    Case(NUCLEUS, _nucleus, (ALL,)),
    Case("a sure best token", _sure, (ALL,)),
    Case("equal tokens", _ties, (NUCLEUS,)),
    Case("impossible tokens", _impossible, (ALL,)),
    Case("temperature first", _temperature, (NUCLEUS,)),
    Case("large logits", _large, (ALL,)),
)
