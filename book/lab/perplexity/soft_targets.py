"""What a perfect learner says that was trained on smoothed labels, and the way back."""

import numpy as np
from numpy import ndarray

from mathlm.errors import InputError
from mathlm.reference.statistics.information import Numbers, require_distribution
from mathlm.shapes import Float


def smoothed_target(p: Numbers, smoothing: float | int) -> Float[ndarray, "*batch V"]:
    """Distribution with a share spread evenly over all outcomes.

    Implements eq-smoothed-optimum::

        q = (1 - ε) p + ε / V

    Args:
        p: Probabilities along the last axis: a label, or what truly follows.
        smoothing: ε in [0, 1].

    Returns:
        q, what a perfect learner says that is trained on labels drawn from p and smoothed.

    Raises:
        InputError: If p is no distribution, or ε is outside 0..1.

    Example:
        >>> smoothed_target([0.0, 1.0], 0.1).round(3).tolist()
        [0.05, 0.95]
    """
    p = require_distribution(p, "p")
    if not 0 <= smoothing <= 1:
        raise InputError(
            f"smoothing={smoothing} is outside 0..1: it is the share spread evenly"
        )
    return (1 - smoothing) * p + smoothing / p.shape[-1]


def unsmoothed(q: Numbers, smoothing: float | int) -> Float[ndarray, "*batch V"]:
    """The distribution behind a smoothed one.

    Implements eq-smoothed-optimum::

        p = (q - ε / V) / (1 - ε)

    Args:
        q: Of :func:`smoothed_target`, with every entry at least ε / V.
        smoothing: ε in [0, 1).

    Returns:
        p.

    Raises:
        InputError: If q is no distribution, ε is outside 0..1 or 1, or an entry of q is below
            ε / V: no distribution was smoothed to it.
    """
    q = require_distribution(q, "q")
    if not 0 <= smoothing < 1:
        raise InputError(f"smoothing={smoothing} must be at least 0 and below 1")
    floor = smoothing / q.shape[-1]
    if q.min() < floor - 1e-12:
        raise InputError(
            f"the smallest entry {q.min():.6g} is below ε / V = {floor:.6g}: q is not smoothed "
            f"with ε = {smoothing}"
        )
    return np.maximum(q - floor, 0) / (1 - smoothing)


__all__ = ["smoothed_target", "unsmoothed"]
