"""What the verdicts of a judge who sees two answers in both orders owe to place."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mathlm.errors import InputError

Array = NDArray[np.float64]


def by_exchange(odds: ArrayLike) -> tuple[Array, Array]:
    """Position bias and preference, from verdicts on both orders of each pair.

    Implements eq-reward-judge::

        z_ij = b + Δ,  z_ji = b - Δ   →   b = (z_ij + z_ji) / 2,   Δ = (z_ij - z_ji) / 2

    Args:
        odds: (N, 2): log-odds that the judge names the first place, for the pair as it stands
            and exchanged.

    Returns:
        b and Δ of each pair [nats].

    Raises:
        InputError: If there are not two orders of each pair.
    """
    z = np.asarray(odds, dtype=np.float64)
    if z.ndim != 2 or z.shape[1] != 2:
        raise InputError(f"odds {z.shape} must be (N, 2): each pair in both orders")
    return (z[:, 0] + z[:, 1]) / 2, (z[:, 0] - z[:, 1]) / 2


def interval(values: ArrayLike) -> tuple[float, float]:
    """Mean, and half of its 95 % interval by the spread of the values."""
    x = np.asarray(values, dtype=np.float64)
    return float(x.mean()), float(1.96 * x.std(ddof=1) / np.sqrt(len(x)))
