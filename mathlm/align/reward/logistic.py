"""Logistic regression on differences: the linear reward, and the core of every strength.

References:
    Albert and Anderson (1984), On the existence of maximum likelihood estimates in logistic
        regression models, Biometrika 71.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...errors import InputError

Array = NDArray[np.float64]
STEPS = 100
NOISE = 1e-13  # by which a sum of likelihoods may seem to fall at its maximum
CLOSE = 1e-10  # largest Newton step that counts as none, beside the size of the solution


@dataclass(frozen=True, eq=False)
class LinearReward:
    """What :func:`fit_linear_reward` returns.

    Args:
        weights: w, reward for a unit of each feature [nats/unit].
        covariance: Inverse of the Fisher information and the ridge.
        log_likelihood: At the maximum, without the penalty [nats].
        steps: Iterations that it took.
    """

    weights: Array
    covariance: Array
    log_likelihood: float
    steps: int

    @property
    def standard_errors(self) -> Array:
        """Of each weight."""
        return np.sqrt(np.diag(self.covariance))

    def __call__(self, features: ArrayLike) -> Array:
        """Rewards of items with features (…, F)."""
        return np.asarray(features, dtype=np.float64) @ self.weights


def fit_linear_reward(
    chosen: ArrayLike, rejected: ArrayLike, ridge: float | int = 0.0
) -> LinearReward:
    """A reward that is linear in features, under which the choices are likeliest.

    Computes::

        max_w Σ_n log σ(wᵀ (x_n - x'_n)) - λ/2 ‖w‖²

    It is a logistic regression on differences without a constant, in which every label is 1.
    Features that chosen and rejected share cannot matter.

    Args:
        chosen: x, features of what was preferred, (N, F).
        rejected: x', features of what was not, (N, F).
        ridge: λ >= 0.

    Returns:
        The weights, with their covariance.

    Raises:
        InputError: If the shapes do not fit, a number is not finite, or there is no maximum:
            some combination of features never differs, or it tells every choice.
    """
    x, y = np.asarray(chosen, dtype=np.float64), np.asarray(rejected, dtype=np.float64)
    if x.shape != y.shape or x.ndim != 2 or 0 in x.shape:
        raise InputError(f"chosen {x.shape} and rejected {y.shape} must both be (N, F)")
    if not (np.isfinite(x).all() and np.isfinite(y).all()):
        raise InputError("a feature is NaN or infinite")
    if not 0 <= ridge < np.inf:
        raise InputError(f"ridge={ridge} must be at least 0 and finite")
    rows = x - y
    if ridge == 0:
        _require_rank(rows)
    strength = float(ridge)
    w, steps = maximize(
        lambda v: log_likelihood(rows, v) - strength / 2 * float(v @ v),
        lambda v: slope_and_curvature(rows, v, strength),
        rows.shape[1],
        None if strength else lambda *directions: _require_mixed(rows, *directions),
    )
    information = slope_and_curvature(rows, w, strength)[1]
    covariance = np.asarray(np.linalg.inv(information), dtype=np.float64)
    return LinearReward(w, covariance, log_likelihood(rows, w), steps)


def maximize(
    value: Callable[[Array], float],
    derivatives: Callable[[Array], tuple[Array, Array]],
    size: int,
    watch: Callable[[Array, Array], None] | None = None,
) -> tuple[Array, int]:
    """The w at which a concave function is largest, by Newton's method from 0.

    A step that would lower the value is halved until it does not.

    Args:
        value: The function.
        derivatives: Its slope and its curvature, the negative of the second derivatives.
        size: Of w.
        watch: Sees w and the next step; may raise.

    Returns:
        w, and how many steps it took.

    Raises:
        InputError: If the steps do not become small.
    """
    w = np.zeros(size)
    for step in range(1, STEPS + 1):
        slope, bend = derivatives(w)
        move = np.asarray(np.linalg.lstsq(bend, slope, rcond=None)[0], dtype=np.float64)
        if watch is not None:
            watch(w, move)
        w, moved = _climb(value, w, move)
        if np.abs(moved).max() <= CLOSE * (1 + np.abs(w).max()):
            return w, step
    raise InputError(f"no maximum was found in {STEPS} steps: give a ridge or a prior")


def _climb(value: Callable[[Array], float], w: Array, move: Array) -> tuple[Array, Array]:
    """A step, halved until it does not lower the value by more than noise, and the move."""
    now = value(w)
    for halvings in range(40):
        moved = move / 2**halvings
        if value(w + moved) >= now - NOISE * (1 + abs(now)):
            break
    return w + moved, moved


def slope_and_curvature(rows: Array, w: Array, ridge: float) -> tuple[Array, Array]:
    """Derivatives of Σ log σ(w·x) - ridge/2 ‖w‖²; the curvature is the Fisher information."""
    z = rows @ w
    wrong, right = np.exp(-np.logaddexp(0.0, z)), np.exp(-np.logaddexp(0.0, -z))
    bend = (rows * (wrong * right)[:, None]).T @ rows
    return wrong @ rows - ridge * w, bend + ridge * np.eye(len(w))


def log_likelihood(rows: Array, w: Array) -> float:
    """Σ log σ(w·x) [nats]."""
    return float(-np.logaddexp(0.0, -(rows @ w)).sum())


def _require_rank(rows: Array) -> None:
    """Refuse features of which some combination never differs."""
    same = np.flatnonzero(~rows.any(0))
    if len(same):
        raise InputError(
            f"feature {same[0]} never differs between chosen and rejected: comparisons say "
            "nothing about it; leave it out, or give a ridge"
        )
    scaled = rows / np.linalg.norm(rows, axis=0)
    rank = np.linalg.matrix_rank(scaled)
    if rank < rows.shape[1]:
        raise InputError(
            f"the differences of {rows.shape[1]} features have rank {rank}: some feature is "
            "a combination of others; leave it out, or give a ridge"
        )


def _require_mixed(rows: Array, *directions: Array) -> None:
    """Refuse choices that one direction explains without a single exception."""
    for direction in directions:
        margins = rows @ direction
        size = np.abs(margins).max()
        if size > 0 and margins.min() >= -1e-9 * size:
            shown = np.round(direction / np.abs(direction).max(), 3).tolist()
            raise InputError(
                f"the weights {shown} put none of the {len(rows)} choices on the wrong side: "
                "the likelihood grows without end along them; give a ridge, or more comparisons"
            )


__all__ = ["LinearReward", "fit_linear_reward"]
