"""Positions as tables and as rotations of queries and keys."""

import math

import numpy as np
from numpy import ndarray

from ...errors import InputError
from ..arrays import Numbers, finite_array, gradient_array, integer_array

FURTHEST = 2**53  # beyond it float64 skips whole numbers
PAIRINGS = ("half-split", "interleaved")


def sinusoidal_table(length: int, d_model: int) -> ndarray:
    """Sines and cosines of the position, at wavelengths from 2π to 20000π.

    Implements eq-sinusoid::

        P[t, 2i] = sin(t ω_i),   P[t, 2i+1] = cos(t ω_i),   ω_i = 10000^(-2i/D)

    Args:
        length: Positions t = 0 ... length - 1.
        d_model: D, an even number.

    Returns:
        P (length, D); each row has the length √(D/2).

    Raises:
        InputError: If ``d_model`` is odd or ``length`` is less than 1.

    References:
        Vaswani et al. (2017), arXiv:1706.03762, section 3.5.
    """
    if length < 1:
        raise InputError(f"length={length} must be at least 1: positions count from 0")
    angles = np.outer(np.arange(length), rotary_frequencies(d_model))
    return np.stack((np.sin(angles), np.cos(angles)), -1).reshape(length, d_model)


def sinusoidal_shift(k: int, d_model: int) -> ndarray:
    """The matrix that takes the vector of any position to the one k tokens further.

    Implements eq-sinusoid-shift::

        P[t + k] = M_k P[t]
        M_k = 2 × 2 blocks [[cos kω_i, sin kω_i], [-sin kω_i, cos kω_i]] on the diagonal

    It does not depend on t, and it is orthogonal: M_kᵀ = M_{-k}.

    Args:
        k: Tokens further [tokens]; negative = back.
        d_model: D, an even number.

    Returns:
        M_k (D, D).

    Raises:
        InputError: If ``d_model`` is odd or k is not finite.
    """
    if not abs(k) < math.inf:
        raise InputError(f"shift k={k} must be a finite number of tokens")
    angles = k * rotary_frequencies(d_model)
    shift = np.zeros((d_model, d_model))
    even = np.arange(0, d_model, 2)
    shift[even, even] = shift[even + 1, even + 1] = np.cos(angles)
    shift[even, even + 1], shift[even + 1, even] = np.sin(angles), -np.sin(angles)
    return shift


def rotary_frequencies(d_head: int, base: float | int = 10_000.0) -> ndarray:
    """Angles by which rotary embeddings turn each pair of features in one step.

    Computes::

        ω_i = base^(-2i/K),   i = 0 ... K/2 - 1

    Args:
        d_head: K, an even number.
        base: Ratio of the slowest to the fastest wavelength, nearly.

    Returns:
        ω (K/2,) [radians/token], from 1 down.

    Raises:
        InputError: If ``d_head`` is odd or ``base`` is not positive and finite.
    """
    if d_head < 2 or d_head % 2:
        raise InputError(f"width {d_head} must be even and positive: features are paired")
    if not 0.0 < base < math.inf:
        raise InputError(f"base={base} of rotary wavelengths must be positive and finite")
    return base ** (-np.arange(0, d_head, 2) / d_head)


def rotary(
    x: ndarray, positions: Numbers, base: float | int = 10_000.0, pairing: str = "half-split"
) -> tuple[ndarray, tuple]:
    """Turn each pair of features of a query or key by an angle that grows with its position.

    Implements eq-rotary-pair::

        (x_i, x_j) → (x_i cos θ - x_j sin θ, x_j cos θ + x_i sin θ),   θ = position ω_i
        j = i + K/2 (half-split),   or the pairs (0, 1), (2, 3), ... (interleaved)

    Lengths stay, and ⟨R_m q, R_n k⟩ = ⟨q, R_{n-m} k⟩ depends on n - m only.

    Args:
        x: Queries or keys ``(*batch, T, K)``.
        positions: Of the vectors [tokens], integers ≥ 0 of shape (T,) or ``(*batch, T)``.
        base: See :func:`rotary_frequencies`.
        pairing: "half-split" or "interleaved".

    Returns:
        y, of the shape of x, and the cache that :func:`rotary_backward` needs.

    Raises:
        InputTypeError: If positions are not integers.
        InputError: If K is odd, a position is negative, shapes do not fit or the pairing is not
            known.

    References:
        Su et al. (2021), arXiv:2104.09864, eqs. (13)-(16).
    """
    x = finite_array(x, "x")
    places = integer_array(positions, FURTHEST, "position")
    vectors = x.shape[:-1]
    if x.ndim < 1 or places.shape != vectors[len(vectors) - places.ndim :]:
        raise InputError(
            f"positions have shape {places.shape}, but x {x.shape} has vectors of shape "
            f"{vectors}: give one position for each, or for each of the last axes"
        )
    angles = places[..., None] * rotary_frequencies(x.shape[-1], base)  # (T, K/2)
    return _turn(x, angles, pairing), (angles, x.shape, pairing)


def rotary_backward(dy: Numbers, cache: tuple) -> ndarray:
    """Pull the gradient of the loss back through :func:`rotary`: turn it back.

    Implements eq-rotary-backward::

        dx = Rᵀ dy = R_{-position} dy

    Args:
        dy: Gradient of the loss in y.
        cache: Second output of :func:`rotary`.

    Returns:
        dx; positions have no gradient.

    Raises:
        InputError: If dy has not the shape of y.
    """
    angles, shape, pairing = cache
    return _turn(gradient_array(dy, shape), -angles, pairing)


def half_split_order(d_head: int) -> ndarray:
    """Indices that take interleaved features to half-split ones.

    Implements eq-notation-rotary::

        order = (0, 2, 4, ..., 1, 3, 5, ...),   x_half_split = x_interleaved[order]

    ``np.argsort(order)`` goes back.

    Raises:
        InputError: If ``d_head`` is odd.
    """
    _ = rotary_frequencies(d_head)  # refuses odd widths
    return np.concatenate((np.arange(0, d_head, 2), np.arange(1, d_head, 2)))


def _turn(x: ndarray, angles: ndarray, pairing: str) -> ndarray:
    """Rotate the pairs of the last axis by the angles (..., K/2)."""
    if pairing not in PAIRINGS:
        raise InputError(f"pairing={pairing!r} is not one of {', '.join(map(repr, PAIRINGS))}")
    half = x.shape[-1] // 2
    first, second = (
        (slice(half), slice(half, None)) if pairing == "half-split" else
        (slice(0, None, 2), slice(1, None, 2))
    )  # fmt: skip
    cos, sin = np.cos(angles), np.sin(angles)
    a, b, y = x[..., first], x[..., second], np.empty_like(x)
    y[..., first], y[..., second] = a * cos - b * sin, b * cos + a * sin
    return y
