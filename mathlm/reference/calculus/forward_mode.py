"""Forward-mode automatic differentiation: dual numbers, and forward over reverse."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy import ndarray

from ...errors import InputError
from .autodiff import PARTIALS, PIECEWISE_CONSTANT, Variable, pull_back
from .broadcasting import (
    Operators,
    constant,
    copied,
    fresh,
    real_array,
    require_finite,
    require_rule,
    turned,
)

MATMUL = (lambda t, y, a, b: t @ b, lambda t, y, a, b: a @ t)
FORWARD = PARTIALS | {np.matmul: MATMUL}


class Dual(Operators):
    """A value and its rate of change, carried through a computation together.

    Implements eq-calculus-dual::

        f(x + ε t) = f(x) + ε J t,   ε² = 0

    Operators and the functions in ``PARTIALS`` apply; there is no tape.

    Args:
        value: The array x; becomes float64.
        tangent: Its rate of change t, of the same shape.

    Raises:
        InputError: If the shapes differ, or an entry is not finite.

    Example:
        >>> x = Dual(3.0, 1.0)
        >>> (x * x).value, (x * x).tangent
        (array(9.), array(6.))
    """

    def __init__(self, value: Any, tangent: Any) -> None:
        self.value, self.tangent = real_array(value, "value"), real_array(tangent, "tangent")
        self.shape, self.ndim = self.value.shape, self.value.ndim
        if self.tangent.shape != self.shape:
            raise InputError(f"tangent has shape {self.tangent.shape}, value has {self.shape}")
        require_finite(self.value, "a value")
        require_finite(self.tangent, "a derivative")

    def __repr__(self) -> str:
        return f"Dual({self.value!r}, {self.tangent!r})"

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        if ufunc is np.maximum and not isinstance(inputs[0], Dual):
            inputs = inputs[::-1]  # at a tie the constant wins, on either side
        x = [z.value if isinstance(z, Dual) else constant(z) for z in inputs]
        if ufunc in PIECEWISE_CONSTANT:
            return ufunc(*x)
        require_rule(ufunc, method, options, FORWARD)
        pairs = list(zip(inputs, FORWARD[ufunc], strict=True))
        with np.errstate(all="ignore"):  # the result is checked instead
            y = ufunc(*x)
            parts = [rule(z.tangent, y, *x) for z, rule in pairs if isinstance(z, Dual)]
            return Dual(y, copied(sum(parts[1:], parts[0]), np.shape(y)))

    def map(self, linear: Callable[[Any], Any]) -> "Dual":
        """Apply a linear map to both parts."""
        return Dual(linear(self.value), linear(self.tangent))

    def sum(self, axis: int | tuple[int, ...] | None = None, keepdims: bool = False) -> "Dual":
        """Sum over axes."""
        with np.errstate(all="ignore"):  # the result is checked instead
            return self.map(lambda z: z.sum(axis=axis, keepdims=keepdims))

    def reshape(self, *shape: Any) -> "Dual":
        """The same entries in another shape."""
        return self.map(lambda z: z.reshape(*shape))

    def swapaxes(self, i: int, j: int) -> "Dual":
        """Exchange two axes."""
        return self.map(lambda z: z.swapaxes(i, j))

    @property
    def T(self) -> "Dual":
        """The last two axes exchanged."""
        return self.map(turned)

    def __getitem__(self, index: Any) -> "Dual":
        """Pick entries."""
        return self.map(lambda z: z[index])


def push_forward(f: Callable[[Any], Any], x: ndarray, t: ndarray) -> tuple[ndarray, ndarray]:
    """Jacobian-vector product: how the value of f moves when x moves along t.

    Implements eq-calculus-dual::

        f(x + ε t) = f(x) + ε J t

    Args:
        f: Function of one array, made of operators and the functions in ``PARTIALS``.
        x: Point at which to differentiate.
        t: Direction, of the shape of x.

    Returns:
        f(x) and J t, of one shape, in memory of their own.

    Raises:
        InputError: If t has not the shape of x, or something is not finite.

    Example:
        >>> y, dy = push_forward(lambda x: x * x, np.array(3.0), np.array(1.0))
        >>> float(y), float(dy)
        (9.0, 6.0)
    """
    y = f(Dual(x, t))
    if isinstance(y, Dual):
        return fresh(y.value), fresh(y.tangent)
    return np.array(y, dtype=float), np.zeros(np.shape(y))  # f does not depend on x


def hessian_vector_product(
    f: Callable[[Any], Any], x: ndarray, t: ndarray
) -> tuple[float, ndarray, ndarray]:
    """Value, gradient and H t of a scalar function: the backward sweep, run on dual numbers.

    Implements eq-calculus-hvp::

        H t = d/ds ∇f(x + s t) at s = 0

    Args:
        f: Function of one array with a single number as value, made as for
            :func:`push_forward`.
        x: Point at which to differentiate.
        t: Direction, of the shape of x.

    Returns:
        f(x), ∇f(x) and H t; the Hessian is never formed.

    Raises:
        InputError: If f does not return a single number, or something is not finite.

    Example:
        >>> value, gradient, Ht = hessian_vector_product(
        ...     lambda x: (x * x * x).sum(), np.array([1.0, 2.0]), np.array([1.0, 0.0])
        ... )
        >>> value, gradient, Ht
        (9.0, array([ 3., 12.]), array([6., 0.]))
    """
    inputs = Variable(Dual(x, t))
    y = f(inputs)
    y = y if isinstance(y, Variable) else Variable(y, op="constant")
    if y.shape != ():
        raise InputError(f"f must return one number of shape (), got shape {y.shape}")
    value: Any = y.value
    gradient: Any = pull_back(y, [inputs])[0]
    if not isinstance(gradient, Dual):  # linear in x: the gradient does not move
        gradient = Dual(gradient, np.zeros_like(gradient))
    return float(getattr(value, "value", value)), gradient.value, gradient.tangent


__all__ = ["Dual", "hessian_vector_product", "push_forward"]
