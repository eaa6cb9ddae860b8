"""Grader of the project of this page: which model, and how many answers to a question."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy import ndarray

from lab.grading import Case, FaultError, Report, grade_by

Coverage = Callable[[ndarray, float], float]
Needed = Callable[[ndarray, float], float]
Cheapest = Callable[[list, float, float], tuple[int, float]]


def grade(coverage: Coverage, needed: Needed, cheapest: Cheapest) -> Report:
    """Test a coverage, the answers that a target needs, and the cheapest plan.

    Args:
        coverage: ``coverage(p, k)``: share of questions of which one of k answers is right.
        needed: ``needed(p, target)``: least whole k with at least that coverage; infinity if
            none has it.
        cheapest: ``cheapest(models, questions, target)``: index of the cheapest model and the
            compute in all [FLOP]. A model is a dict with ``p``, ``training`` [FLOP] and
            ``answering`` [FLOP for one answer].

    Returns:
        A report: print it, or read ``passed`` and ``faults``.
    """
    return grade_by(TESTS, coverage, needed, cheapest)


def _number(name: str, value: Any) -> float:
    if np.ndim(value) != 0:
        raise FaultError(f"{name} has shape {np.shape(value)}; it is one number.")
    return float(value)


def _by_hand(coverage: Coverage, *_: Any) -> str | None:
    p = np.array([1.0, 0.5, 0.0])
    found = _number("coverage(p, k)", coverage(p, 2))
    if np.isclose(found, 1 - (1 - p.mean()) ** 2):
        return "1 - (1 - mean p)^k treats all questions alike: average over them last."
    if np.isclose(found, (p**2).mean()):
        return "p^k is the probability that all k answers are right; one is enough."
    if not np.isclose(found, 7 / 12):
        return f"p = 1, 1/2, 0 and two answers give (1 + 3/4 + 0) / 3 = 0.583, not {found:.3f}."
    return None


def _tiny(coverage: Coverage, *_: Any) -> str | None:
    found = _number("coverage(p, k)", coverage(np.full(5, 1e-18), 1e18))
    if not np.isclose(found, 1 - np.exp(-1), rtol=1e-6):
        return (
            f"p = 1e-18 and 1e18 answers give 1 - 1/e = 0.632; you have {found:.3f}: 1 - p is "
            "rounded to 1, so take log1p(-p) and expm1."
        )
    return None


def _needed(_: Coverage, needed: Needed, __: Any) -> str | None:
    p = np.array([0.5, 0.1])
    found = _number("needed(p, target)", needed(p, 0.8))
    exact = next(k for k in range(1, 99) if 1 - ((1 - p) ** k).mean() >= 0.8)
    if found == exact - 1:
        return f"{found:.0f} answers do not reach the target yet: round up."
    if found != exact:
        return f"p = 1/2, 1/10 need {exact} answers for 0.8; you say {found:g}."
    if needed(np.array([0.9]), 0.5) != 1:
        return "where one answer reaches the target, one is needed."
    if needed(np.array([0.5, 0.0]), 0.8) != np.inf:
        return "with half of the questions at p = 0 no number of answers reaches 0.8: infinity."
    if needed(np.array([0.5, 0.0]), 0.5) != np.inf or needed(np.array([0.5]), 1.0) != np.inf:
        return (
            "p = 1/2, 0 come near the coverage 1/2 and never reach it, nor does p = 1/2 reach "
            "1: infinity. Rounded, they do with 54 answers, so compare before you search."
        )
    if needed(np.array([1.0, 0.0]), 0.5) != 1:
        return "p = 1, 0 reach the coverage 1/2 with one answer."
    big = needed(np.array([1e-6]), 0.5)
    return None if abs(big - 693_147) <= 1 else f"p = 1e-6 needs 693,147 answers, not {big:g}."


def _models() -> list[dict]:
    return [
        {"p": np.full(4, 0.01), "training": 1e3, "answering": 1.0},
        {"p": np.full(4, 0.5), "training": 1e5, "answering": 10.0},
        {"p": np.zeros(4), "training": 1.0, "answering": 1.0},
    ]


def _cheapest(_: Coverage, __: Needed, cheapest: Cheapest) -> str | None:
    for questions, best, total in ((10, 0, 1e3 + 10 * 69), (1e4, 1, 1e5 + 1e4 * 10)):
        place, cost = cheapest(_models(), questions, 0.5)
        if place == 2:
            return "model 2 never reaches the target: it costs infinitely much."
        if np.isclose(cost, questions * 10):  # model 1 is cheaper if its training is free
            return "the training is paid too, once."
        if place != best:
            return f"for {questions:g} questions model {best} is cheapest; you say {place}."
        if not np.isclose(cost, total):
            return f"training + questions · k · answering is {total:g} FLOP; you say {cost:g}."
    return None


TESTS = (
    Case("coverage: by hand", _by_hand),
    Case("coverage: tiny probabilities", _tiny, ("coverage: by hand",)),
    Case("needed: the least whole number", _needed),
    Case("cheapest: training and answering", _cheapest),
)
