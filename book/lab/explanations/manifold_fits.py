"""A function on a torus of d dimensions in 16, learned from neighbours: exponents by d.

The learners see points of the space and not the angles. One answers with the value of the
nearest point, the other with a plane through the nearest few.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from mathlm.scaling import fit_power_law
from mathlm.shapes import Float, Int

from .manifold import estimated_dimension, flat_torus

SPACE, SIZES, ASKED = 16, (256, 1024, 4096, 16384), 1000
Target = Callable[[Float[np.ndarray, "N d"]], Float[np.ndarray, " N"]]


def wave_sum(dimension: int, seed: int, waves: int = 8) -> tuple[Target, float]:
    """A smooth function of the angles, of variance 1, and its mean squared slope.

    Computes::

        f(θ) = √(2/J) Σ_j cos(k_j·θ + φ_j),   k_j in {-1, 0, 1}^d,   E|∇f|² = mean |k_j|²
    """
    rng = np.random.default_rng((dimension, seed))
    every = np.stack(np.meshgrid(*[[-1, 0, 1]] * dimension), -1).reshape(-1, dimension)
    half = every[len(every) // 2 + 1 :]  # k and -k are the same wave
    k = rng.permutation(half)[:waves]
    phases = rng.uniform(0, 2 * np.pi, len(k))

    def f(angles: Float[np.ndarray, "N d"]) -> Float[np.ndarray, " N"]:
        return np.asarray(np.cos(angles @ k.T + phases).sum(1) * np.sqrt(2 / len(k)))

    return f, float((k * k).sum(1).mean())


def nearest(
    known: Float[np.ndarray, "N D"], asked: Float[np.ndarray, "Q D"], count: int
) -> tuple[Int[np.ndarray, "Q k"], Float[np.ndarray, "Q k"]]:
    """The nearest known points of each asked one, in order, and their squared distances."""
    square = (known * known).sum(1) - 2 * asked @ known.T + (asked * asked).sum(1)[:, None]
    found = np.argpartition(square, count - 1, axis=1)[:, :count]
    distances = np.take_along_axis(square, found, 1)
    order = np.argsort(distances, axis=1)
    return np.take_along_axis(found, order, 1), np.take_along_axis(distances, order, 1)


def planes(
    near: Float[np.ndarray, "Q k D"],
    values: Float[np.ndarray, "Q k"],
    asked: Float[np.ndarray, "Q D"],
    dimension: int,
) -> Float[np.ndarray, " Q"]:
    """Value at each asked point of a plane of d dimensions through its neighbours.

    The tangent directions are the d along which the neighbours vary most.
    """
    middle = near.mean(1, keepdims=True)
    _, _, axes = np.linalg.svd(near - middle, full_matrices=False)
    tangent = axes[:, :dimension].swapaxes(1, 2)  # (Q, D, d)
    flat = (near - middle) @ tangent  # (Q, k, d)
    slopes = np.linalg.pinv(flat) @ (values - values.mean(1, keepdims=True))[..., None]
    place = (asked[:, None] - middle) @ tangent
    return np.asarray((place @ slopes)[:, 0, 0] + values.mean(1))


def measure(dimension: int, seed: int = 0, sizes: Sequence[int] = SIZES) -> dict[str, Any]:
    """Squared errors of both learners by number of points, and the exponents fitted."""
    rng = np.random.default_rng((seed, dimension))
    f, steepness = wave_sum(dimension, seed)
    angles = rng.uniform(0, 2 * np.pi, (max(sizes) + ASKED, dimension))
    x, y = flat_torus(angles, SPACE, rng), f(angles)
    asked, truth = x[-ASKED:], y[-ASKED:]
    errors: dict[str, list[float]] = {"nearest point": [], "plane": []}
    for n in sizes:
        found, _ = nearest(x[:n], asked, 3 * (dimension + 1))
        guesses = y[found[:, 0]], planes(x[found], y[found], asked, dimension)
        for row, guess in zip(errors.values(), guesses, strict=True):
            row.append(float(np.mean((guess - truth) ** 2)))
    fits = {name: -fit_power_law(sizes, row).exponent for name, row in errors.items()}
    _, square = nearest(x[: max(sizes)], asked, 2)
    near, far = np.sqrt(square).T
    estimate = estimated_dimension(near, far)
    slope = {"steepness": steepness, "estimate": estimate}
    return {"sizes": list(sizes), "errors": errors, "exponents": fits} | slope
