"""How many regions hyperplanes can cut a space into."""

import math
from numbers import Integral

from mathlm.errors import InputError, InputTypeError


def most_regions(n: int, dim: int) -> int:
    """Largest number of regions that n hyperplanes cut a space of ``dim`` dimensions into.

    Implements eq-line-regions::

        R(n, d) = Σ_{k=0}^{d} C(n, k)

    A layer of n ReLU units has at most so many on-off patterns. Hyperplanes in general position
    reach it: no two parallel, no more than d through a point.

    Args:
        n: Hyperplanes.
        dim: d.

    Returns:
        An exact integer, however large.

    Raises:
        InputTypeError: If an argument is no integer.
        InputError: If one of them is negative.

    Example:
        >>> [most_regions(n, 2) for n in range(5)]
        [1, 2, 4, 7, 11]
    """
    for name, value in (("n", n), ("dim", dim)):
        if not isinstance(value, Integral) or isinstance(value, bool):
            raise InputTypeError(f"{name}={value!r} must be an integer")
        if value < 0:
            raise InputError(f"{name}={value} must not be negative")
    return sum(math.comb(n, k) for k in range(min(n, dim) + 1))


__all__ = ["most_regions"]
