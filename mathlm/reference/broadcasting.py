"""What both modes of differentiation share: moves of entries, their transposes, a check."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy import ndarray

from ..errors import InputError, InputTypeError


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
        x = np.zeros(shape)
        np.add.at(x, index, np.asarray(t))
        return x

    return _lifted(scatter, t)


def ones_like(y: Any) -> Any:
    """Ones of the shape and kind of y, or of the value of a dual number."""
    return np.ones_like(y.value if hasattr(y, "tangent") else y)


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


def require_finite(y: Any, what: str) -> None:
    """Refuse infinity and NaN at the operation that made them.

    Raises:
        InputError: If an entry of y is not finite.
    """
    finite = np.isfinite(y)
    if not np.all(finite):
        first = tuple(np.argwhere(~finite)[0].tolist())
        raise InputError(
            f"{what} gave {int(np.sum(~finite))} entries that are not finite, the first at "
            f"{first} of shape {np.shape(y)}; keep its argument where it is defined"
        )


def _lifted(linear: Callable[[Any], Any], t: Any) -> Any:
    """Apply a linear map to an array, or to both parts of a dual number."""
    return t.map(linear) if hasattr(t, "tangent") else linear(t)


__all__ = ["copied", "ones_like", "put", "real_array", "require_finite", "summed", "turned"]
