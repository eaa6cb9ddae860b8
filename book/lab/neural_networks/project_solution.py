"""A solution of the project of chapter 5: a scalar autodiff, and a network trained with it."""

import itertools
import math
import random
from collections.abc import Callable, Sequence

_serial = itertools.count()


class Value:
    """A number of automatic differentiation that remembers what it was made of.

    Args:
        data: The number.
        parents: The values it was computed from.
        slopes: Its derivative in each of them.
    """

    def __init__(
        self, data: float, parents: tuple = (), slopes: tuple[float, ...] = ()
    ) -> None:
        self.data, self.grad = float(data), 0.0
        self.parents, self.slopes = parents, slopes
        self.serial = next(_serial)  # a value is younger than everything it was made of

    def __add__(self, other: "Value | float") -> "Value":
        other = other if isinstance(other, Value) else Value(other)
        return Value(self.data + other.data, (self, other), (1.0, 1.0))

    def __mul__(self, other: "Value | float") -> "Value":
        other = other if isinstance(other, Value) else Value(other)
        return Value(self.data * other.data, (self, other), (other.data, self.data))

    __radd__, __rmul__ = __add__, __mul__

    def __neg__(self) -> "Value":
        return self * -1.0

    def __sub__(self, other: "Value | float") -> "Value":
        return self + -other

    def __rsub__(self, other: "Value | float") -> "Value":
        return -self + other

    def relu(self) -> "Value":
        """The larger of the number and 0."""
        return Value(max(self.data, 0.0), (self,), (float(self.data > 0),))

    def exp(self) -> "Value":
        """Exponential, which is its own slope."""
        y = math.exp(self.data)
        return Value(y, (self,), (y,))

    def log(self) -> "Value":
        """Natural logarithm."""
        return Value(math.log(self.data), (self,), (1 / self.data,))

    def backward(self) -> None:
        """Add the slope of this value in every value it was made of to their ``grad``."""
        found, waiting = {self}, [self]
        while waiting:
            new = [p for p in waiting.pop().parents if p not in found]
            found.update(new)
            waiting += new
        self.grad = 1.0
        for node in sorted(found, key=lambda value: -value.serial):  # the youngest first
            for parent, slope in zip(node.parents, node.slopes, strict=True):
                parent.grad += slope * node.grad


Unit = tuple[list[Value], Value]  # weights and bias


def fit(
    inputs: Sequence[Sequence[float]], targets: Sequence[int], seed: int
) -> Callable[[Sequence[float]], float]:
    """Train eight hidden ReLU units on bits; returns the probability of a 1 for an input."""
    rng, n, hidden = random.Random(seed), len(inputs[0]), 8

    def unit(size: int) -> Unit:
        weights = [Value(rng.gauss(0, math.sqrt(2 / size))) for _ in range(size)]
        return weights, Value(0.0)

    layer, output = [unit(n) for _ in range(hidden)], unit(hidden)
    parameters = [p for weights, b in [*layer, output] for p in (*weights, b)]
    for _ in range(300):
        loss = Value(0.0)
        for x, y in zip(inputs, targets, strict=True):
            z = logit(x, layer, output)
            loss = loss + (1 + (-z if y else z).exp()).log() * (1 / len(inputs))
        for p in parameters:
            p.grad = 0.0
        loss.backward()
        for p in parameters:
            p.data -= 0.5 * p.grad
    return lambda x: 1 / (1 + math.exp(-logit(x, layer, output).data))


def logit(x: Sequence[float], layer: list[Unit], output: Unit) -> Value:
    """What the output unit computes before the sigmoid."""
    return affine([affine(x, unit).relu() for unit in layer], output)


def affine(x: Sequence, unit: Unit) -> Value:
    """Weighted sum of the inputs plus the bias, one product after another."""
    weights, z = unit
    for w, entry in zip(weights, x, strict=True):
        z = z + w * entry
    return z


__all__ = ["Value", "fit"]
