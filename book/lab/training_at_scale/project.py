"""Tests of a reader's step of ZeRO over ranks that talk through a ring."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy import ndarray

from lab.grading import Case, FaultError, Report, advice_on_shapes, grade_by

Step = Callable[..., Any]
LR, BETA1, BETA2, EPS = 0.1, 0.9, 0.95, 1e-8
ON_SHAPES = advice_on_shapes(
    "With n ranks and N weights each rank has moments of ⌈N/n⌉ numbers; pad what does not "
    "divide, and cut the padding off at the end."
)


def grade(step: Step) -> Report:
    """Test a step of Adam with the optimizer's state cut over ranks (stage 1 of ZeRO).

    Args:
        step: ``step(weights, moments, gradients, targets, ring, t, lr)``, lists with an entry
            for each rank: its copy of all weights, its moments (m, v) of ⌈N/n⌉ numbers, the
            gradient of its sum of losses, and its number of targets. It returns new weights
            and moments. ``ring.reduce_scatter(arrays)`` and ``ring.all_gather(parts)`` take
            and give lists with an entry for each rank; the grader counts what they send.

    Returns:
        A report: print it, or read ``passed`` and ``faults``.
    """
    return grade_by(TESTS, step, advice=ON_SHAPES)


class Ring:
    """Collectives of ranks in one process, and the bytes that each rank has sent."""

    def __init__(self) -> None:
        self.sent = 0.0

    def reduce_scatter(self, arrays: list[ndarray]) -> list[ndarray]:
        """Rank r's part, the r-th of n, of the sum."""
        n = len(arrays)
        if len(arrays[0]) % n:
            raise FaultError(f"{len(arrays[0])} numbers do not divide by {n} ranks: pad them.")
        self.sent += (n - 1) / n * arrays[0].nbytes
        return np.split(np.sum(arrays, axis=0), n)

    def all_gather(self, parts: list[ndarray]) -> list[ndarray]:
        """All parts one after another, on every rank."""
        self.sent += (len(parts) - 1) * parts[0].nbytes
        whole = np.concatenate(parts)
        return [whole.copy() for _ in parts]

    def all_reduce(self, arrays: list[ndarray]) -> list[ndarray]:
        """The sum, on every rank."""
        n = len(arrays)
        self.sent += 2 * (n - 1) / n * arrays[0].nbytes
        return [np.sum(arrays, axis=0) for _ in arrays]


def adam(w: ndarray, gradients: list[ndarray], correct: bool = True) -> ndarray:
    """Weights after some steps of Adam in one process."""
    m = v = np.zeros_like(w)
    for t, g in enumerate(gradients, 1):
        m, v = BETA1 * m + (1 - BETA1) * g, BETA2 * v + (1 - BETA2) * g**2
        by = (1 - BETA1**t, 1 - BETA2**t) if correct else (1.0, 1.0)
        w = w - LR * (m / by[0]) / (np.sqrt(v / by[1]) + EPS)
    return w


def _run(
    step: Step, size: int, n: int, targets: list[int], steps: int = 2
) -> tuple[list[ndarray], list, ndarray, list[list[ndarray]], float]:
    """Weights and moments after some steps, the start, the gradients, and what was sent."""
    rng, ring, share = np.random.default_rng(0), Ring(), -(-size // n)
    start = rng.normal(size=size)
    grads = [[rng.normal(size=size) * c for c in targets] for _ in range(steps)]
    weights: Any = [start.copy() for _ in range(n)]
    moments: Any = [(np.zeros(share), np.zeros(share)) for _ in range(n)]
    for t in range(1, steps + 1):
        found = step(weights, moments, [g.copy() for g in grads[t - 1]], targets, ring, t, LR)
        if not isinstance(found, tuple) or len(found) != 2 or len(found[0]) != n:
            raise FaultError("return (weights, moments), lists with an entry for each rank.")
        weights, moments = found
    if any(np.shape(w) != (size,) for w in weights):
        raise FaultError(f"weights must keep their {size} numbers on every rank.")
    return weights, moments, start, grads, ring.sent


def _same(step: Step) -> None:
    targets = [10, 10]
    weights, _, start, grads, _ = _run(step, 8, 2, targets)
    if any(not np.array_equal(w, weights[0]) for w in weights):
        raise FaultError("ranks end with different weights: gather what each has updated.")
    sums = [sum(g) for g in grads]
    n = sum(targets)
    if np.allclose(weights[0], adam(start, [g / n for g in sums]), rtol=1e-9):
        return
    if np.allclose(weights[0], adam(start, [g / n for g in sums], correct=False), rtol=1e-9):
        raise FaultError("the moments are not corrected for their start at 0.")
    if np.allclose(weights[0], start):
        raise FaultError("the weights do not move.")
    raise FaultError("the weights are not those of Adam in one process.")


def _ragged(step: Step) -> None:
    targets = [2, 18]
    weights, _, start, grads, _ = _run(step, 8, 2, targets, steps=2)
    grads_of_means = [
        np.sum([g / c for g, c in zip(gs, targets, strict=True)], axis=0) / 2 for gs in grads
    ]
    right = adam(start, [np.sum(g, axis=0) / sum(targets) for g in grads])
    if np.allclose(weights[0], right, rtol=1e-9):
        return
    if np.allclose(weights[0], adam(start, grads_of_means), rtol=1e-9):
        raise FaultError("means of ranks are averaged: divide the sum by all targets.")
    raise FaultError("with 2 and 18 targets the weights are not those of one process.")


def _moments(step: Step) -> None:
    _, moments, _, _, _ = _run(step, 8, 2, [1, 1])
    for m, v in moments:
        if np.shape(m) != (4,) or np.shape(v) != (4,):
            raise FaultError(
                f"a rank keeps moments of shape {np.shape(m)}; it owns 4 of 8 weights."
            )
        if not np.any(v):
            raise FaultError("the moments that are returned are not updated.")


def _sent(step: Step) -> None:
    *_, sent = _run(step, 8, 2, [1, 1], steps=1)
    least = 2 * (1 / 2) * 64.0
    if sent > least:
        raise FaultError(
            f"a rank sends {sent:.0f} bytes in a step; a reduce-scatter and an all-gather of "
            f"64 bytes are {least:.0f}."
        )
    if sent < least:
        raise FaultError(
            "less is sent than two ranks need: use the ring for what is not yours."
        )


def _pad(step: Step) -> None:
    targets = [3, 1, 2, 4]
    weights, _, start, grads, _ = _run(step, 10, 4, targets)
    right = adam(start, [np.sum(g, axis=0) / sum(targets) for g in grads])
    if not all(np.allclose(w, right, rtol=1e-9) for w in weights):
        raise FaultError("with 10 weights on 4 ranks the result is not that of one process.")


SAME = "Adam in one process"
TESTS = (
    Case(SAME, _same),
    Case("unequal numbers of targets", _ragged, (SAME,)),
    Case("moments of one part", _moments, (SAME,)),
    Case("bytes sent", _sent, (SAME,)),
    Case("a number that does not divide", _pad, (SAME,)),
)
