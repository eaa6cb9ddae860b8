"""Grader of the project of this page: predict any stack before it is drawn."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy import ndarray

from lab.grading import Case, FaultError, Report, grade_by

from .block_kinds import deep_norm_constants
from .depth_study import depth_study
from .growth import stream_prediction

Predict = Callable[..., Any]
PLACES = {"none": "residual", "before": "pre-norm", "after": "post-norm"}


def grade(predict: Predict) -> Report:
    """Test a prediction of size and spread by hand, by the package and by random stacks.

    Args:
        predict: ``predict(depth, tokens, place, alpha=1.0, beta=1.0)``, two lists of depth + 1
            numbers: root mean square of the stream, and spread of its tokens.

    Returns:
        A report that prints itself, one sentence for each test that fails.
    """
    return grade_by(TESTS, predict)


def _found(predict: Predict, *args: Any) -> tuple[ndarray, ndarray]:
    """What the reader's code returns, once its form is right."""
    found = predict(*args)
    if not isinstance(found, tuple | list) or len(found) != 2:
        raise FaultError("it must return two lists: sizes and spreads.")
    size, spread = (np.asarray(numbers, dtype=float) for numbers in found)
    depth = args[0]
    if size.shape != (depth + 1,) or spread.shape != (depth + 1,):
        raise FaultError(
            f"for {depth} blocks the lists have shapes {size.shape} and {spread.shape}; each "
            f"has {depth + 1} numbers, the first before any block."
        )
    return size, spread


def _compare(found: ndarray, right: ndarray, mistakes: dict[str, ndarray], what: str) -> None:
    if np.allclose(found, right, rtol=1e-6):
        return
    for sentence, wrong in mistakes.items():
        if np.allclose(found, wrong, rtol=1e-6):
            raise FaultError(sentence)
    raise FaultError(f"the last {what} is {found[-1]:.4g}, expected {right[-1]:.4g}.")


def _start(predict: Predict) -> None:
    size, spread = _found(predict, 1, 4, "before")
    if size[0] != 1:
        raise FaultError(f"the first size is {size[0]:.4g}; the tokens start at size 1.")
    mistakes = {
        "spread is the root of r (1 - 1/T): take the root.": np.array([0.75]),
        "spread is the root of r (1 - 1/T), not of r.": np.ones(1),
    }
    _compare(spread[:1], np.sqrt([0.75]), mistakes, "spread at the start")


def _one_block(predict: Predict) -> None:
    """T = 4: attention adds 1/4 to 1, all of it common, so r = 4/5; then the network adds 1."""
    size, spread = _found(predict, 1, 4, "before")
    _compare(size[1:], np.sqrt([2.25]), {
        "S is a mean square; the size is its root.": np.array([2.25]),
        "attention adds an average: its mean square is 1 - r (1 - 1/T), not 1.": np.sqrt([3.0]),
        "a block has two sums; yours has one.": np.sqrt([1.25]),
    }, "size")  # fmt: skip
    delta = [_delta(r) for r in (0.8, 1.0)]
    _compare(spread[1:], _spread(0.8 * 1.25 + delta[0], 2.25), {
        "the network loses part of the angle: use δ(r), not r.": _spread(0.8 * 2.25, 2.25),
        "what the network gives differs too: add s δ(r) to r S.": _spread(1.0, 2.25),
        "the network's δ needs the r that attention has left.": _spread(1.0 + delta[1], 2.25),
    }, "spread")  # fmt: skip


def _spread(difference: float, total: float) -> ndarray:
    return np.sqrt([difference / total * 0.75])


def _delta(r: float) -> float:
    theta = np.arccos(1 - r)
    return float(r - (np.sin(theta) - theta * np.cos(theta)) / np.pi)


def _known(place: str) -> Callable[[Predict], None]:
    """The three stacks of the page, deep enough that small differences must keep digits."""

    def test(predict: Predict) -> None:
        size, spread = _found(predict, 60, 16, place)
        right = stream_prediction(PLACES[place], 60, 16)
        bare, reset = (stream_prediction(PLACES[p], 60, 16)[0] for p in ("before", "after"))
        mistakes = {"after each sum a norm sets S to 1.": bare} if place == "after" else {}
        if place == "none":
            mistakes = {"without a norm a sublayer gives vectors as large as S: s = S.": bare}
        if place == "before":
            mistakes = {"nothing sets S back to 1 before a sublayer; s is 1, S grows.": reset}
        _compare(size, right[0], mistakes, "size")
        if spread[-1] == 0 or not np.isfinite(spread).all():
            raise FaultError(
                "the spread is lost in rounding: for small angles use θ³/3 in place of "
                "sin θ - θ cos θ, and 2 arcsin √(r/2) in place of arccos(1 - r)."
            )
        _compare(spread, right[1], {}, "spread")

    return test


def _branch(predict: Predict) -> None:
    size, _ = _found(predict, 30, 16, "branch")
    before = stream_prediction("pre-norm", 30, 16)[0]
    mistakes = {"on the branch each contribution has size 1, attention's average too.": before}
    _compare(size, np.sqrt(1 + 2 * np.arange(31.0)), mistakes, "size")


def _factors(predict: Predict) -> None:
    """Two bare sums of two tokens that are equal: S ← (α² + β²) S, by hand."""
    size, _ = _found(predict, 1, 1, "none", 2.0, 3.0)
    mistakes = {
        "α multiplies the stream, so α² multiplies its mean square.": np.array([2.0 + 9]),
        "β multiplies the branch, so β² multiplies its mean square.": np.array([4.0 + 3]),
        "α and β are not squared.": np.array([5.0]),
        "α is not used.": np.array([10.0]),
    }
    _compare(size[1:], np.array([13.0]), mistakes, "size")
    _, spread = _found(predict, 24, 16, "after", 10.0, 1.0)
    if spread[-1] < 0.5:
        raise FaultError(
            "with α = 10 most of the difference survives 24 blocks: r needs α² too."
        )


def _measured(predict: Predict) -> None:
    """Twenty-four random blocks of width 64 with DeepNorm's constants."""
    alpha, beta = deep_norm_constants(24)
    (run,) = depth_study([24], ["deep-norm"], gain=beta**2)
    _, spread = _found(predict, 24, 16, "after", alpha, beta**2)
    gap = float(np.abs(np.log(spread / np.array(run["spread"]))).max())
    if gap > 0.3:
        raise FaultError(
            f"random blocks differ from your spread by a factor of {np.exp(gap):.1f}."
        )


START, BLOCK = "before any block", "one pre-norm block, by hand"
KNOWN = {place: f"sixty blocks, norm: {place}" for place in PLACES}
TESTS = (
    Case(START, _start),
    Case(BLOCK, _one_block, (START,)),
    *(Case(KNOWN[place], _known(place), (BLOCK,)) for place in PLACES),
    Case("norm on the branch", _branch, (KNOWN["before"],)),
    Case("α and β", _factors, (KNOWN["none"], KNOWN["after"])),
    Case("random blocks with DeepNorm's constants", _measured, ("α and β",)),
)
