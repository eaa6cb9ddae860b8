"""A solution of the project of chapter 2: reverse mode over arrays, and products with H."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy import ndarray


class Tensor:
    """An array that remembers how it was computed.

    Args:
        value: The array, of real or complex numbers.
        edges: For each parent, the parent and the map that pulls a gradient back to it.
    """

    __array_ufunc__ = None  # an array on the left of an operator leaves it to this class

    def __init__(self, value: Any, edges: Sequence[tuple["Tensor", Callable]] = ()) -> None:
        self.value, self.edges = np.asarray(value), tuple(edges)

    def __add__(self, other: Any) -> "Tensor":
        b = lifted(other)
        return Tensor(self.value + b.value, [(self, lambda dy: dy), (b, lambda dy: dy)])

    def __mul__(self, other: Any) -> "Tensor":
        b = lifted(other)
        edges = [(self, lambda dy: dy * b.value), (b, lambda dy: dy * self.value)]
        return Tensor(self.value * b.value, edges)

    def __matmul__(self, other: Any) -> "Tensor":
        b = lifted(other)
        edges = [(self, lambda dy: dy @ b.value.T), (b, lambda dy: self.value.T @ dy)]
        return Tensor(self.value @ b.value, edges)

    __radd__, __rmul__ = __add__, __mul__

    def __rmatmul__(self, other: Any) -> "Tensor":
        return lifted(other) @ self

    def __neg__(self) -> "Tensor":
        return self * -1.0

    def __sub__(self, other: Any) -> "Tensor":
        return self + -lifted(other)

    def __rsub__(self, other: Any) -> "Tensor":
        return -self + other

    def exp(self) -> "Tensor":
        """Exponential of each entry."""
        y = np.exp(self.value)
        return Tensor(y, [(self, lambda dy: dy * y)])

    def log(self) -> "Tensor":
        """Natural logarithm of each entry."""
        return Tensor(np.log(self.value), [(self, lambda dy: dy / self.value)])

    def tanh(self) -> "Tensor":
        """Hyperbolic tangent of each entry."""
        y = np.tanh(self.value)
        return Tensor(y, [(self, lambda dy: dy * (1 - y * y))])

    def sum(self, axis: int | None = None, keepdims: bool = False) -> "Tensor":
        """Sum over all entries or along one axis."""

        def copy(dy: ndarray) -> ndarray:
            if axis is not None and not keepdims:
                dy = np.expand_dims(dy, axis)
            return np.broadcast_to(dy, self.value.shape)

        return Tensor(self.value.sum(axis=axis, keepdims=keepdims), [(self, copy)])

    @property
    def T(self) -> "Tensor":
        """The transpose of a matrix."""
        return Tensor(self.value.T, [(self, lambda dy: dy.T)])


def lifted(x: Any) -> Tensor:
    """A number or an array as a tensor."""
    return x if isinstance(x, Tensor) else Tensor(x)


def summed(dy: ndarray, shape: tuple[int, ...]) -> ndarray:
    """Sum over what broadcasting copied, so that the result has ``shape``."""
    dy = dy.sum(axis=tuple(range(dy.ndim - len(shape))))
    axes = tuple(i for i, n in enumerate(shape) if n == 1)
    return dy.sum(axis=axes, keepdims=True)


def topological_order(y: Tensor) -> list[Tensor]:
    """Every tensor that y was made of, parents first, without recursion."""
    order, seen = [], set()
    stack = [(y, False)]
    while stack:
        node, parents_done = stack.pop()
        if parents_done:
            order.append(node)
        elif id(node) not in seen:
            seen.add(id(node))
            stack += [(node, True), *((parent, False) for parent, _ in node.edges)]
    return order


def gradients(y: Tensor, inputs: Sequence[Tensor]) -> list[ndarray]:
    """Gradient of a single number y in each input, by one sweep."""
    d = {id(y): np.ones_like(y.value)}
    for node in reversed(topological_order(y)):
        for parent, pull_back in node.edges:
            dx = summed(pull_back(d[id(node)]), parent.value.shape)
            d[id(parent)] = d[id(parent)] + dx if id(parent) in d else dx
    return [d.get(id(x), np.zeros_like(x.value)) for x in inputs]


def hvp(f: Callable[[Tensor], Tensor], x: ndarray, t: ndarray) -> ndarray:
    """The vector t times the Hessian of f at x: a complex step through the sweep."""
    moved = Tensor(x + 1e-30j * t)
    return gradients(f(moved), [moved])[0].imag / 1e-30


__all__ = ["Tensor", "gradients", "hvp"]
