"""A linear map with a low-rank update, and its hand-derived backward pass."""

from typing import Any

import numpy as np
from numpy import ndarray

from ...errors import InputError
from ...shapes import Float
from .affine import linear


def low_rank_linear(
    x: Float[ndarray, "..."],
    W: Float[ndarray, "O I"],
    A: Float[ndarray, "R I"],
    B: Float[ndarray, "O R"],
    scale: float | int = 1.0,
) -> tuple[Float[ndarray, "... O"], Any]:
    """Map each row vector by a matrix and its low-rank update.

    Implements eq-small-lora::

        y = x Wᵀ + s x Aᵀ Bᵀ

    Args:
        x: Input vectors (..., I), one a row.
        W: Weights, stored (out, in).
        A: Reads r numbers from an input.
        B: Writes them to the outputs.
        scale: s.

    Returns:
        y, and the cache that :func:`low_rank_linear_backward` needs.

    Raises:
        InputError: If the shapes do not fit.

    References:
        Hu et al. (2021), arXiv:2106.09685, eq. (3).
    """
    if A.shape[1] != W.shape[1] or B.shape[0] != W.shape[0] or A.shape[0] != B.shape[1]:
        raise InputError(
            f"A of shape {A.shape} and B of shape {B.shape} do not fit W of shape {W.shape}: "
            "expected (r, in) and (out, r)"
        )
    h, _ = linear(x, A)  # (..., R)
    y = linear(x, W)[0] + scale * linear(h, B)[0]
    return y, (x, h, W, A, B, scale)


def low_rank_linear_backward(dy: Float[ndarray, "..."], cache: Any) -> tuple[ndarray, ...]:
    """Gradients of a linear map with a low-rank update, summed over all rows.

    Implements eq-small-lora-backward::

        dh = s dy B,   dx = dy W + dh A,   dW = dyᵀ x,   dA = dhᵀ x,   dB = s dyᵀ h,   h = x Aᵀ

    With dW known these are dA = s Bᵀ dW and dB = s dW Aᵀ: where B = 0, A gets no gradient. A
    map that is not trained has no use for dW.

    Args:
        dy: Gradient of the loss in y, of its shape.
        cache: Second value of :func:`low_rank_linear`.

    Returns:
        (dx, dW, dA, dB).

    Raises:
        InputError: If dy has not the shape of y.
    """
    x, h, W, A, B, scale = cache
    expected = (*x.shape[:-1], W.shape[0])
    if dy.shape != expected:
        raise InputError(f"dy has shape {dy.shape}, but y has {expected}")
    dh = scale * (dy @ B)  # (..., R)
    dx = dy @ W + dh @ A
    rows_x, rows_h, rows_dy, rows_dh = (_rows(a) for a in (x, h, dy, dh))
    return dx, rows_dy.T @ rows_x, rows_dh.T @ rows_x, scale * (rows_dy.T @ rows_h)


def _rows(x: ndarray) -> ndarray:
    return np.reshape(x, (-1, x.shape[-1]))
