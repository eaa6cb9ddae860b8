"""Three surfaces on which optimizers are compared, with their gradients by hand.

Each function takes points in its last axis, so a whole grid or trajectory is one call. Points
that are not finite are refused (InputError); a value that overflows is infinite.
"""

from collections.abc import Sequence

import numpy as np
from numpy import ndarray

from mathlm.errors import InputError
from mathlm.reference.arrays import Value, finite_array
from mathlm.shapes import Float


def quadratic(
    theta: Float[ndarray, "*batch D"], curvatures: Float[ndarray, " D"] | Sequence
) -> Value:
    """Sum of squares along the axes, each with a curvature of its own.

    Implements eq-quadratic-loss::

        L(θ) = ½ Σ_i λ_i θ_i²

    Args:
        theta: Points θ.
        curvatures: Second derivatives λ; a negative one makes a saddle.

    Raises:
        InputError: If the number of curvatures is not the number of coordinates.

    Example:
        >>> float(quadratic(np.array([3.0, 1.0]), [1.0, 10.0]))
        9.5
    """
    theta = finite_array(theta, "theta")
    lam = _curvatures(theta, curvatures)
    with np.errstate(over="ignore"):
        return 0.5 * (lam * theta**2).sum(-1)


def quadratic_gradient(
    theta: Float[ndarray, "*batch D"], curvatures: Float[ndarray, " D"] | Sequence
) -> Float[ndarray, "*batch D"]:
    """Gradient of :func:`quadratic`.

    Computes::

        ∂L/∂θ_i = λ_i θ_i

    Args:
        theta: Points θ.
        curvatures: Second derivatives λ.

    Raises:
        InputError: If the number of curvatures is not the number of coordinates.
    """
    theta = finite_array(theta, "theta")
    with np.errstate(over="ignore"):
        return _curvatures(theta, curvatures) * theta


def rosenbrock(theta: Float[ndarray, "*batch D"]) -> Value:
    """Rosenbrock's curved valley, with its minimum 0 at (1, 1).

    Computes::

        L(x, y) = (1 - x)² + 100 (y - x²)²

    Args:
        theta: Points (x, y).

    Example:
        >>> float(rosenbrock(np.array([-1.0, 1.0])))
        4.0

    References:
        Rosenbrock (1960), The Computer Journal 3(3), 175-184.
    """
    x, y = _plane(theta)
    with np.errstate(over="ignore"):
        return (1 - x) ** 2 + 100 * (y - x**2) ** 2


def rosenbrock_gradient(theta: Float[ndarray, "*batch D"]) -> Float[ndarray, "*batch D"]:
    """Gradient of :func:`rosenbrock`.

    Computes::

        ∂L/∂x = -2 (1 - x) - 400 x (y - x²)
        ∂L/∂y = 200 (y - x²)

    Args:
        theta: Points (x, y).
    """
    x, y = _plane(theta)
    with np.errstate(over="ignore"):
        across = y - x**2
        return np.stack([-2 * (1 - x) - 400 * x * across, 200 * across], axis=-1)


def double_well(theta: Float[ndarray, "*batch D"]) -> Value:
    """Two wells with a saddle between them: falls to both sides along y, rises along x.

    Computes::

        L(x, y) = ½ x² - ½ y² + ¼ y⁴

    The saddle is at (0, 0) with value 0, the minima are at (0, ±1) with value -¼.

    Args:
        theta: Points (x, y).
    """
    x, y = _plane(theta)
    with np.errstate(over="ignore"):
        return 0.5 * x**2 + 0.25 * y**2 * (y**2 - 2)


def double_well_gradient(theta: Float[ndarray, "*batch D"]) -> Float[ndarray, "*batch D"]:
    """Gradient of :func:`double_well`.

    Computes::

        ∂L/∂x = x,   ∂L/∂y = y³ - y

    Args:
        theta: Points (x, y).
    """
    x, y = _plane(theta)
    with np.errstate(over="ignore"):
        return np.stack([x, y**3 - y], axis=-1)


def _plane(theta: ndarray) -> tuple[Value, Value]:
    points = finite_array(theta, "theta")
    if points.ndim == 0 or points.shape[-1] != 2:
        raise InputError(
            f"theta of shape {points.shape} must hold points (x, y) in its last axis, 2 long"
        )
    return points[..., 0], points[..., 1]


def _curvatures(theta: ndarray, curvatures: ndarray | Sequence) -> ndarray:
    lam = finite_array(curvatures, "curvatures")
    if lam.ndim != 1 or theta.shape[-1:] != lam.shape:
        raise InputError(
            f"curvatures of shape {lam.shape} do not fit points of shape {theta.shape}; "
            "give one number for each coordinate"
        )
    return lam
