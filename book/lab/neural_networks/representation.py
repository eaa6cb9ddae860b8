"""What networks can represent, measured: errors of interpolants, pieces of random networks."""

from collections.abc import Callable, Sequence
from itertools import pairwise

import numpy as np
from numpy import ndarray

from mathlm.reference.network.constructions import interpolating_network
from mathlm.reference.network.linear import multilayer_perceptron
from mathlm.reference.network.pieces import linear_pieces

LINE = np.linspace(0, 1, 4001)
SEEDS = 10


def wave(x: ndarray) -> ndarray:
    """One period of a sine on [0, 1]."""
    return np.sin(2 * np.pi * x)


def jump(x: ndarray) -> ndarray:
    """0 up to one half, 1 beyond."""
    return (x > 0.5).astype(float)


def even_error(g: Callable[[ndarray], ndarray], m: int) -> float:
    """Root mean square error on [0, 1] of the interpolant of g with m ReLU units."""
    knots = np.linspace(0, 1, m + 1)
    network = interpolating_network(knots, g(knots))
    y, _ = multilayer_perceptron(LINE[:, None], network, ["relu", "identity"])
    return float(np.sqrt(np.mean((y[:, 0] - g(LINE)) ** 2)))


def random_error(g: Callable[[ndarray], ndarray], m: int, seed: int) -> float:
    """The same for m ReLU units with random kinks and the best output weights."""
    rng, x = np.random.default_rng(seed), LINE[::8]
    sides, knots = rng.choice([-1.0, 1.0], size=m), rng.uniform(size=m)
    features = np.maximum(sides * (x[:, None] - knots), 0)
    A = np.column_stack([features, np.ones(len(x))])
    best = np.linalg.lstsq(A, g(x), rcond=None)[0]
    return float(np.sqrt(np.mean((A @ best - g(x)) ** 2)))


def approximation_errors(widths: Sequence[int]) -> dict[str, dict[str, list[float]]]:
    """Errors at each width: target -> kinks evenly spaced, or at random (median of ten)."""
    return {
        g.__name__: {
            "even kinks": [even_error(g, m) for m in widths],
            "random kinks": [
                float(np.median([random_error(g, m, seed) for seed in range(SEEDS)]))
                for m in widths
            ],
        }
        for g in (wave, jump)
    }


def random_pieces(depth: int, width: int, seed: int) -> int:
    """Linear pieces on [-10, 10] of a ReLU network with normal weights and biases."""
    rng, sizes = np.random.default_rng(seed), [1] + [width] * depth + [1]
    weights = [
        (rng.normal(size=(o, i)) * np.sqrt(2 / i), rng.normal(size=o))
        for i, o in pairwise(sizes)
    ]
    return len(linear_pieces(weights, -10, 10)) - 1


def mean_pieces(depth: int, units: int, draws: int = 20) -> float:
    """Mean number of pieces of ``units`` hidden units in ``depth`` layers."""
    return float(np.mean([random_pieces(depth, units // depth, s) for s in range(draws)]))


__all__ = [
    "approximation_errors",
    "even_error",
    "jump",
    "mean_pieces",
    "random_error",
    "random_pieces",
    "wave",
]
