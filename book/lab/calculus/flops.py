"""Counting floating-point operations while NumPy performs them."""

from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy import ndarray

from mathlm.errors import InputTypeError
from mathlm.reference import Variable, pull_back
from mathlm.reference.calculus.broadcasting import real_array

# tests, not arithmetic
FREE = {"isfinite", "logical_not", "invert", "logical_and", "logical_or"}
MOVES = {np.broadcast_to, np.reshape, np.shape, np.ndim, np.size, np.swapaxes, np.transpose}
MOVES |= {np.ones_like, np.zeros_like, np.empty_like, np.copyto}
SUMS = {np.sum, np.mean}  # carried out by ufuncs, which are counted


class CountedArray(ndarray):
    """An array that adds every operation on it to a shared counter.

    A matrix product of (m, k) and (k, n) counts 2 m k n, a sum of n numbers n - 1, every other
    function of arrays one operation an entry of its result. What is turned into a plain Python
    number, by ``float(x)`` say, leaves the count.
    """

    counter: Counter[str] | None

    def __array_finalize__(self, source: Any) -> None:
        self.counter = getattr(source, "counter", None)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        if any(hasattr(x, "edges") or hasattr(x, "tangent") for x in inputs):
            return NotImplemented  # Variable and Dual unpack what they hold first
        counter = next(x.counter for x in inputs if isinstance(x, CountedArray))
        plain = [np.asarray(x) if isinstance(x, CountedArray) else x for x in inputs]
        out = options.pop("out", None)
        if out is not None:
            options["out"] = tuple(np.asarray(x) for x in out)
        y = getattr(ufunc, method)(*plain, **options)
        if counter is not None:
            counter[ufunc.__name__] += _flops(ufunc, method, plain, y)
        return out[0] if out is not None else _counted(y, counter)

    def __getitem__(self, index: Any) -> Any:
        return _counted(super().__getitem__(index), self.counter)  # one entry is counted too

    def dot(self, *_: Any, **__: Any) -> Any:
        """Refused: NumPy would not report it."""
        raise InputTypeError("x.dot(y) is not counted: write x @ y")

    def __array_function__(self, f: Any, types: Any, args: Any, kwargs: Any) -> Any:
        if f not in MOVES | SUMS:
            raise InputTypeError(
                f"np.{f.__name__} is not counted: write it with operators and @"
            )
        return super().__array_function__(f, types, args, kwargs)


def count_flops(f: Callable[..., Any], *arrays: ndarray) -> tuple[Any, Counter[str]]:
    """Call f on counted copies of the arrays.

    Args:
        f: Function of arrays, written with operators, ``@`` and ufuncs such as ``np.exp``.
        arrays: Its arguments.

    Returns:
        The value of f, and the number of operations [FLOP] by name of the NumPy function.

    Raises:
        InputTypeError: If f calls a NumPy function that would escape the count, or an argument
            does not hold real numbers.

    Example:
        >>> count_flops(lambda a, b: a @ b, np.ones((2, 3)), np.ones((3, 5)))[1]["matmul"]
        60
    """
    counter: Counter[str] = Counter()
    value = f(*(_counted(real_array(x, "an argument"), counter) for x in arrays))
    return _plain(value), counter


def backward_cost(f: Callable[..., Any], *arrays: ndarray, fixed: int = 0) -> tuple[int, int]:
    """Operations of a function and of the backward sweep that follows it.

    Computes::

        forward = FLOP of y = f(x₁, ...);   backward = FLOP of dx₁, ... given dy

    Args:
        f: Function of arrays, written for :class:`Variable`.
        arrays: Its arguments.
        fixed: How many of the first arguments are data, which need no gradient.

    Returns:
        Forward and backward [FLOP].
    """
    value, forward = count_flops(f, *arrays)

    def both(dy: ndarray, *a: ndarray) -> Any:
        inputs = [Variable(x) for x in a[fixed:]]
        return pull_back(f(*a[:fixed], *inputs), inputs, dy)

    total = count_flops(both, np.ones(np.shape(value)), *arrays)[1]
    return forward.total(), total.total() - forward.total()


def _flops(ufunc: np.ufunc, method: str, inputs: list[Any], y: Any) -> int:
    if ufunc.__name__ in FREE:
        return 0
    if ufunc is np.matmul:
        return 2 * np.size(y) * np.shape(inputs[0])[-1]
    if method == "at":
        return np.size(inputs[-1])
    if method == "reduce":
        return np.size(inputs[0]) - np.size(y)
    return np.size(y)


def _plain(value: Any) -> Any:
    """The value without its counters, so that what is done with it later is not counted."""
    if isinstance(value, tuple | list):
        return type(value)(_plain(v) for v in value)
    return np.asarray(value) if isinstance(value, CountedArray) else value


def _counted(y: Any, counter: Counter[str] | None) -> Any:
    if counter is None or not np.issubdtype(np.asarray(y).dtype, np.floating):
        return y
    array = np.asarray(y).view(CountedArray)
    array.counter = counter
    return array


__all__ = ["CountedArray", "backward_cost", "count_flops"]
