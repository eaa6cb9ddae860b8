"""The Bradley-Terry model by maximum likelihood: strengths, or a linear reward."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...checks import require_counts, require_nonnegative
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
        return np.asarray(features) @ self.weights


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

    Example:
        >>> chosen, rejected = [[1.0], [1.0], [1.0], [0.0]], [[0.0], [0.0], [0.0], [1.0]]
        >>> fit_linear_reward(chosen, rejected).weights.round(4)  # 3 of 4 prefer more: ln 3
        array([1.0986])
    """
    x, y = np.asarray(chosen, dtype=np.float64), np.asarray(rejected, dtype=np.float64)
    if x.shape != y.shape or x.ndim != 2 or 0 in x.shape:
        raise InputError(f"chosen {x.shape} and rejected {y.shape} must both be (N, F)")
    if not (np.isfinite(x).all() and np.isfinite(y).all()):
        raise InputError("a feature is NaN or infinite")
    require_nonnegative(ridge=ridge)
    rows = x - y
    if ridge == 0:
        _require_rank(rows)
    units = np.sqrt((rows**2).sum(0) / 4 + ridge)  # so that those of features do not matter
    scaled, penalty = rows / units, ridge / units**2
    v, steps = maximize(
        lambda v: log_likelihood(scaled, v),
        lambda v: slope_and_curvature(scaled, v),
        len(units),
        penalty,
        None if ridge else lambda *found: _require_mixed(rows, *(d / units for d in found)),
    )
    information = slope_and_curvature(scaled, v)[1] + np.diag(penalty)
    covariance = np.linalg.inv(information) / np.outer(units, units)
    return LinearReward(v / units, covariance, log_likelihood(scaled, v), steps)


def maximize(
    value: Callable[[Array], float],
    derivatives: Callable[[Array], tuple[Array, Array]],
    size: int,
    ridge: float | int | Array = 0.0,
    watch: Callable[[Array, Array], None] | None = None,
) -> tuple[Array, int]:
    """The w at which a concave function less Σ λ w²/2 is largest, by Newton's method from 0.

    A step that would lower the value is halved until it does not.

    Args:
        value: The function.
        derivatives: Its slope and its curvature, the negative of the second derivatives.
        size: Of w.
        ridge: λ >= 0, for all numbers of w, or for each, (size,).
        watch: Sees w and the next step; may raise.

    Returns:
        w, and how many steps it took.

    Raises:
        InputError: If the steps do not become small.
    """

    def penalized(w: Array) -> float:
        return value(w) - float((ridge * w**2).sum()) / 2

    w = np.zeros(size)
    for step in range(1, STEPS + 1):
        slope, bend = derivatives(w)
        bend, slope = bend + ridge * np.eye(size), slope - ridge * w
        move = np.asarray(np.linalg.lstsq(bend, slope)[0], dtype=np.float64)
        if watch is not None:
            watch(w, move)
        w, moved = _climb(penalized, w, move)
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


def slope_and_curvature(rows: Array, w: Array) -> tuple[Array, Array]:
    """Derivatives of Σ log σ(w·x); the curvature is the Fisher information."""
    z = rows @ w
    wrong, right = np.exp(-np.logaddexp(0.0, z)), np.exp(-np.logaddexp(0.0, -z))
    return wrong @ rows, (rows * (wrong * right)[:, None]).T @ rows


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


SHOWN = 8  # items in a message


@dataclass(frozen=True, eq=False)
class Strengths:
    """What :func:`fit_strengths` returns.

    Args:
        values: Strength of each item, which sum to 0 [nats].
        covariance: Inverse of the Fisher information on vectors that sum to 0, (N, N); with a
            prior, of the posterior's curvature.
        log_likelihood: At the maximum, without the prior [nats].
        steps: Iterations that it took.
    """

    values: Array
    covariance: Array
    log_likelihood: float
    steps: int

    @property
    def standard_errors(self) -> Array:
        """Of each strength, about the mean of all."""
        return np.sqrt(np.diag(self.covariance))

    def difference(self, i: int, j: int) -> tuple[float, float]:
        """By how much i is stronger than j, and the standard error of that."""
        c = self.covariance
        variance = c[i, i] + c[j, j] - 2 * c[i, j]
        return float(self.values[i] - self.values[j]), float(np.sqrt(max(variance, 0.0)))


def count_wins(winners: ArrayLike, losers: ArrayLike, items: int) -> Array:
    """How often each item beat each other one.

    Args:
        winners: Number of the winner of each comparison.
        losers: Number of the loser.
        items: N, how many items there are.

    Returns:
        (N, N); row i, column j: wins of i over j.

    Raises:
        InputError: If a number is out of range, or an item is compared with itself.

    Example:
        >>> count_wins([0, 0, 1], [1, 1, 0], items=2)
        array([[0., 2.],
               [1., 0.]])
    """
    won, lost = np.asarray(winners), np.asarray(losers)
    if won.shape != lost.shape or won.ndim != 1:
        raise InputError(
            f"winners {won.shape} and losers {lost.shape} must be equally long rows"
        )
    both = np.concatenate((won, lost))
    if len(both) and not (
        np.issubdtype(both.dtype, np.integer) and both.min() >= 0 and both.max() < items
    ):
        raise InputError(
            f"items are numbered 0 to {items - 1}; found {both.min()} to {both.max()}"
        )
    if (won == lost).any():
        i = int((won == lost).argmax())
        raise InputError(f"comparison {i} is of item {won[i]} with itself")
    wins = np.zeros((items, items))
    np.add.at(wins, (won.astype(int), lost.astype(int)), 1.0)
    return wins


def fit_strengths(wins: ArrayLike, prior_std: float | int | None = None) -> Strengths:
    """Strengths of items under which the comparisons are likeliest, by Newton's method.

    Computes::

        max_s Σ_ij w_ij log σ(s_i - s_j) - Σ_i s_i² / (2 τ²),   Σ_i s_i = 0

    Only differences of strengths have a meaning; their sum is set to 0. Without a prior there
    is a single maximum exactly if no set of items never loses to the rest. A tie may count as
    half a win for each.

    Args:
        wins: w, (N, N): how often i beat j, at least 0, with a zero diagonal.
        prior_std: τ, of a normal prior [nats]; None = none.

    Returns:
        The strengths, with their covariance.

    Raises:
        InputError: If the counts are not such, or there is no single maximum; it names a set
            of items that never lost, or was never compared.

    Example:
        >>> found = fit_strengths([[0, 3], [1, 0]])  # 3 of 4 won: strengths ln 3 apart
        >>> round(float(found.values[0] - found.values[1]), 4)
        1.0986
    """
    w = require_wins(wins)
    if prior_std is None:
        require_connected(w)
    elif not prior_std > 0:
        raise InputError(f"prior_std={prior_std} must be positive")
    precision = 0.0 if prior_std is None else float(prior_std) ** -2
    s, steps = maximize(
        lambda v: _log_likelihood(w, v), lambda v: _slope_and_curvature(w, v), len(w), precision
    )
    s = s - s.mean()
    mean = np.full(w.shape, 1 / len(w))
    information = _slope_and_curvature(w, s)[1] + precision * np.eye(len(w))
    covariance = np.linalg.inv(information) - mean / (1 + precision)
    return Strengths(s, covariance, _log_likelihood(w, s), steps)


def fit_strengths_by_mm(
    wins: ArrayLike, tolerance: float = 1e-12, most: int = 100_000
) -> tuple[Array, int]:
    """The same strengths by Zermelo's iteration, which never lowers the likelihood.

    Computes::

        π_i ← W_i / Σ_j n_ij / (π_i + π_j),   s = log π - mean

    with the wins W_i of i and the comparisons n_ij of i and j; each step maximizes a function
    that touches the log-likelihood at π from below. It needs no second derivatives, and many
    more steps than Newton's method.

    Args:
        wins: As for :func:`fit_strengths`.
        tolerance: Largest change of a strength in the last step [nats].
        most: Steps at most.

    Returns:
        The strengths, and how many steps it took.

    Raises:
        InputError: As :func:`fit_strengths`, or if the steps are not enough, or below 1.

    Example:
        >>> values, steps = fit_strengths_by_mm([[0, 3], [1, 0]])  # ln 3 apart
        >>> round(float(values[0] - values[1]), 4)
        1.0986
    """
    require_counts(1, most=most)
    w = require_wins(wins)
    require_connected(w)
    n, won, s = w + w.T, w.sum(1), np.zeros(len(w))
    for step in range(1, most + 1):
        pi = np.exp(s)
        new = np.log(won / (n / (pi[:, None] + pi)).sum(1))
        new -= new.mean()
        change, s = np.abs(new - s).max(), new
        if change <= tolerance:
            return s, step
    raise InputError(
        f"after {most} steps a strength still changes by {change:.3g}: use fit_strengths, or "
        "allow more steps"
    )


def require_wins(wins: ArrayLike) -> Array:
    """A table of wins as float64.

    Raises:
        InputError: If it is none.
    """
    w = np.asarray(wins, dtype=np.float64)
    if w.ndim != 2 or w.shape[0] != w.shape[1] or len(w) < 2:
        raise InputError(
            f"wins {w.shape} must be square, one row and column for each of N >= 2"
        )
    if not np.isfinite(w).all() or (w < 0).any() or np.diag(w).any():
        raise InputError("wins must be finite counts of at least 0, with a zero diagonal")
    return w


def require_connected(wins: Array) -> None:
    """Refuse comparisons without a single maximum: some items never lose to the others.

    Their strength could grow without end, and the likelihood would not fall.

    Raises:
        InputError: Naming the smallest such set, or one that is never compared with the rest.
    """
    reach = _reached(wins > 0)
    mutual = reach & reach.T
    if mutual.all():
        return
    groups = {tuple(np.flatnonzero(row).tolist()) for row in mutual}
    never_lost = [g for g in groups if reach[:, g[0]].sum() == len(g)]
    best = min(never_lost, key=lambda g: (len(g), g))
    rest = [i for i in range(len(wins)) if i not in best]
    met = wins[np.ix_(best, rest)].any()
    why = "never lost to any other" if met else "were never compared with any other"
    shown = ", ".join(map(str, best[:SHOWN])) + (" …" if len(best) > SHOWN else "")
    raise InputError(
        f"of the {len(wins)} items, those with the numbers {{{shown}}} {why}: the likelihood "
        "has no single maximum, as it does not fall when they get stronger; collect "
        "comparisons that they lose, leave them out, or give a prior_std to fit_strengths"
    )


def _reached(edges: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Which items can be reached from which along wins, themselves included."""
    reach = edges | np.eye(len(edges), dtype=bool)
    for _ in range(len(edges).bit_length()):
        steps = reach.astype(np.float32)
        reach = steps @ steps > 0
    return reach


def _slope_and_curvature(wins: Array, s: Array) -> tuple[Array, Array]:
    """Derivatives of the log-likelihood; the curvature along the free constant is 1."""
    lost = np.exp(-np.logaddexp(0.0, s[:, None] - s))  # P(j beats i)
    surprise = wins * lost
    weight = (wins + wins.T) * lost * lost.T
    laplacian = np.diag(weight.sum(1)) - weight
    return surprise.sum(1) - surprise.sum(0), laplacian + 1 / len(s)


def _log_likelihood(wins: Array, s: Array) -> float:
    return float(-(wins * np.logaddexp(0.0, s - s[:, None])).sum())
