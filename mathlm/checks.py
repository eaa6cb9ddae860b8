"""Checks of numbers that several parts share: refused by name, value and the range expected."""

import math
import sys
from numbers import Integral, Real
from typing import Any

from .errors import InputError, InputTypeError


def require_integer(**values: object) -> None:
    """Refuse what is no integer; True and False are none.

    Example:
        >>> require_integer(seed=0.5)
        Traceback (most recent call last):
        mathlm.errors.InputTypeError: seed=0.5 must be an integer
    """
    for name, value in values.items():
        if not isinstance(value, Integral) or isinstance(value, bool):
            raise InputTypeError(f"{name}={value!r} must be an integer")


def require_counts(least: int, /, **values: object) -> None:
    """Refuse what is not an integer of at least ``least``.

    Example:
        >>> require_counts(1, batch=0)
        Traceback (most recent call last):
        mathlm.errors.InputError: batch=0 must be an integer of at least 1
    """
    for name, value in values.items():
        if not isinstance(value, int) or isinstance(value, bool) or value < least:
            raise InputError(f"{name}={value!r} must be an integer of at least {least}")


def python_number(value: Any) -> Any:
    """A number of NumPy or torch as one of Python, which cannot overflow; all else as it is.

    Example:
        >>> import numpy as np
        >>> python_number(np.arange(3).sum())
        3
    """
    return value.item() if getattr(value, "ndim", None) == 0 else value


def require_positive(**values: object) -> None:
    """Refuse what is not a positive, finite number.

    Example:
        >>> require_positive(lr=0)
        Traceback (most recent call last):
        mathlm.errors.InputError: lr=0 must be a positive, finite number
    """
    for name, value in values.items():
        if not 0 < _real(name, value) < math.inf:
            raise InputError(f"{name}={value!r} must be a positive, finite number")


def require_nonnegative(**values: object) -> None:
    """Refuse what is not a finite number of at least 0.

    Example:
        >>> require_nonnegative(beta=-1)
        Traceback (most recent call last):
        mathlm.errors.InputError: beta=-1 must be at least 0 and finite
    """
    for name, value in values.items():
        if not 0 <= _real(name, value) < math.inf:
            raise InputError(f"{name}={value!r} must be at least 0 and finite")


def require_share(**values: object) -> None:
    """Refuse what is no part of a whole: a number outside 0..1, or none.

    Example:
        >>> require_share(dropout=1.5)
        Traceback (most recent call last):
        mathlm.errors.InputError: dropout=1.5 is outside 0..1
    """
    for name, value in values.items():
        if not 0 <= _real(name, value) <= 1:
            raise InputError(f"{name}={value!r} is outside 0..1")


def _real(name: str, value: Any) -> Any:
    """A number as it is; NaN, which lies in no range, for everything else.

    Raises:
        InputError: If it is an integer beyond every float.
    """
    number = isinstance(value, Real) and not isinstance(value, bool)
    if isinstance(value, int) and abs(value) > sys.float_info.max:
        power = int(abs(value).bit_length() * math.log10(2))
        raise InputError(f"{name} is about 10^{power}, and the largest float is about 10^308")
    return value if number else math.nan


__all__ = [
    "python_number",
    "require_counts",
    "require_integer",
    "require_nonnegative",
    "require_positive",
    "require_share",
]
