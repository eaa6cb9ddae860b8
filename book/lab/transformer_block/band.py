"""Networks of a few ReLU units that pick out the middle of a range.

Each function returns weights in the form that :func:`multilayer_perceptron` takes: a list of
(W, b), W stored (out, in), with ReLU behind the first layer.
"""

import numpy as np
from numpy import ndarray

from mathlm.errors import InputError, InputTypeError
from mathlm.reference.arrays import finite_array, require_same_shape
from mathlm.reference.network.constructions import Weights
from mathlm.shapes import Float


def band_network(low: float | int, high: float | int) -> Weights:
    """Two ReLU units whose sum is positive inside a range and nowhere else.

    Computes::

        y(r) = (ReLU(r - low) - 2 ReLU(r - c)) / δ,   c = (low + high)/2,   δ = (high - low)/2

    y is 0 up to ``low``, 1 in the middle c, 0 again at ``high`` and negative beyond it, so that
    y > t cuts out the range c ± (1 - t) δ for every threshold 0 < t < 1. On the sum of two bits
    the range from 0 to 2 is XOR.

    Args:
        low: Where the range begins.
        high: Where it ends.

    Returns:
        Weights of the layers 1 → 2 → 1.

    Raises:
        InputError: If the ends are not finite, or ``low`` is not below ``high``.

    Example:
        >>> [(w.tolist(), b.tolist()) for w, b in band_network(0, 2)]
        [([[1.0], [1.0]], [-0.0, -1.0]), ([[1.0, -2.0]], [0.0])]
    """
    half, middle = _half_and_middle(low, high)
    read = np.ones((2, 1))
    return [(read, -np.array([low, middle])), (np.array([[1.0, -2.0]]) / half, np.zeros(1))]


def ratio_band_network(low: float | int, high: float | int) -> Weights:
    """Three ReLU units that see whether the ratio of two positive numbers is in a range.

    Implements eq-ratio-band::

        h = (ReLU(x₁ + x₂), ReLU(x₂ - low x₁), ReLU(x₂ - c x₁)),   c = (low + high)/2
        y = (h₁, (h₂ - 2 h₃) / δ),   δ = (high - low)/2

    No division: y₂ = x₁ times what :func:`band_network` gives for x₂/x₁, so it is positive
    exactly where low < x₂/x₁ < high. y₁ is the sum, which keeps apart what y₂ makes equal.

    Args:
        low: Smallest ratio x₂/x₁ of the range.
        high: Largest ratio.

    Returns:
        Weights of the layers 2 → 3 → 2.

    Raises:
        InputError: If the ends are not finite, or ``low`` is not below ``high``.
    """
    half, middle = _half_and_middle(low, high)
    W_in = np.array([[1.0, 1.0], [-low, 1.0], [-middle, 1.0]])
    W_out = np.array([[1.0, 0.0, 0.0], [0.0, 1.0 / half, -2.0 / half]])
    return [(W_in, np.zeros(3)), (W_out, np.zeros(2))]


def switch_network() -> Weights:
    """XOR by three units: first switch on, second switch on, both on.

    Computes::

        y = 2 ReLU(x₁ - ½) + 2 ReLU(x₂ - ½) - 4 ReLU(x₁ + x₂ - 3/2)

    A unit that is on gives ½, not 1, for bits that are 0 or 1; so the weights behind it are
    twice those of steps, 1, 1 and -2.

    Returns:
        Weights of the layers 2 → 3 → 1.
    """
    W_in = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    return [(W_in, np.array([-0.5, -0.5, -1.5])), (np.array([[2.0, 2.0, -4.0]]), np.zeros(1))]


def threshold_margin(scores: Float[ndarray, " N"], positive: ndarray) -> float:
    """How far the scores of one class lie above all others; below 0, no threshold parts them.

    Computes::

        margin = min(scores of the class) - max(scores of the rest)

    Args:
        scores: One score for each example.
        positive: bool (N,), True for the class that should be above the threshold.

    Returns:
        The margin; every threshold in a positive margin separates the two.

    Raises:
        InputError: If the lengths differ, a score is not finite, or a class is empty.
        InputTypeError: If ``positive`` is not boolean.
    """
    scores, positive = finite_array(scores, "scores"), np.asarray(positive)
    if positive.dtype != bool:
        raise InputTypeError(f"positive must be bool, got {positive.dtype}")
    require_same_shape(scores, positive, ("scores", "positive"))
    if positive.all() or not positive.any():
        raise InputError(f"{int(positive.sum())} of {positive.size} are positive: give both")
    return float(scores[positive].min() - scores[~positive].max())


def _half_and_middle(low: float | int, high: float | int) -> tuple[float, float]:
    half, middle = high / 2 - low / 2, low / 2 + high / 2
    if not (np.isfinite([low, high]).all() and low < middle < high and half > 1e-300):
        raise InputError(
            f"low={low} must be below high={high}, both finite, with a number in between"
        )
    return half, middle


__all__ = ["band_network", "ratio_band_network", "switch_network", "threshold_margin"]
