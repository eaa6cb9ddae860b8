"""Reference solution of the project of this page: coverage, answers needed, cheapest plan."""

import numpy as np
from numpy import ndarray


def coverage(p: ndarray, k: float) -> float:
    """Share of questions of which at least one of k answers is right."""
    with np.errstate(divide="ignore"):
        return float(-np.expm1(k * np.log1p(-p)).mean())


def needed(p: ndarray, target: float) -> float:
    """Least whole number of answers whose coverage reaches a target; infinity if none does."""
    if (p > 0).mean() <= target and (p == 1).mean() < target:
        return float("inf")  # approached at best, never reached
    low, high = 0, 1
    while coverage(p, high) < target:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if coverage(p, middle) >= target else (middle, high)
    return float(high)


def cheapest(models: list, questions: float, target: float) -> tuple[int, float]:
    """Index of the model of least compute in all, and that compute [FLOP]."""
    costs = [
        m["training"] + questions * needed(m["p"], target) * m["answering"] for m in models
    ]
    return int(np.argmin(costs)), float(min(costs))
