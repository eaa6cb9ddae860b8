"""Layer normalization as geometry: a plane, a sphere, and the directions that it forgets."""

import numpy as np
from numpy import ndarray

from mathlm.errors import InputError
from mathlm.reference.arrays import Numbers, finite_array
from mathlm.shapes import Float


def sphere_projection(x: Numbers) -> ndarray:
    """Project onto the plane of mean 0, then onto the sphere of radius √D.

    Implements eq-layer-norm-sphere::

        x̂ = √D x P / ‖x P‖,   P = I - 1 1ᵀ / D

    This is layer normalization with ε = 0, gain 1 and shift 0.

    Args:
        x: Vectors (..., D).

    Returns:
        x̂, of the shape of x.

    Raises:
        InputError: If x is empty, has no axis, a number is not finite, or a vector has equal
            entries: its projection is 0, which has no direction. Vectors of any size do.
    """
    points = finite_array(x, "x")
    if points.ndim == 0:
        raise InputError("x is a single number; give vectors, (..., D)")
    largest = np.abs(points).max(-1, keepdims=True)
    points = points / np.maximum(largest, np.finfo(float).tiny)  # no square overflows
    centered = points - points[..., :1]
    centered = centered - centered.mean(-1, keepdims=True)
    length = np.linalg.norm(centered, axis=-1, keepdims=True)
    if not length.all():
        where = tuple(int(i) for i in np.argwhere(length[..., 0] == 0)[0])
        raise InputError(
            f"the entries of the vector at {where} are equal: no direction is left"
        )
    return np.sqrt(points.shape[-1]) * centered / length


def layer_norm_jacobian(
    x: Float[ndarray, " D"], eps: float | int = 1e-5
) -> Float[ndarray, "D D"]:
    """Jacobian of layer normalization at one vector, before gain and shift.

    Implements eq-layer-norm-jacobian::

        J = (P - x̂ᵀ x̂ / D) / √(var + ε),   P = I - 1 1ᵀ / D

    Symmetric. It sends the vector of ones to 0 and, with ε = 0, x̂ as well.

    Args:
        x: One vector.
        eps: Added to the variance.

    Returns:
        J[i, j] = ∂x̂_i / ∂x_j.

    Raises:
        InputError: If x is no vector, a number is not finite or too large to be squared,
            ``eps`` is negative or not finite, or 0 while the entries of x are equal.
    """
    x = finite_array(x, "x")
    if x.ndim != 1:
        raise InputError(f"x has shape {x.shape}; give one vector, (D,)")
    centered = x - x[0] - (x - x[0]).mean()
    with np.errstate(over="ignore"):
        square = float((centered**2).mean()) + eps
    if not (eps >= 0 and 0 < square < np.inf):
        raise InputError(
            f"variance + eps = {square} with eps={eps} must be positive and finite, eps >= 0"
        )
    D, xhat = len(x), centered / np.sqrt(square)
    return (np.eye(D) - 1 / D - np.outer(xhat, xhat) / D) / np.sqrt(square)


__all__ = ["layer_norm_jacobian", "sphere_projection"]
