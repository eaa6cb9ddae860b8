"""What both modes of differentiation share: moves of entries, their transposes, refusals."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy import ndarray
from numpy.lib.mixins import NDArrayOperatorsMixin

from ...errors import InputError, InputTypeError


def copied(t: Any, shape: tuple[int, ...]) -> Any:
    """Broadcast to ``shape``: entries are copied along new axes and axes of length 1."""
    return _lifted(lambda t: np.broadcast_to(t, shape, subok=True), t)


def summed(t: Any, shape: tuple[int, ...]) -> Any:
    """Transpose of :func:`copied`: sum over the axes that broadcasting would fill.

    Example:
        >>> summed(np.ones((4, 3)), (1, 3)).tolist()
        [[4.0, 4.0, 4.0]]
    """
    if t.shape == shape:
        return t
    if t.ndim > len(shape):
        t = t.sum(axis=tuple(range(t.ndim - len(shape))))
    axes = tuple(i for i, n in enumerate(shape) if n == 1 and t.shape[i] > 1)
    return t.sum(axis=axes, keepdims=True) if axes else t


def put(t: Any, index: Any, shape: tuple[int, ...]) -> Any:
    """Transpose of picking ``x[index]``: zeros of ``shape``, with t added at ``index``.

    Example:
        >>> put(np.array([1.0, 2.0, 4.0]), [0, 2, 0], (3,)).tolist()
        [5.0, 0.0, 2.0]
    """

    def scatter(t: Any) -> ndarray:
        x = np.zeros_like(t, shape=shape)
        np.add.at(x, index, t)
        return x

    return _lifted(scatter, t)


def ones(y: Any) -> Any:
    """Ones of the shape and kind of y, or of the value of a dual number."""
    return np.ones_like(y.value if hasattr(y, "tangent") else y)


def fresh(t: Any) -> Any:
    """The same entries in memory of their own: sweeps pass views and arguments on."""
    return _lifted(lambda t: t.copy("K"), t)


def constant(z: Any) -> Any:
    """A constant of a computation; lists become arrays, which have a shape."""
    return np.asarray(z) if isinstance(z, list | tuple) else z


def turned(t: Any) -> Any:
    """Exchange the last two axes; its own transpose."""
    return t.swapaxes(-1, -2)


def real_array(x: Any, name: str) -> ndarray:
    """Real numbers as a float64 array; a subclass of arrays stays what it is.

    Raises:
        InputTypeError: If x does not hold real numbers.
    """
    found = np.asanyarray(x)
    if found.dtype.kind not in "fiub":
        raise InputTypeError(f"{name} has dtype {found.dtype}; expected real numbers")
    return found.astype(np.float64, copy=False)


def checked(x: Any, what: str) -> Any:
    """A finite float64 array, or the dual number that x is.

    Raises:
        InputTypeError: If x does not hold real numbers.
        InputError: If an entry is not finite.
    """
    y = x if hasattr(x, "tangent") else real_array(x, "value")
    require_finite(y, what)
    return y


def require_finite(y: Any, what: str) -> None:
    """Refuse infinity and NaN at the operation that made them.

    Raises:
        InputError: If an entry of y is not finite.
    """
    finite = np.isfinite(y)
    if not np.all(finite):
        first, count = tuple(np.argwhere(~finite)[0].tolist()), int(np.sum(~finite))
        entries = "entry that is" if count == 1 else "entries that are"
        raise InputError(
            f"{what} gave {count} {entries} not finite, the first at {first} of shape "
            f"{np.shape(y)}; keep its argument where it is defined"
        )


def require_rule(ufunc: np.ufunc, method: str, options: Any, rules: Any) -> None:
    """Refuse a NumPy function for which there is no rule.

    Raises:
        InputTypeError: With the functions that there are, or what to write for ``x += y``.
    """
    if options.get("out") is not None:
        raise InputTypeError(
            f"np.{ufunc.__name__} in place, as in x += y, would lose the old value: "
            "write x = x + y"
        )
    if method != "__call__" or ufunc not in rules or options:
        known = ", ".join(f.__name__ for f in rules)
        raise InputTypeError(f"no rule for {ufunc.__name__}.{method}; rules: {known}")


class Operators(NDArrayOperatorsMixin):
    """Operators and ufuncs of NumPy, and nothing else of it."""

    def __array__(self, *_: Any, **__: Any) -> ndarray:
        # NumPy would take it for one opaque object: np.mean(x) would be x
        raise InputTypeError(
            f"a {type(self).__name__} went to a NumPy function that has no rule, such as "
            "np.mean or np.dot: write it with operators, @ and .sum()"
        )


def _lifted(linear: Callable[[Any], Any], t: Any) -> Any:
    """Apply a linear map to an array, or to both parts of a dual number."""
    return t.map(linear) if hasattr(t, "tangent") else linear(t)


__all__ = [
    "Operators",
    "checked",
    "constant",
    "copied",
    "fresh",
    "ones",
    "put",
    "real_array",
    "require_finite",
    "require_rule",
    "summed",
    "turned",
]
