"""What the hand-written functions ask of an array before they use it."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy import ndarray

from ..errors import InputError, InputTypeError

Numbers = ndarray | Sequence | float | int  # what np.asarray turns into an array of numbers
Value = ndarray | np.float64  # an array, or the one number that stands for none of its axes


def finite_array(x: Numbers, name: str) -> ndarray:
    """The numbers x in float64.

    Args:
        x: Real numbers of any shape.
        name: What x is called in a message.

    Returns:
        x itself if it is a float64 array, else a copy.

    Raises:
        InputTypeError: If x does not hold real numbers.
        InputError: If x is empty, or an entry is NaN or infinite.
    """
    found = np.asarray(x)
    if found.dtype.kind not in "fiub":
        raise InputTypeError(
            f"{name} has dtype {found.dtype}, expected real numbers such as float64"
        )
    if found.size == 0:
        raise InputError(f"{name} is empty, of shape {found.shape}; give at least one entry")
    array = found.astype(np.float64, copy=False)
    bad = ~np.isfinite(array)
    if bad.any():
        raise InputError(
            f"{name} holds {int(bad.sum())} NaN or infinite entries, the first at "
            f"{first_place(bad)}; every entry must be finite"
        )
    return array


def integer_array(ids: Numbers, size: int, name: str) -> ndarray:
    """Whole numbers in 0 ... size - 1, which number the rows of a table or the classes.

    NumPy takes -1 for the last row; here it is outside.

    Args:
        ids: Integers of any shape.
        size: How many rows or classes there are.
        name: What one of them is called in a message.

    Returns:
        The integers as an array.

    Raises:
        InputTypeError: If the dtype is not an integer.
        InputError: If there are none, or one is outside; the message names the first one.
    """
    found = np.asarray(ids)
    if found.size == 0:
        raise InputError(f"there is no {name}: the array is empty, of shape {found.shape}")
    if found.dtype.kind not in "iu":
        raise InputTypeError(
            f"{name}s must be integers, got {found.dtype}; convert them with .astype(np.int64)"
        )
    outside = (found < 0) | (found >= size)
    if outside.any():
        place = first_place(outside)
        raise InputError(
            f"{name} {int(found[place])} at {list(place)} is outside 0..{size - 1}"
        )
    return found


def gradient_array(dy: Numbers, shape: tuple[int, ...]) -> ndarray:
    """The gradient dy, which must have the shape of y: a smaller one would be broadcast.

    Raises:
        InputTypeError: If it does not hold real numbers.
        InputError: If it has another shape, or an entry is NaN or infinite.
    """
    dy = finite_array(dy, "dy")
    require_gradient_shape(dy, shape)
    return dy


def require_gradient_shape(dy: Any, shape: tuple[int, ...], name: str = "dy") -> None:
    """Refuse a gradient of another shape than the value that it belongs to."""
    if np.shape(dy) != shape:
        raise InputError(f"{name} has shape {np.shape(dy)}, but y has {shape}")


def require_same_shape(a: Value, b: Value, names: tuple[str, str]) -> None:
    """Refuse two arrays that NumPy would broadcast, such as (3, 1) against (3,)."""
    if a.shape != b.shape:
        raise InputError(
            f"{names[0]} has shape {a.shape} and {names[1]} has shape {b.shape}; "
            "they must agree"
        )


def first_place(where: ndarray | np.bool_) -> tuple[Any, ...]:
    """Index of the first True; () for one value, which has no axes."""
    return tuple(int(i) for i in np.argwhere(where)[0])
