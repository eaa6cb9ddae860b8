"""Derivatives of functions given as programs: slopes, gradients, Jacobians, Hessians, steps."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy import ndarray

from ...errors import InputError
from .autodiff import Variable, pull_back
from .forward_mode import Dual, hessian_vector_product, push_forward


def secant_slope(f: Callable[[float], float], x: float | int, h: float | int = 1e-8) -> float:
    """Slope of the line through two points of a curve.

    Implements eq-calculus-secant::

        (f(x + h) - f(x)) / h,   error f''(x) h / 2 + O(h²) + rounding of order ε |f| / h

    Args:
        f: Function of one number.
        x: Left point, or right one if h < 0.
        h: Distance of the points, not 0.

    Returns:
        The slope [units of f per unit of x].

    Raises:
        InputError: If x + h rounds to x, so that there is only one point, or the slope is
            not finite.

    Example:
        >>> round(secant_slope(lambda x: x**2, 3.0, 0.01), 9)
        6.01
    """
    _require_two_points(x, h)
    return _finite((f(x + h) - f(x)) / h, x, h)


def symmetric_slope(
    f: Callable[[float], float], x: float | int, h: float | int = 1e-5
) -> float:
    """Slope of the line through two points on either side.

    Implements eq-central-difference::

        (f(x + h) - f(x - h)) / 2h,   error f'''(x) h² / 6 + O(h⁴) + rounding of order ε |f| / h

    Args:
        f: Function of one number.
        x: Middle between the points.
        h: Half their distance, not 0.

    Returns:
        The slope [units of f per unit of x].

    Raises:
        InputError: If x + h rounds to x, or the slope is not finite.

    Example:
        >>> round(symmetric_slope(lambda x: x**2, 3.0), 6)
        6.0
    """
    _require_two_points(x, h)
    return _finite((f(x + h) - f(x - h)) / (2 * h), x, h)


def complex_step_slope(
    f: Callable[[complex], complex], x: float | int, h: float | int = 1e-30
) -> float:
    """Slope from one evaluation off the real axis, with nothing to cancel.

    Implements eq-calculus-complex-step::

        Im f(x + i h) / h,   error f'''(x) h² / 6

    Args:
        f: Analytic function that accepts complex numbers: no abs, no comparison.
        x: Real point.
        h: Step along the imaginary axis, not 0; it may be far below the rounding of x.

    Returns:
        The slope [units of f per unit of x].

    Raises:
        InputError: If h is 0, or f drops the imaginary part and returns a real number, or
            the slope is not finite.

    Example:
        >>> complex_step_slope(lambda x: x**2, 3.0)
        6.0

    References:
        Squire and Trapp (1998), SIAM Review 40(1).
    """
    if h == 0:
        raise InputError("h=0: a complex step needs a length; 1e-30 is a good one")
    y = f(complex(x, h))
    if not isinstance(y, complex | np.complexfloating):
        raise InputError(f"f returned the real number {y} for a complex one; f is not analytic")
    return _finite(float(y.imag / h), x, h)


def gradient(f: Callable[[Any], Any], x: ndarray) -> ndarray:
    """Gradient of a scalar function by one backward sweep.

    Implements eq-calculus-gradient::

        ∇f = (∂f/∂x_1, ..., ∂f/∂x_n)

    Args:
        f: Function of one array with a single number as value, written with operators, the
            functions of ``autodiff.PARTIALS`` and the methods of :class:`Variable`.
        x: Point at which to differentiate.

    Returns:
        Gradient, of the shape of x.

    Raises:
        InputError: If f does not return a single number, or something is not finite.

    Example:
        >>> gradient(lambda x: (x * x).sum(), np.array([3.0, 4.0])).tolist()
        [6.0, 8.0]
    """
    inputs = Variable(x)
    return pull_back(_as_variable(f(inputs)), [inputs])[0]


def directional_derivative(f: Callable[[Any], Any], x: ndarray, u: ndarray) -> float:
    """Slope of a scalar function in a direction.

    Implements eq-calculus-directional::

        D_u f = ∇f · u,   ‖u‖ = 1

    Args:
        f: As for :func:`gradient`.
        x: Point.
        u: Unit vector, of the shape of x.

    Returns:
        The slope [units of f per unit of length].

    Raises:
        InputError: If u has not length 1, or not the shape of x.

    Example:
        >>> x, u = np.array([1.0, 2.0]), np.array([1.0, 0.0])
        >>> directional_derivative(lambda x: (x * x).sum(), x, u)
        2.0
    """
    length = np.sqrt((u * u).sum())
    if not abs(length - 1) < 1e-9:
        raise InputError(f"u has length {length:.6g}, not 1; a slope needs a unit vector")
    y, slope = push_forward(f, x, u)
    if y.shape != ():
        raise InputError(f"f must return one number, got shape {y.shape}")
    return float(slope)


def jacobian_by_rows(f: Callable[[Any], Any], x: ndarray) -> ndarray:
    """Jacobian by one backward sweep for each output.

    Implements eq-calculus-jacobian::

        J_ij = ∂f_i/∂x_j;   row i is e_iᵀ J

    Args:
        f: Function of one vector (n,); returns a vector (m,) or a sequence of m numbers.
        x: Point.

    Returns:
        J, of shape (m, n).

    Raises:
        InputError: If x or the value of f is not a vector.

    Example:
        >>> jacobian_by_rows(lambda x: [x[0] * x[1], 3 * x[1]], np.array([2.0, 5.0])).tolist()
        [[5.0, 2.0], [0.0, 3.0]]
    """
    _require_vector(x)
    inputs = Variable(x)
    outputs = [_as_variable(y) for y in _entries(f(inputs))]
    return np.array([pull_back(y, [inputs])[0] for y in outputs])


def jacobian_by_columns(f: Callable[[Any], Any], x: ndarray) -> ndarray:
    """Jacobian by one forward sweep for each input.

    Implements eq-calculus-jacobian::

        J_ij = ∂f_i/∂x_j;   column j is J e_j

    Args:
        f: As for :func:`jacobian_by_rows`.
        x: Point.

    Returns:
        J, of shape (m, n).

    Raises:
        InputError: If x or the value of f is not a vector.

    Example:
        >>> jacobian_by_columns(lambda x: x * x, np.array([1.0, 3.0])).tolist()
        [[2.0, 0.0], [0.0, 6.0]]
    """
    _require_vector(x)
    columns = []
    for e in np.eye(len(x)):
        outputs = _entries(f(Dual(x, e)))
        columns.append([y.tangent if isinstance(y, Dual) else 0.0 for y in outputs])
    return np.array(columns).T


def hessian(f: Callable[[Any], Any], x: ndarray) -> ndarray:
    """Matrix of second derivatives, one Hessian-vector product a column.

    Implements eq-calculus-hessian::

        H_ij = ∂²f / ∂x_i ∂x_j

    Args:
        f: Scalar function, as for :func:`gradient`.
        x: Point, a vector (n,).

    Returns:
        H (n, n), symmetric up to rounding where f is twice continuously differentiable.

    Raises:
        InputError: If x is not a vector, or f does not return a single number.

    Example:
        >>> hessian(lambda x: x[0] * x[0] * x[1], np.array([3.0, 2.0])).tolist()
        [[4.0, 6.0], [6.0, 0.0]]
    """
    _require_vector(x)
    return np.stack([hessian_vector_product(f, x, e)[2] for e in np.eye(len(x))], axis=1)


def _as_variable(y: Any) -> Variable:
    return y if isinstance(y, Variable) else Variable(y, op="constant")


def _entries(y: Any) -> list[Any]:
    """The numbers of a vector, or of a sequence."""
    if isinstance(y, list | tuple):
        return list(y)
    if np.ndim(y) != 1:
        raise InputError(f"f must return a vector, got shape {np.shape(y)}; reshape it to one")
    return [y[i] for i in range(y.shape[0])]


def _require_vector(x: ndarray) -> None:
    if np.ndim(x) != 1 or np.size(x) == 0:
        raise InputError(f"x has shape {np.shape(x)}; expected a vector (n,) with n ≥ 1")


def _finite(slope: float, x: float | int, h: float | int) -> float:
    if not np.isfinite(slope):
        raise InputError(f"the slope at x={x} with h={h} is {slope}; f must be finite there")
    return slope


def _require_two_points(x: float | int, h: float | int) -> None:
    if x + h == x:
        raise InputError(f"x + h rounds to x for x={x}, h={h}: take a larger h")


__all__ = [
    "complex_step_slope",
    "directional_derivative",
    "gradient",
    "hessian",
    "jacobian_by_columns",
    "jacobian_by_rows",
    "secant_slope",
    "symmetric_slope",
]
