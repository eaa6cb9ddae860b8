"""Checks of numbers that are counts, and of numbers that are rates."""

import math

from ..errors import InputError


def require_counts(least: int, **values: object) -> None:
    """Refuse what is not an integer of at least ``least``."""
    for name, value in values.items():
        if not isinstance(value, int) or isinstance(value, bool) or value < least:
            raise InputError(f"{name}={value!r} must be an integer of at least {least}")


def require_positive(**values: object) -> None:
    """Refuse what is not a positive, finite number."""
    for name, value in values.items():
        number = isinstance(value, int | float) and not isinstance(value, bool)
        if not number or not 0 < value < math.inf:  # type: ignore[operator]
            raise InputError(f"{name}={value!r} must be a positive, finite number")
