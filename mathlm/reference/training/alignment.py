"""Alignment over a few listed completions: what is best, and what estimates of it are worth."""

import math
from collections.abc import Callable

import numpy as np
from numpy import ndarray

from ...errors import InputError
from ...shapes import Float
from ..arrays import finite_array, require_same_shape
from ..statistics.information import Numbers, require_distribution


def tilted_distribution(
    p_ref: Numbers, rewards: Numbers, beta: float | int
) -> Float[ndarray, " Y"]:
    """The policy of most mean reward, less β times its divergence from a reference.

    Computes::

        π*(y) = π_ref(y) exp(r(y) / β) / Σ_y' π_ref(y') exp(r(y') / β)

    Args:
        p_ref: π_ref.
        rewards: r.
        beta: β > 0 [reward/nat].

    Returns:
        π*.

    Raises:
        InputError: If π_ref is no distribution, the shapes differ, or β is not positive.
    """
    p, r = _both(p_ref, rewards)
    require_positive("beta", beta)
    weights = p * np.exp((r - r[p > 0].max()) / beta, where=p > 0, out=np.zeros_like(r))
    return weights / weights.sum()


def tilted_value(p_ref: Numbers, rewards: Numbers, beta: float | int) -> float:
    """What the tilted policy reaches: its mean reward less β times its divergence.

    Computes::

        β log Z = β log Σ_y π_ref(y) exp(r(y) / β)

    Args:
        p_ref: π_ref.
        rewards: r.
        beta: β > 0 [reward/nat].

    Raises:
        InputError: As :func:`tilted_distribution`.
    """
    p, r = _both(p_ref, rewards)
    require_positive("beta", beta)
    best = r[p > 0].max()
    return float(best + beta * math.log(p[p > 0] @ np.exp((r[p > 0] - best) / beta)))


def divergence_estimate(kind: str, p: Numbers, p_ref: Numbers) -> Float[ndarray, " Y"]:
    """What an estimate of KL(π ‖ π_ref) says of each completion that π may draw.

    Computes::

        k1 = -log ρ,   k2 = (log ρ)² / 2,   k3 = ρ - 1 - log ρ,   with ρ = π_ref(y) / π(y)

    Args:
        kind: "k1", "k2" or "k3".
        p: π, positive.
        p_ref: π_ref, positive.

    Raises:
        InputError: If a distribution is none or has a 0, or there is no such estimate.

    References:
        Schulman (2020), Approximating KL divergence.
    """
    forms: dict[str, Callable[[ndarray], ndarray]] = {
        "k1": lambda log_ratio: -log_ratio,
        "k2": lambda log_ratio: log_ratio**2 / 2,
        "k3": lambda log_ratio: np.expm1(log_ratio) - log_ratio,
    }
    if kind not in forms:
        raise InputError(f"kind={kind!r} must be one of {list(forms)}")
    pi, ref = require_distribution(p, "p"), require_distribution(p_ref, "p_ref")
    require_same_shape(pi, ref, ("p", "p_ref"))
    if not (pi > 0).all() or not (ref > 0).all():
        raise InputError("p and p_ref must be positive: a ratio of 0 has no logarithm")
    return forms[kind](np.log(ref) - np.log(pi))


def best_of_n(p: Numbers, rewards: Numbers, n: int) -> Float[ndarray, " Y"]:
    """How often each completion is the best of n independent draws.

    Computes::

        P(y) = p(y) / p(r = r(y)) · [F(r(y))ⁿ - F(r(y)⁻)ⁿ]

    F(r) is the chance of a reward of r at most, F(r⁻) that of less. Completions of the same
    reward are chosen as often, in proportion, as they are drawn.

    Args:
        p: What is drawn from.
        rewards: r.
        n: Draws, at least 1.

    Raises:
        InputError: If p is no distribution, the shapes differ, or n is below 1.
    """
    pi, r = _both(p, rewards)
    if n < 1:
        raise InputError(f"n={n} must be at least 1")
    below = np.array([pi[r < value].sum() for value in r])
    equal = np.array([pi[r == value].sum() for value in r])
    share = np.divide(pi, equal, out=np.zeros_like(pi), where=pi > 0)
    return share * ((below + equal) ** n - below**n)


def best_of_n_divergence_bound(n: int) -> float:
    """The most that choosing the best of n moves away from what is drawn from.

    Computes::

        KL(best of n ‖ p) ≤ log n - (n - 1) / n

    It is the divergence itself where no two completions have the same reward and each is rare.

    Args:
        n: Draws, at least 1.

    Returns:
        The bound [nats].

    Raises:
        InputError: If n is below 1.

    References:
        Beirami et al. (2024), arXiv:2401.01879.
    """
    if n < 1:
        raise InputError(f"n={n} must be at least 1")
    return math.log(n) - (n - 1) / n


def _both(p: Numbers, rewards: Numbers) -> tuple[ndarray, ndarray]:
    found, r = require_distribution(p, "p"), finite_array(rewards, "rewards")
    require_same_shape(found, r, ("p", "rewards"))
    return found, r


def require_positive(name: str, value: float | int) -> None:
    """Refuse what is not above 0 and finite."""
    if not 0 < value < math.inf:
        raise InputError(f"{name}={value} must be positive and finite")
