"""A solution of the project of the second page of chapter 6: a start for any activation."""

import math
from collections.abc import Callable, Sequence

import numpy as np
from numpy import ndarray


def variance(phi: Callable[[ndarray], ndarray]) -> float:
    """One over E φ(z)² for normal z, by a sum over a fine grid."""
    z = np.linspace(-9, 9, 20_001)
    density = np.exp(-(z**2) / 2) / math.sqrt(2 * math.pi)
    return float(1 / ((phi(z) ** 2 * density).sum() * (z[1] - z[0])))


def orthogonal(rng: np.random.Generator, n_out: int, n_in: int) -> ndarray:
    """Orthonormal rows or columns, whichever are fewer, drawn uniformly."""
    long, short = max(n_out, n_in), min(n_out, n_in)
    Q, R = np.linalg.qr(rng.normal(size=(long, short)))
    Q = Q * np.sign(np.diag(R))
    return Q if n_out >= n_in else Q.T


def start(
    rng: np.random.Generator,
    x: ndarray,
    widths: Sequence[int],
    phi: Callable[[ndarray], ndarray],
) -> list[ndarray]:
    """Orthogonal matrices, each scaled on what the scaled ones before it make of x."""
    weights, h = [], x
    for width in widths:
        W = orthogonal(rng, width, h.shape[1])
        z = h @ W.T
        size = np.sqrt((z**2).mean())
        weights.append(W / size)
        h = phi(z / size)
    return weights


__all__ = ["orthogonal", "start", "variance"]
