"""Where losses on preferences put the margin of one pair, and how they get there.

A pair is compared over and over, and its first text is preferred with probability p. A margin
is a difference of two implicit rewards, β times the difference of their log-ratios.
"""

import math

import numpy as np

from mathlm.errors import InputError


def dpo_margin(p: float | int) -> float:
    """Margin at which DPO's loss of one pair is least.

    Computes::

        m = log(p / (1 - p))

    Args:
        p: Probability that the first text is preferred, in 0..1.

    Returns:
        m; infinite for a certain preference.

    Raises:
        InputError: If p is no probability.
    """
    require_probability("p", p)
    return math.copysign(math.inf, p - 0.5) if p in (0, 1) else math.log(p / (1 - p))


def conservative_margin(p: float | int, share: float | int) -> float:
    """Margin at which conservative DPO's loss of one pair is least.

    Computes::

        m = log(q / (1 - q)),   q = (1 - ε) p + ε (1 - p)

    Args:
        p: Probability that the first text is preferred.
        share: ε in 0..1/2, share of the labels that are taken to be wrong.

    Raises:
        InputError: If p is no probability, or ε not in 0..1/2.
    """
    require_probability("p", p)
    if not 0 <= share <= 0.5:
        raise InputError(f"share={share} must be in 0..0.5")
    return dpo_margin((1 - share) * p + share * (1 - p))


def robust_margin(p: float | int, share: float | int) -> float:
    """Margin at which robust DPO's loss of one pair is least.

    Computes::

        m = log(q / (1 - q)),   q = (p - ε) / (1 - 2 ε)

    Args:
        p: Probability that the label says so, flips included.
        share: ε below 1/2, share of the labels that are flipped.

    Returns:
        m; infinite where p is beyond what flips leave possible, ε..1 - ε: the loss has no
        minimum there.

    Raises:
        InputError: If p is no probability, or ε not in 0..1/2.
    """
    require_probability("p", p)
    if not 0 <= share < 0.5:
        raise InputError(f"share={share} must be at least 0 and below 0.5")
    won, lost = p - share, 1 - share - p  # of 1 - 2 ε, which cancels; rounding leaves no rest
    if won <= 0 or lost <= 0:
        return math.copysign(math.inf, won - lost)
    return math.log(won / lost)


def ipo_margin(p: float | int) -> float:
    """Margin at which IPO's loss of one pair is least; no preference makes it infinite.

    Computes::

        m = p - 1/2

    Args:
        p: Probability that the first text is preferred.
    """
    require_probability("p", p)
    return p - 0.5


def hinge_margin(p: float | int) -> float:
    """Margin at which the hinge loss of one pair is least: the majority decides.

    Computes::

        m = 1 if p > 1/2,   -1 if p < 1/2

    Args:
        p: Probability that the first text is preferred; at 1/2 every margin from -1 to 1 is as
            good, and 0 is returned.
    """
    require_probability("p", p)
    return float(np.sign(p - 0.5))


def certain_margin(time: float | int, beta: float | int) -> float:
    """Margin of one pair that is always won, after descent on DPO's loss for a while.

    Implements eq-pref-certain::

        m + exp(m) = 1 + 2 β² t

    The policy is a table of logits and starts at the reference; t is the sum of step sizes, and
    the steps are small. For long t the margin is log(2 β² t): it grows for ever, ever slower.

    Args:
        time: t >= 0 [1/loss].
        beta: β > 0.

    Raises:
        InputError: If t is negative, β not positive, or one not finite.
    """
    if not (0 <= time < math.inf and 0 < beta < math.inf):
        raise InputError(f"time={time} must be at least 0, beta={beta} above 0, both finite")
    goal = 1 + 2 * beta**2 * time
    m = math.log(goal)  # not below the root: exp(m) alone reaches the goal
    for _ in range(60):  # Newton from above on a convex function: it never passes the root
        m -= (m + math.exp(m) - goal) / (1 + math.exp(m))
    return m


def require_probability(name: str, value: float | int) -> None:
    """Refuse what is no probability."""
    if not 0 <= value <= 1:
        raise InputError(f"{name}={value} must be in 0..1")


__all__ = [
    "certain_margin",
    "conservative_margin",
    "dpo_margin",
    "hinge_margin",
    "ipo_margin",
    "robust_margin",
]
