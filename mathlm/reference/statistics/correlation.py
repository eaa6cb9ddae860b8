"""Do two lists agree? Correlation of values and of ranks, and how sure a sample makes it."""

from collections.abc import Callable

import numpy as np
from numpy import ndarray

from ...errors import InputError
from ..arrays import Numbers, finite_array, require_same_shape


def pearson(x: Numbers, y: Numbers) -> float:
    """How well one list is a straight line of the other.

    Computes::

        r = Σ_i (x_i - x̄)(y_i - ȳ) / √(Σ_i (x_i - x̄)² Σ_i (y_i - ȳ)²)

    Args:
        x: At least two numbers, not all equal.
        y: As many.

    Returns:
        r in [-1, 1]: the cosine of the two centered lists.

    Raises:
        InputTypeError: If an entry is no real number.
        InputError: If an entry is not finite, the lengths differ, or a list is constant.

    Example:
        >>> round(pearson([1, 2, 3], [2, 4, 6]), 6)
        1.0
    """
    x, y = _pair(x, y)
    return float(
        np.clip(_centered(x) @ _centered(y), -1.0, 1.0)
    )  # rounding can leave [-1, 1] by one unit


def average_ranks(x: Numbers) -> ndarray:
    """Place of each entry in the sorted list, from 1; equal entries share their mean place.

    Args:
        x: Numbers, along one axis.

    Returns:
        Ranks, of the length of x; they sum to n(n + 1)/2.

    Raises:
        InputTypeError: If an entry is no real number.
        InputError: If x is empty, not along one axis, or not finite.

    Example:
        >>> average_ranks([10, 30, 10, 20]).tolist()
        [1.5, 4.0, 1.5, 3.0]
    """
    x = finite_array(x, "x")
    if x.ndim != 1:
        raise InputError(f"x has shape {x.shape}, expected one axis")
    _, group, size = np.unique(x, return_inverse=True, return_counts=True)
    last = np.cumsum(size)  # highest place of each group of equal entries
    return (last - (size - 1) / 2)[group]


def spearman(x: Numbers, y: Numbers) -> float:
    """How well the order of one list is the order of the other.

    Implements eq-rank-correlation::

        ρ = r(rank(x), rank(y))

    Any increasing map of x or of y leaves it as it is, so that cosines can be held against
    ratings on another scale. Ties get the mean of their ranks.

    Args:
        x: At least two numbers, not all equal.
        y: As many.

    Returns:
        ρ in [-1, 1].

    Raises:
        InputTypeError: If an entry is no real number.
        InputError: If an entry is not finite, the lengths differ, or a list is constant.

    Example:
        >>> round(spearman([1, 2, 3], [1, 10, 1000]), 6)  # only the order counts
        1.0
    """
    x, y = _pair(x, y)
    return pearson(average_ranks(x), average_ranks(y))


def bootstrap_interval(
    statistic: Callable[[ndarray, ndarray], float],
    x: Numbers,
    y: Numbers,
    rng: np.random.Generator,
    draws: int = 1000,
    level: float = 0.95,
) -> tuple[float, float]:
    """Range of a statistic over samples drawn anew, with replacement, from the pairs.

    Args:
        statistic: From two lists to a number, such as :func:`spearman`.
        x: First entry of each pair.
        y: Second entry of each pair.
        rng: Generator of the draws.
        draws: How many samples, each as large as the first.
        level: Share of them inside the range.

    Returns:
        The (1 - level)/2 quantile and the (1 + level)/2 quantile.

    Raises:
        InputTypeError: If an entry is no real number.
        InputError: If an entry is not finite, the lengths differ, ``draws`` is not positive,
            ``level`` is not between 0 and 1, the statistic of a sample is not finite, or a
            list is constant; a sample may be so too if the list is short.

    Example:
        >>> x, rng = np.arange(10.0), np.random.default_rng(0)
        >>> low, high = bootstrap_interval(spearman, x, 2 * x, rng, draws=20)
        >>> round(low, 6), round(high, 6)  # every sample is in order
        (1.0, 1.0)

    References:
        Efron (1979), Bootstrap methods: another look at the jackknife.
    """
    x, y = _pair(x, y)
    if draws < 1 or not 0 < level < 1:
        raise InputError(f"draws={draws} must be positive, and level={level} in (0, 1)")
    samples = rng.integers(len(x), size=(draws, len(x)))
    values = [float(statistic(x[rows], y[rows])) for rows in samples]
    if not np.isfinite(values).all():
        raise InputError(
            f"the statistic of {draws} samples is not finite in some: {values[:3]}"
        )
    low, high = np.quantile(values, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)


def _pair(x: Numbers, y: Numbers) -> tuple[ndarray, ndarray]:
    """Two lists of one length, at least 2, neither of them constant."""
    x, y = finite_array(x, "x"), finite_array(y, "y")
    require_same_shape(x, y, ("x", "y"))
    if x.ndim != 1 or len(x) < 2:
        raise InputError(f"x has shape {x.shape}, expected one axis of at least 2 entries")
    for name, values in (("x", x), ("y", y)):
        if values.min() == values.max():
            raise InputError(f"all {len(x)} entries of {name} are {values[0]}: nothing to rank")
    return x, y


def _centered(x: ndarray) -> ndarray:
    """The entries less their mean, of length 1 together."""
    centered = x / np.abs(x).max()  # no square can overflow
    centered = centered - centered.mean()
    centered = centered - centered.mean()  # what rounding left of the mean
    return centered / np.linalg.norm(centered)


__all__ = ["average_ranks", "bootstrap_interval", "pearson", "spearman"]
