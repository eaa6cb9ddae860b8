"""Numerical derivatives, the referee of every hand-derived backward pass."""

from collections.abc import Callable
from typing import overload

import numpy as np
from numpy import ndarray

from ...errors import InputError, InputTypeError


def numerical_gradient(
    f: Callable[[ndarray], float], x: ndarray, step: float = 1e-6
) -> ndarray:
    """Gradient of a scalar function by central differences.

    Implements eq-central-difference::

        ∂f/∂x_i ≈ (f(x + h e_i) - f(x - h e_i)) / 2h,   error O(h²)

    Args:
        f: Function of one float64 array with a scalar value.
        x: Point at which to differentiate; every entry is perturbed in turn.
        step: h, in the units of x.

    Returns:
        Gradient, of the shape of x.

    Raises:
        InputTypeError: If x is not float64: float32 leaves no digits to compare.
        InputError: If f does not return a scalar, or ``step`` is not positive.

    Example:
        >>> numerical_gradient(lambda x: float(x @ x), np.array([3.0, 4.0])).round(6).tolist()
        [6.0, 8.0]
    """
    if np.size(f(x)) != 1:
        raise InputError(
            f"f must return a scalar, got shape {np.shape(f(x))}; use numerical_vjp for arrays"
        )
    return numerical_vjp(lambda z: np.asarray(f(z)).reshape(()), x, np.ones(()), step)


@overload
def numerical_vjp(
    f: Callable[..., ndarray], x: ndarray, dy: ndarray, step: float = ...
) -> ndarray: ...
@overload
def numerical_vjp(
    f: Callable[..., ndarray], x: tuple[ndarray, ...], dy: ndarray, step: float = ...
) -> tuple[ndarray, ...]: ...
def numerical_vjp(
    f: Callable[..., ndarray],
    x: ndarray | tuple[ndarray, ...],
    dy: ndarray,
    step: float = 1e-6,
) -> ndarray | tuple[ndarray, ...]:
    """Vector-Jacobian product of an array function by central differences.

    Implements eq-central-difference::

        dx_i ≈ ⟨dy, f(x + h e_i) - f(x - h e_i)⟩ / 2h,   error O(h²)

    Args:
        f: Function of float64 arrays; its value has the shape of ``dy``.
        x: Point at which to differentiate: one array, or a tuple with one array for each
            argument of ``f``. Every entry is perturbed in turn.
        dy: Gradient of the loss in the value of ``f``; draw it at random, never all ones.
        step: h, in the units of the arguments.

    Returns:
        The gradient in x, of its shape; a tuple of them if x is a tuple.

    Raises:
        InputTypeError: If an argument is not float64: float32 leaves no digits to compare.
        InputError: If the value of ``f`` has another shape than ``dy``, or ``step`` is not
            positive.

    Example:
        >>> numerical_vjp(lambda x: x**2, np.array([3.0]), np.array([2.0])).round(4)  # 2x · dy
        array([12.])
    """
    args = x if isinstance(x, tuple) else (x,)
    _require_checkable(f, args, dy, step)
    dx = tuple(_partials(f, args, i, dy, step) for i in range(len(args)))
    return dx if isinstance(x, tuple) else dx[0]


def _partials(
    f: Callable[..., ndarray], args: tuple[ndarray, ...], i: int, dy: ndarray, step: float
) -> ndarray:
    """⟨dy, ∂f/∂args[i]⟩, entry by entry."""

    def shifted(index: tuple[int, ...], h: float) -> ndarray:
        x = args[i].copy()
        x[index] += h
        return np.asarray(f(*args[:i], x, *args[i + 1 :]))

    dx = np.empty_like(args[i])
    for j in np.ndindex(dx.shape):
        dx[j] = np.sum(dy * (shifted(j, step) - shifted(j, -step))) / (2 * step)
    return dx


def _require_checkable(
    f: Callable[..., ndarray], args: tuple[ndarray, ...], dy: ndarray, step: float
) -> None:
    if not step > 0:
        raise InputError(f"step={step} must be positive")
    for i, x in enumerate(args):
        if not isinstance(x, ndarray) or x.dtype != np.float64:
            found = getattr(x, "dtype", type(x).__name__)
            raise InputTypeError(
                f"args[{i}] has dtype {found}; gradients are checked in float64 arrays"
            )
    if np.shape(f(*args)) != np.shape(dy):
        raise InputError(
            f"f returns shape {np.shape(f(*args))} but dy has shape {np.shape(dy)}; "
            "dy is the gradient in the value of f and must have its shape"
        )
