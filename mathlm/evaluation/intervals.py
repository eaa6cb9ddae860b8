"""How sure a share of right answers is, and how many questions a difference needs."""

import math
from statistics import NormalDist
from typing import NamedTuple, SupportsIndex

import numpy as np
from numpy.typing import ArrayLike

from ..checks import python_number, require_counts
from ..errors import InputError


def wilson_interval(
    successes: SupportsIndex, trials: SupportsIndex, confidence: float = 0.95
) -> tuple[float, float]:
    """Interval of a share, by the score test: the shares that the count does not contradict.

    Implements eq-eval-score-test, eq-eval-wilson::

        |k/n - p| ≤ z sqrt(p (1 - p) / n)   solved for p
        p = (k + z²/2 ± z sqrt(k (n - k)/n + z²/4)) / (n + z²),   z = Φ⁻¹((1 + c)/2)

    Unlike k/n ± z times its standard error, it stays within 0 and 1 and has a width when all
    or none succeed.

    Args:
        successes: k, 0 to n; an integer of Python, NumPy or torch.
        trials: n > 0, an integer too.
        confidence: c in (0, 1).

    Returns:
        The lower and the upper end.

    Raises:
        InputError: If a number is out of range.

    Example:
        >>> low, high = wilson_interval(5, 10)
        >>> round(low, 3), round(high, 3)
        (0.237, 0.763)

    References:
        Wilson (1927), Probable inference, the law of succession, and statistical inference.
    """
    k, n = python_number(successes), python_number(trials)
    require_counts(1, trials=n)
    require_counts(0, successes=k)
    if k > n:
        raise InputError(f"successes={k} of trials={n}: at most all succeed")
    z = _z(confidence)
    center = k + z * z / 2
    half = z * math.sqrt(k * (n - k) / n + z * z / 4)
    low, high = (center - half) / (n + z * z), (center + half) / (n + z * z)
    return (0.0 if k == 0 else low), (1.0 if k == n else high)


class Comparison(NamedTuple):
    """Two models on the same questions.

    Args:
        difference: Share of right answers of the first, less that of the second.
        interval: Of the difference.
        disagreement: Share of the questions that only one of them answers rightly.
        p_value: Chance of a split of those questions as uneven as this, or more, if both were
            equally good: the exact two-sided sign test (McNemar's).
    """

    difference: float
    interval: tuple[float, float]
    disagreement: float
    p_value: float


def compare_paired(first: ArrayLike, second: ArrayLike, confidence: float = 0.95) -> Comparison:
    """Whether one model answers more questions than another, question by question.

    Implements eq-eval-paired, eq-eval-mcnemar::

        δ = (b - c)/n,   se² = ((b + c)/n - δ²)/n,   δ ± z se
        p = min(1, 2 P(K ≤ min(b, c))),   K ~ Binomial(b + c, 1/2)

    b questions are answered by the first alone, c by the second alone. Where both are right or
    both wrong the questions say nothing about the difference: the more the models agree, the
    better it is known than from two separate shares. With a handful of disagreements the
    interval can be too narrow, and with none it has no width; p is exact for any number.

    Args:
        first: Whether the first model is right on each question, (n,) of bool.
        second: The same of the second, on the same questions in the same order.
        confidence: Of the interval, in (0, 1).

    Returns:
        The comparison.

    Raises:
        InputError: If the rows are not bool, not equally long, or empty.

    Example:
        >>> found = compare_paired([True] * 5, [False] * 5)
        >>> found.difference, found.p_value  # five heads or five tails: 2 / 2⁵
        (1.0, 0.0625)

    References:
        McNemar (1947), Note on the sampling error of the difference between correlated
        proportions or percentages.
    """
    a, b = np.asarray(first), np.asarray(second)
    if a.dtype != bool or b.dtype != bool or a.shape != b.shape or a.ndim != 1 or not len(a):
        raise InputError(
            f"first is {a.dtype} {a.shape} and second {b.dtype} {b.shape}: give two equally "
            "long rows of bool, one entry a question"
        )
    n, only_a, only_b = len(a), int((a & ~b).sum()), int((b & ~a).sum())
    either = only_a + only_b
    difference = (only_a - only_b) / n
    spread = math.sqrt(max(0.0, either / n - difference**2) / n) * _z(confidence)
    tail = sum(math.comb(either, k) for k in range(min(only_a, only_b) + 1))
    p_value = min(1.0, 2 * tail / 2**either)
    interval = (difference - spread, difference + spread)
    return Comparison(difference, interval, either / n, p_value)


def questions_needed(
    difference: float,
    disagreement: float,
    *,
    confidence: float = 0.95,
    power: float = 0.8,
) -> int:
    """How many questions two models need in common before a difference shows.

    Implements eq-eval-questions::

        n = ((z_c sqrt(d) + z_w sqrt(d - δ²)) / δ)²,   z_c = Φ⁻¹((1 + c)/2), z_w = Φ⁻¹(w)

    From the normal approximation of :func:`compare_paired`: without a difference its estimate
    has the variance d/n, with it (d - δ²)/n. For two models on questions of their own, d is
    p₁ (1 - p₁) + p₂ (1 - p₂) + δ².

    Args:
        difference: δ, of the shares of right answers, not 0.
        disagreement: d, share of the questions that only one of them answers; at least |δ|.
        confidence: c, one less the chance of a difference where there is none.
        power: w, chance of seeing the difference that is there, above (1 - c)/2.

    Returns:
        n, rounded up.

    Raises:
        InputError: If a number is out of range.

    Example:
        >>> questions_needed(0.1, disagreement=0.1, power=0.5)  # 1.96² · 0.1 / 0.1² = 38.4
        39

    References:
        Connor (1987), Sample size for testing differences in proportions for the paired-sample
        design.
    """
    delta = abs(difference)
    if not 0 < delta <= disagreement <= 1:
        raise InputError(
            f"difference={difference} of questions with disagreement={disagreement}: need "
            "0 < |difference| <= disagreement <= 1"
        )
    if not (1 - confidence) / 2 < power < 1:
        raise InputError(f"power={power} must be above {(1 - confidence) / 2:g} and below 1")
    reach = NormalDist().inv_cdf(power) * math.sqrt(disagreement - delta**2)
    n = ((_z(confidence) * math.sqrt(disagreement) + reach) / delta) ** 2
    return math.ceil(n - 1e-9)


def _z(confidence: float) -> float:
    if not 0 < confidence < 1:
        raise InputError(f"confidence={confidence} must be between 0 and 1, such as 0.95")
    return NormalDist().inv_cdf((1 + confidence) / 2)
