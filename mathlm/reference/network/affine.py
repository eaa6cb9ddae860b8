"""The linear layer, y = x Wᵀ + b, and its hand-derived backward pass."""

import math
from typing import Any

import numpy as np
from numpy import ndarray

from ...errors import InputError
from ...shapes import Float


def linear(
    x: Float[ndarray, "..."],
    W: Float[ndarray, "O I"],
    b: Float[ndarray, "..."] | None = None,
) -> tuple[Float[ndarray, "... O"], Any]:
    """Map each row vector by a matrix, then shift it.

    Implements eq-linear-layer::

        y = x Wᵀ + b

    Without b the map is linear; with b it is affine, which the field calls linear too. A square
    W that was stored the wrong way round has the right shape and gives wrong numbers.

    Args:
        x: Input vectors (..., I), one a row.
        W: Weights, stored (out, in): row i is what output i listens to.
        b: Shift (O), or None for none.

    Returns:
        y, and the cache that :func:`linear_backward` needs.

    Raises:
        InputError: If W is not a matrix of the width of x, or b has not one entry an output.
    """
    if W.ndim != 2 or x.ndim == 0 or x.shape[-1] != W.shape[1]:
        raise InputError(
            f"x of shape {x.shape} does not fit W of shape {W.shape}: "
            "the last axis of x must equal the second of W, which is stored (out, in)"
        )
    if b is not None and b.shape != W.shape[:1]:
        raise InputError(f"b has shape {b.shape}, expected {W.shape[:1]}: one entry an output")
    y = (_rows(x) @ W.T).reshape(*x.shape[:-1], W.shape[0])  # one product, not one a batch row
    if b is not None:
        y = y + b
    return y, (x, W, b is not None)


def linear_backward(dy: Float[ndarray, "..."], cache: Any) -> tuple[ndarray, ...]:
    """Gradients of a linear layer, summed over all rows.

    Implements eq-linear-backward::

        dx = dy W,   dW = dyᵀ x,   db = Σ dy

    Args:
        dy: Gradient of the loss in y, of its shape.
        cache: Second value of :func:`linear`.

    Returns:
        (dx, dW), and db if the layer had a shift.

    Raises:
        InputError: If dy has not the shape of y.
    """
    x, W, shifted = cache
    expected = (*x.shape[:-1], W.shape[0])
    if dy.shape != expected:
        raise InputError(f"dy has shape {dy.shape}, but y has {expected}")
    rows_x, rows_dy = _rows(x), _rows(dy)
    dx = (rows_dy @ W).reshape(x.shape)
    dW = rows_dy.T @ rows_x
    return (dx, dW, np.sum(rows_dy, axis=0)) if shifted else (dx, dW)


def _rows(x: ndarray) -> ndarray:
    return x.reshape(math.prod(x.shape[:-1]), x.shape[-1])


__all__ = ["linear", "linear_backward"]
