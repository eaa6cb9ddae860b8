"""A world in which the true reward is known and curved, and the best of n by a linear one.

Answers have F features, independent and standard normal under the reference; the first is the
logarithm of their length. People like longer answers, up to a point:

    gold(z) = w·z - (excess / 2) (z_1² - 1)

A reward that is linear in z is learned from comparisons of answers of the reference, where few
are too long. Everything about the best of n by such a reward can be predicted. Used by
over_optimization.py.
"""

import math
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray

from mathlm.align import best_of_n_mean, fit_linear_reward
from mathlm.errors import InputError

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Taste:
    """What people want of an answer with features z.

    Args:
        weights: w, worth of each feature [nats]; the first is length.
        excess: How fast too much length becomes a fault [nats].
    """

    weights: Array
    excess: float

    def gold(self, z: Array) -> Array:
        """w·z - (excess / 2) (z_1² - 1): mean 0 under the reference."""
        return z @ self.weights - self.excess / 2 * (z[..., 0] ** 2 - 1)

    def answers(self, number: int, seed: int = 0) -> Array:
        """Features of answers of the reference, (number, F)."""
        return np.random.default_rng([seed, 1]).normal(size=(number, len(self.weights)))

    def compared(self, number: int, seed: int = 0) -> tuple[Array, Array]:
        """Features of chosen and rejected, by Bradley-Terry judges of the gold reward."""
        z = self.answers(2 * number, seed).reshape(2, number, -1)
        difference = self.gold(z[0]) - self.gold(z[1])
        drawn = np.random.default_rng([seed, 2]).logistic(size=number)
        won = (drawn < difference)[:, None]
        return np.where(won, z[0], z[1]), np.where(won, z[1], z[0])


def standard_taste(excess: float | int = 0.8) -> Taste:
    """Length and three other features."""
    return Taste(np.array([1.0, 0.3, 0.3, 0.3]), float(excess))


def normal_maximum(n: int) -> tuple[float, float]:
    """Mean of the largest of n standard normal numbers, and of its square.

    Computes::

        m_n = ∫ t n φ(t) Φ(t)ⁿ⁻¹ dt,   s_n = ∫ t² n φ(t) Φ(t)ⁿ⁻¹ dt
    """
    if n < 1:
        raise InputError(f"n={n} must be at least 1")
    t = torch.linspace(-12, 12, 24_001, dtype=torch.float64)
    log_density = -t.square() / 2 - math.log(2 * math.pi) / 2 + math.log(n)
    density = torch.exp(log_density + (n - 1) * torch.special.log_ndtr(t)) * (t[1] - t[0])
    return float(density @ t), float(density @ t.square())


def predicted(taste: Taste, proxy: ArrayLike, n: int) -> tuple[float, float]:
    """Mean proxy and gold reward of the best of n by a linear proxy, without a sample.

    Implements eq-reward-predicted::

        E[proxy] = ‖v‖ m_n,   E[gold] = w·u m_n - (excess / 2) u_1² (s_n - 1),   u = v / ‖v‖

    The proxy v·z sees u·z alone, whose best of n has the moments of :func:`normal_maximum`;
    across u nothing changes.
    """
    v = np.asarray(proxy, dtype=np.float64)
    size = float(np.linalg.norm(v))
    if not size > 0:
        raise InputError("a proxy without weights prefers nothing")
    (mean, square), u = normal_maximum(n), v / size
    gold = float(taste.weights @ u) * mean - taste.excess / 2 * float(u[0] ** 2) * (square - 1)
    return size * mean, gold


def measured(scores: ArrayLike, gold: ArrayLike, n: int) -> tuple[float, float]:
    """Mean score and gold reward of the best of n by the scores, over subsets of answers."""
    s, g = (torch.as_tensor(np.asarray(x), dtype=torch.float64) for x in (scores, gold))
    return float(best_of_n_mean(s, s, n)), float(best_of_n_mean(s, g, n))


def resampled(
    chosen: Array, rejected: Array, members: int, ridge: float, seed: int = 0
) -> Array:
    """Weights (M, F) of linear rewards, each from comparisons drawn again with repetition."""
    rng = np.random.default_rng([seed, 3])
    drawn = rng.integers(len(chosen), size=(members, len(chosen)))
    return np.array([fit_linear_reward(chosen[i], rejected[i], ridge).weights for i in drawn])
