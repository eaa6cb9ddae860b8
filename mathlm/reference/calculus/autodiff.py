"""Reverse-mode automatic differentiation: NumPy operations on a tape, swept backwards."""

from collections.abc import Callable
from typing import Any

import numpy as np

from ...errors import InputError, InputTypeError
from .broadcasting import (
    Operators,
    checked,
    constant,
    copied,
    fresh,
    ones,
    put,
    require_rule,
    summed,
    turned,
)


def _less_one(b: Any) -> Any:
    """Exponent of the slope: 0 for a constant 0, since x⁰ has slope 0 at x = 0 too."""
    return b - 1 if hasattr(b, "tangent") else b - (b != 0)


# One rule an argument of y = ufunc(*x): t times the partial derivative, entry by entry.
PARTIALS: dict[np.ufunc, tuple[Callable[..., Any], ...]] = {
    np.add: (lambda t, y, a, b: t, lambda t, y, a, b: t),
    np.subtract: (lambda t, y, a, b: t, lambda t, y, a, b: -t),
    np.multiply: (lambda t, y, a, b: t * b, lambda t, y, a, b: t * a),
    np.divide: (lambda t, y, a, b: t / b, lambda t, y, a, b: -t * y / b),
    np.power: (
        lambda t, y, a, b: t * b * a ** _less_one(b),
        lambda t, y, a, b: t * y * np.log(a),
    ),
    np.maximum: (lambda t, y, a, b: t * (a > b), lambda t, y, a, b: t * (a <= b)),
    np.negative: (lambda t, y, a: -t,),
    np.exp: (lambda t, y, a: t * y,),
    np.log: (lambda t, y, a: t / a,),
    np.tanh: (lambda t, y, a: t * (1 - y * y),),
    np.sqrt: (lambda t, y, a: t / (2 * y),),
    np.sin: (lambda t, y, a: t * np.cos(a),),
    np.cos: (lambda t, y, a: -t * np.sin(a),),
}
MATMUL = (lambda t, y, a, b: t @ turned(b), lambda t, y, a, b: turned(a) @ t)
REVERSE = PARTIALS | {np.matmul: MATMUL}
PIECEWISE_CONSTANT = {np.greater, np.greater_equal, np.less, np.less_equal, np.isfinite}


class Variable(Operators):
    """An array that remembers how it was computed.

    Operators, the functions in ``PARTIALS`` (``np.exp`` ...) and the methods below give new
    variables, which are the tape. In a matrix product a vector is a row, of shape (1, D).

    Args:
        value: The array; becomes float64.
        name: What a picture of the graph calls it.
        op: The operation that made it.
        edges: For each parent, the parent and the map that pulls a gradient back to it.

    Example:
        >>> x = Variable(3.0)
        >>> y = x * x + x
        >>> (dx,) = pull_back(y, [x])
        >>> float(y.value), float(dx)
        (12.0, 7.0)
    """

    def __init__(self, value: Any, name: str = "", op: str = "input", edges: Any = ()) -> None:
        self.value = checked(value, op)
        self.name, self.op, self.edges = name, op, tuple(edges)
        self.shape, self.ndim = self.value.shape, self.value.ndim

    def __repr__(self) -> str:
        return f"Variable({self.name or self.op}, {self.value!r})"

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        if ufunc is np.maximum and not isinstance(inputs[0], Variable):
            inputs = inputs[::-1]  # at a tie the constant wins, on either side: relu'(0) = 0
        x = [z.value if isinstance(z, Variable) else constant(z) for z in inputs]
        if ufunc in PIECEWISE_CONSTANT:
            return ufunc(*x)
        require_rule(ufunc, method, options, REVERSE)
        if ufunc is np.matmul and min(map(np.ndim, inputs)) < 2:
            raise InputError(
                f"matmul of {[*map(np.shape, x)]}: write a vector as a row, (1, D)"
            )
        with np.errstate(all="ignore"):  # the result is checked instead
            y = ufunc(*x)
        pairs = zip(inputs, REVERSE[ufunc], strict=True)
        edges = [
            (z, lambda t, rule=rule: rule(t, y, *x))
            for z, rule in pairs
            if isinstance(z, Variable)
        ]
        return Variable(y, op=ufunc.__name__, edges=edges)

    def sum(self, axis: int | tuple[int, ...] | None = None, keepdims: bool = False) -> Any:
        """Sum over axes; its transpose is copying."""
        axes = range(self.ndim) if axis is None else np.atleast_1d(axis) % self.ndim
        kept = tuple(1 if i in axes else n for i, n in enumerate(self.shape))
        with np.errstate(all="ignore"):  # the result is checked instead
            y = self.value.sum(axis=axis, keepdims=keepdims)
        return self._linear("sum", y, lambda t: copied(t.reshape(kept), self.shape))

    def reshape(self, *shape: Any) -> "Variable":
        """The same entries in another shape, given as numbers or as one tuple."""
        y = self.value.reshape(shape[0] if len(shape) == 1 else shape)
        return self._linear("reshape", y, lambda t: t.reshape(self.shape))

    @property
    def T(self) -> "Variable":
        """The last two axes exchanged."""
        return self._linear("T", turned(self.value), turned)

    def __getitem__(self, index: Any) -> "Variable":
        """Pick entries; an entry picked twice gets both gradients."""
        return self._linear("pick", self.value[index], lambda t: put(t, index, self.shape))

    def _linear(self, op: str, y: Any, pullback: Callable[[Any], Any]) -> "Variable":
        return Variable(y, op=op, edges=[(self, pullback)])


def topological_order(y: Variable) -> list[Variable]:
    """Every variable behind y, each one after all of its parents.

    Example:
        >>> x = Variable(3.0)
        >>> y = x * x + x
        >>> order = topological_order(y)
        >>> order[0] is x, order[-1] is y
        (True, True)
    """
    order: list[Variable] = []
    seen, stack = set(), [(y, False)]
    while stack:
        node, parents_done = stack.pop()
        if parents_done:
            order.append(node)
        elif id(node) not in seen:
            seen.add(id(node))
            stack += [(node, True), *((parent, False) for parent, _ in node.edges)]
    return order


def pull_back(y: Any, inputs: Any, dy: Any = None) -> tuple[Any, ...]:
    """Carry the gradient in y back to every input: vector-Jacobian products in one sweep.

    Implements eq-calculus-sweep::

        dx = Jᵀ dy;   from y down, for every edge:  d_parent += pullback(d_node)

    Args:
        y: Variable, the result of a computation on variables.
        inputs: List of variables to differentiate in; one that y does not depend on gets zeros.
        dy: Gradient of the loss in y, of its shape; None for 1, if y is a single number.

    Returns:
        One gradient for each input, of its shape, in memory of its own.

    Raises:
        InputError: If dy is missing or of another shape, or a gradient is not finite.
        InputTypeError: If y or an input is no variable, or dy does not hold real numbers.

    Example:
        >>> x = Variable(3.0)
        >>> (dx,) = pull_back(x * x, [x])
        >>> float(dx)
        6.0
    """
    if isinstance(inputs, Variable) or not all(isinstance(x, Variable) for x in (y, *inputs)):
        raise InputTypeError(f"expected a variable and a list of them, got {y!r}, {inputs!r}")
    if y.shape != (() if dy is None else np.shape(dy)):
        raise InputError(f"y has shape {y.shape}: give dy, of that shape; got {np.shape(dy)}")
    gradient = {id(y): ones(y.value) if dy is None else checked(dy, "dy")}
    for node in reversed(topological_order(y)):
        for parent, pullback in node.edges:
            with np.errstate(all="ignore"):  # the result is checked instead
                dx = summed(pullback(gradient[id(node)]), parent.shape)
            checked(dx, f"the derivative of {node.op}")
            gradient[id(parent)] = gradient[id(parent)] + dx if id(parent) in gradient else dx
    return tuple(fresh(gradient.get(id(x), np.zeros(x.shape))) for x in inputs)


__all__ = ["Variable", "pull_back", "topological_order"]
