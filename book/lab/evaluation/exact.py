"""Coverage and bias by sums over every count that can come out: no sampling, no error."""

from collections.abc import Callable

import numpy as np
from numpy import ndarray

from mathlm.evaluation import pass_at_k

Interval = Callable[[int, int], tuple[float, float]]


def binomial(n: int, p: float) -> ndarray:
    """Chance of each count 0 to n of n independent trials, (n + 1,)."""
    k = np.arange(n + 1)
    if p in (0, 1):
        return (k == n * p).astype(float)
    steps = np.log((n - k[:-1]) / (k[:-1] + 1))  # log of C(n, k + 1) / C(n, k)
    log_choose = np.concatenate([[0.0], np.cumsum(steps)])
    return np.exp(log_choose + k * np.log(p) + (n - k) * np.log1p(-p))


def coverage(interval: Interval, n: int, p: float) -> float:
    """Chance that the interval of a count holds the share that it was drawn from.

    Args:
        interval: Its ends, for k successes of n.
        n: Questions.
        p: The true share.
    """
    ends = np.array([interval(k, n) for k in range(n + 1)])
    inside = (ends[:, 0] <= p) & (p <= ends[:, 1])
    return float(binomial(n, p)[inside].sum())


def mean_of(estimate: Callable[[int], float], n: int, p: float) -> float:
    """Expectation of an estimate that is made from the count of n trials."""
    return float(binomial(n, p) @ [estimate(c) for c in range(n + 1)])


def expected_pass(n: int, p: float, k: int) -> tuple[float, float]:
    """Expectation of pass@k without bias, and of the plug-in, for a question.

    Args:
        n: Samples.
        p: Chance that a sample is right.
        k: Answers that are looked at, at most n.
    """
    unbiased = mean_of(lambda c: pass_at_k(n, c, k), n, p)
    return unbiased, mean_of(lambda c: 1 - (1 - c / n) ** k, n, p)
