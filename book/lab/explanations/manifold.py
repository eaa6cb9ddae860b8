"""Data on a curved surface of few dimensions inside a space of many, and what they foretell."""

import math

import numpy as np

from mathlm.errors import InputError
from mathlm.scaling.power_law import Numbers, positive
from mathlm.shapes import Float


def approximation_exponent(dimension: float | int, smoothness: float | int = 2) -> float:
    """How fast the squared error of N pieces falls on a surface of d dimensions.

    Implements eq-explain-manifold::

        h ~ N^(-1/d),   error ~ h^s,   error² ~ N^(-2s/d)

    With constant pieces s = 1; with linear ones s = 2, if the function bends smoothly.

    Args:
        dimension: d of the surface, not of the space around it.
        smoothness: Order s of the error in the size h of a piece.

    Returns:
        2s/d.

    Raises:
        InputError: If either is not positive and finite.

    References:
        Sharma and Kaplan (2020), arXiv:2004.10802; Bahri et al. (2021), arXiv:2102.06701.
    """
    if not (0 < dimension < math.inf and 0 < smoothness < math.inf):
        raise InputError(
            f"dimension={dimension} and smoothness={smoothness} must be positive and finite"
        )
    return 2 * smoothness / dimension


def flat_torus(
    angles: Float[np.ndarray, "N d"], space: int, rng: np.random.Generator
) -> Float[np.ndarray, "N D"]:
    """Points of a d-dimensional torus in a turned space of D dimensions.

    Computes::

        x = Q (cos θ_1, sin θ_1, ..., cos θ_d, sin θ_d)ᵀ,   QᵀQ = I,  Q (D, 2d) random

    Lengths along the surface are those of the angles: it has no edge and is nowhere
    stretched, but lies in no subspace of d dimensions.

    Args:
        angles: θ [radians].
        space: D >= 2d.
        rng: Draws Q.

    Returns:
        The points.

    Raises:
        InputError: If D is below 2d.
    """
    d = angles.shape[1]
    if space < 2 * d:
        raise InputError(f"space={space} must be at least {2 * d}, two axes for each angle")
    q, _ = np.linalg.qr(rng.normal(size=(space, 2 * d)))
    return np.concatenate([np.cos(angles), np.sin(angles)], axis=1) @ q.T


def neighbour_distance(points: Numbers, dimension: int) -> Float[np.ndarray, " N"]:
    """Mean squared distance to the nearest of n points that lie at random on a flat torus.

    Computes::

        E h² = Γ(1 + 2/d) (n V_d / (2π)^d)^(-2/d),   V_d = π^(d/2) / Γ(1 + d/2)

    for many points: none lies in a ball of radius h with probability exp(-n V_d h^d / (2π)^d).

    Args:
        points: Numbers n.
        dimension: d.

    Returns:
        One mean for each n.

    Raises:
        InputError: If a number is not positive.
    """
    d = positive("dimension", [dimension])[0]
    ball = math.pi ** (d / 2) / math.gamma(1 + d / 2)
    per_volume = positive("points", points) * ball / (2 * math.pi) ** d
    return math.gamma(1 + 2 / d) * per_volume ** (-2 / d)


def estimated_dimension(first: Numbers, second: Numbers) -> float:
    """Dimension of a cloud of points from the distances to their two nearest neighbours.

    Computes::

        d = (N - 1) / Σ_i log(r_2i / r_1i)

    where the ratios are Pareto's with exponent d if the density is the same all around.

    Args:
        first: Distance of each point to its nearest neighbour.
        second: To the second nearest.

    Returns:
        The estimate, unbiased for independent ratios.

    Raises:
        InputError: If a distance is not positive, the second smaller than the first, or
            every ratio is 1.

    References:
        Facco et al. (2017), Scientific Reports 7, 12140.
    """
    near, far = positive("first", first), positive("second", second)
    if near.shape != far.shape or (far < near).any():
        raise InputError("second must hold one distance for each of first, and none smaller")
    total = float(np.log(far / near).sum())
    if len(near) < 2 or total == 0:
        raise InputError(f"{len(near)} ratios with the sum {total} of logarithms say nothing")
    return (len(near) - 1) / total
