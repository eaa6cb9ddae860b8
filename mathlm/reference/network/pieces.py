"""The linear pieces of a ReLU network on a line, counted exactly."""

from collections.abc import Sequence

import numpy as np
from numpy import ndarray

from ...errors import InputError

TOLERANCE = 1e-9  # relative to the length of the interval, and to the largest slope


def linear_pieces(
    weights: Sequence[tuple[ndarray, ndarray | None]], low: float | int, high: float | int
) -> ndarray:
    """Ends of the intervals on which a ReLU network with one input and one output is linear.

    Computes::

        low = t_0 < t_1 < ... < t_P = high,   the slope differs between neighboring intervals

    A layer is affine between two knots of the layer below, so a unit changes sign there at most
    once, at a point that linear interpolation finds. Nothing is sampled.

    Args:
        weights: (W, b) of every layer, W stored (out, in); ReLU after all but the last.
        low: Left end of the interval.
        high: Right end.

    Returns:
        The P + 1 knots of P pieces.

    Raises:
        InputError: If low < high does not hold or an end is infinite, if the network has not
            one input and one output, if layers do not fit, or if a weight is not finite.

    Example:
        >>> W, b = np.ones((2, 1)), np.array([0.0, -1.0])  # units that begin at 0 and at 1
        >>> linear_pieces([(W, b), (np.array([[1.0, 1.0]]), None)], -2, 2).tolist()
        [-2.0, 0.0, 1.0, 2.0]
    """
    _require_line(weights, low, high)
    knots = np.array([low, high], dtype=float)
    h = knots[:, None]
    for W, b in weights[:-1]:
        z = _affine(h, W, b)
        crossings = _crossings(knots, z)
        finer = _merged(np.concatenate([knots, crossings]), high - low)
        z = np.stack([np.interp(finer, knots, column) for column in z.T], axis=1)
        knots, h = finer, np.maximum(z, 0.0)
    return _without_straight(knots, _affine(h, *weights[-1])[:, 0])


def _affine(h: ndarray, W: ndarray, b: ndarray | None) -> ndarray:
    return h @ W.T if b is None else h @ W.T + b


def _crossings(knots: ndarray, z: ndarray) -> ndarray:
    """Where a column of z, linear between knots, passes through zero inside an interval."""
    left, right = z[:-1], z[1:]
    interval, unit = np.nonzero(np.sign(left) * np.sign(right) < 0)  # left * right may be 0
    a, b = left[interval, unit], right[interval, unit]
    return knots[interval] + (knots[interval + 1] - knots[interval]) * a / (a - b)


def _merged(points: ndarray, length: float | int) -> ndarray:
    """Sorted points, without those that agree with their neighbor or the end up to rounding."""
    points = np.sort(points)
    keep = np.diff(points, prepend=-np.inf) > TOLERANCE * length
    keep &= points[-1] - points > TOLERANCE * length
    keep[-1] = True
    return points[keep]


def _without_straight(knots: ndarray, y: ndarray) -> ndarray:
    """The knots at which the slope changes, and the two ends."""
    gaps = np.diff(knots)
    slopes = np.diff(y) / gaps
    steepest = np.abs(slopes).max()
    size = np.abs(y).max() + steepest * np.abs(knots).max()
    noise = 4 * np.finfo(float).eps * size / gaps  # of a slope, from the rounding of its ends
    bends = np.abs(np.diff(slopes)) > TOLERANCE * steepest + noise[:-1] + noise[1:]
    return knots[np.concatenate([[True], bends, [True]])]


def _require_line(
    weights: Sequence[tuple[ndarray, ndarray | None]], low: float | int, high: float | int
) -> None:
    if not low < high or not np.isfinite([low, high]).all():
        raise InputError(f"low={low} must be less than high={high}, and both finite")
    shapes = [np.shape(W) for W, _ in weights]
    if not shapes or shapes[0][1:] != (1,) or shapes[-1][:1] != (1,):
        raise InputError(f"the network must have one input and one output, found W {shapes}")
    widths = [1, *(shape[0] for shape in shapes)]
    for i, (W, b) in enumerate(weights):
        bias = widths[i + 1 : i + 2] if b is None else [*np.shape(b)]
        if [*np.shape(W), *bias] != [widths[i + 1], widths[i], widths[i + 1]]:
            raise InputError(
                f"layer {i + 1}: W {np.shape(W)} and b ({bias[0]},) do not fit an input of "
                f"width {widths[i]}; W is stored (out, in)"
            )
    if not all(
        np.isfinite(part).all() for layer in weights for part in layer if part is not None
    ):
        raise InputError("every weight must be finite")


__all__ = ["linear_pieces"]
