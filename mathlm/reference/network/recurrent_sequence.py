"""Recurrent networks over whole sequences, and backpropagation through time."""

from typing import Any

import numpy as np
from numpy import ndarray

from ...errors import InputError
from ...shapes import Bool, Float
from .recurrent import (
    gru_cell,
    gru_cell_backward,
    lstm_cell,
    lstm_cell_backward,
    rnn_cell,
    rnn_cell_backward,
)
from .recurrent_checks import (
    State,
    parts_of,
    require_parts,
    require_sequence,
    require_shape,
    require_weights,
    whole,
)

Array = Float[ndarray, "..."]
Mask = Bool[ndarray, "..."]
Gradients = tuple  # dx, gradient in the initial state, dW_ih, dW_hh, db_ih, db_hh
CELLS: dict[str, tuple[Any, Any]] = {
    "rnn": (rnn_cell, rnn_cell_backward),
    "lstm": (lstm_cell, lstm_cell_backward),
    "gru": (gru_cell, gru_cell_backward),
}


def rnn(
    x: Array,
    state: Array | None,
    W_ih: Float[ndarray, "G D"],
    W_hh: Float[ndarray, "G H"],
    b_ih: Array | None = None,
    b_hh: Array | None = None,
    mask: Mask | None = None,
) -> tuple[tuple[Float[ndarray, "B T H"], Float[ndarray, "B H"]], tuple]:
    """Read sequences from left to right with :func:`rnn_cell`, the same weights at each step.

    Computes::

        hₜ = rnn_cell(xₜ, hₜ₋₁),   yₜ = hₜ,   t = 1 … T

    A padded step leaves the state as it is, and its output is 0; what stands in x there does
    not matter, NaN included.

    Args:
        x: Inputs (B, T, D).
        state: h₀ (B, H); None = zeros.
        W_ih: Weights (H, D) of the input.
        W_hh: Weights (H, H) of the state.
        b_ih: Shift (H), or None.
        b_hh: Shift (H), or None.
        mask: True where a step is real, (B, T); None = everywhere.

    Returns:
        (y, h_T), and the cache that :func:`rnn_backward` needs.

    Raises:
        InputError: If shapes do not fit, a sequence is empty, or a number at a real step is
            NaN or infinite.
        InputTypeError: If the mask is not boolean.
    """
    return _read("rnn", x, state, (W_ih, W_hh, b_ih, b_hh), mask)


def rnn_backward(
    dy: tuple[Array, Array | None], cache: tuple, truncate: int | None = None
) -> Gradients:
    """Backpropagation through time for :func:`rnn`.

    Implements eq-bptt::

        from t = T down to 1:   (dxₜ, dhₜ₋₁, dWₜ) = rnn_cell_backward(dyₜ + dhₜ)
        dW = Σ dWₜ,   with dh_T given

    Args:
        dy: Gradients of the loss in y (B, T, H) and in the final state; None = zeros.
        cache: Second output of :func:`rnn`.
        truncate: Steps k of a stretch in truncated backpropagation: no gradient passes from
            step nk + 1 to step nk, n ≥ 1. None = the exact gradient.

    Returns:
        dx, gradient in the initial state, dW_ih, dW_hh, db_ih, db_hh; dx is 0 where padded.

    Raises:
        InputError: If a gradient has the wrong shape, or ``truncate`` is no positive integer.

    References:
        Werbos (1990); truncation: Williams and Peng (1990).
    """
    return _read_backward("rnn", dy, cache, truncate)


def lstm(
    x: Array,
    state: tuple[Array, Array] | None,
    W_ih: Float[ndarray, "G D"],
    W_hh: Float[ndarray, "G H"],
    b_ih: Array | None = None,
    b_hh: Array | None = None,
    mask: Mask | None = None,
) -> tuple[tuple[Float[ndarray, "B T H"], tuple[ndarray, ndarray]], tuple]:
    """Read sequences from left to right with :func:`lstm_cell`, the same weights at each step.

    Computes::

        (hₜ, cₜ) = lstm_cell(xₜ, (hₜ₋₁, cₜ₋₁)),   yₜ = hₜ,   t = 1 … T

    Padding is treated as in :func:`rnn`.

    Args:
        x: Inputs (B, T, D).
        state: (h₀, c₀), both (B, H); None = zeros.
        W_ih: Weights (4H, D) of the input.
        W_hh: Weights (4H, H) of the hidden state.
        b_ih: Shift (4H), or None.
        b_hh: Shift (4H), or None.
        mask: True where a step is real, (B, T); None = everywhere.

    Returns:
        (y, (h_T, c_T)), and the cache that :func:`lstm_backward` needs.

    Raises:
        InputError: As :func:`rnn`.
        InputTypeError: If the mask is not boolean.
    """
    return _read("lstm", x, state, (W_ih, W_hh, b_ih, b_hh), mask)


def lstm_backward(
    dy: tuple[Array, tuple[Array, Array] | None], cache: tuple, truncate: int | None = None
) -> Gradients:
    """Backpropagation through time for :func:`lstm`.

    Computes::

        from t = T down to 1:   (dxₜ, (dhₜ₋₁, dcₜ₋₁), dWₜ) = lstm_cell_backward(dyₜ + dhₜ, dcₜ)
        dW = Σ dWₜ,   with (dh_T, dc_T) given

    Args:
        dy: Gradients in y (B, T, H) and in the final state (h, c); None = zeros.
        cache: Second output of :func:`lstm`.
        truncate: As in :func:`rnn_backward`.

    Returns:
        dx, (dh₀, dc₀), dW_ih, dW_hh, db_ih, db_hh; dx is 0 where padded.

    Raises:
        InputError: If a gradient has the wrong shape, or ``truncate`` is no positive integer.
    """
    return _read_backward("lstm", dy, cache, truncate)


def gru(
    x: Array,
    state: Array | None,
    W_ih: Float[ndarray, "G D"],
    W_hh: Float[ndarray, "G H"],
    b_ih: Array | None = None,
    b_hh: Array | None = None,
    mask: Mask | None = None,
) -> tuple[tuple[Float[ndarray, "B T H"], Float[ndarray, "B H"]], tuple]:
    """Read sequences from left to right with :func:`gru_cell`, the same weights at each step.

    Computes::

        hₜ = gru_cell(xₜ, hₜ₋₁),   yₜ = hₜ,   t = 1 … T

    Padding is treated as in :func:`rnn`.

    Args:
        x: Inputs (B, T, D).
        state: h₀ (B, H); None = zeros.
        W_ih: Weights (3H, D) of the input.
        W_hh: Weights (3H, H) of the state.
        b_ih: Shift (3H), or None.
        b_hh: Shift (3H), or None.
        mask: True where a step is real, (B, T); None = everywhere.

    Returns:
        (y, h_T), and the cache that :func:`gru_backward` needs.

    Raises:
        InputError: As :func:`rnn`.
        InputTypeError: If the mask is not boolean.
    """
    return _read("gru", x, state, (W_ih, W_hh, b_ih, b_hh), mask)


def gru_backward(
    dy: tuple[Array, Array | None], cache: tuple, truncate: int | None = None
) -> Gradients:
    """Backpropagation through time for :func:`gru`.

    Computes::

        from t = T down to 1:   (dxₜ, dhₜ₋₁, dWₜ) = gru_cell_backward(dyₜ + dhₜ)
        dW = Σ dWₜ,   with dh_T given

    Args:
        dy: Gradients in y (B, T, H) and in the final state; None = zeros.
        cache: Second output of :func:`gru`.
        truncate: As in :func:`rnn_backward`.

    Returns:
        dx, dh₀, dW_ih, dW_hh, db_ih, db_hh; dx is 0 where padded.

    Raises:
        InputError: If a gradient has the wrong shape, or ``truncate`` is no positive integer.
    """
    return _read_backward("gru", dy, cache, truncate)


def _read(kind: str, x: ndarray, state: State | None, weights: tuple, mask: Any) -> tuple:
    require_sequence(x, mask)
    B, T, D = x.shape
    H = require_weights(kind, D, *weights)
    parts = _initial(kind, state, (B, H))
    real = np.ones((B, T), dtype=bool) if mask is None else mask
    x = np.where(real[:, :, None], x, 0.0)
    y, caches = np.empty((B, T, H)), []
    for t in range(T):
        new, cache = CELLS[kind][0](x[:, t], whole(parts), *weights)
        parts = _select(real[:, t], parts_of(new), parts)
        y[:, t] = np.where(real[:, t, None], parts[0], 0.0)
        caches.append(cache)
    return (y, whole(parts)), (kind, caches, real, x.shape, H)


def _read_backward(kind: str, dy: tuple, cache: tuple, truncate: int | None) -> Gradients:
    above, dparts = _upstream(kind, dy, cache, truncate)
    _, caches, real, (B, T, D), _ = cache
    dx = np.empty((B, T, D))
    totals: list[Any] = [0.0, 0.0, 0.0, 0.0]
    nothing = tuple(np.zeros_like(d) for d in dparts)
    for t in reversed(range(T)):
        dnew = _select(real[:, t], (dparts[0] + above[:, t], *dparts[1:]), nothing)
        dx[:, t], dbefore, *dweights = CELLS[kind][1](whole(dnew), caches[t])
        dparts = _select(real[:, t], parts_of(dbefore), dparts)
        totals = [None if d is None else s + d for s, d in zip(totals, dweights, strict=True)]
        if truncate is not None and t > 0 and t % truncate == 0:
            dparts = nothing
    return (dx, whole(dparts), *totals)


def _select(real: ndarray, new: tuple, old: tuple) -> tuple[ndarray, ...]:
    """Rows of the new state where a step is real, of the old one where it is padding."""
    return tuple(np.where(real[:, None], a, b) for a, b in zip(new, old, strict=True))


def _initial(kind: str, state: State | None, shape: tuple[int, int]) -> tuple[ndarray, ...]:
    if state is None:
        return tuple(np.zeros(shape) for _ in ("hc" if kind == "lstm" else "h"))
    parts = require_parts(state, kind)
    for name, part in zip("hc", parts, strict=False):
        require_shape(part, shape, name, f"a batch of {shape[0]} with H={shape[1]}")
    return parts


def _upstream(kind: str, dy: tuple, cache: tuple, truncate: int | None) -> tuple:
    """Gradient in y, and the parts of that in the final state."""
    found, _, real, _, H = cache
    if found != kind:
        raise InputError(f"the cache is of {found}, not of {kind}: call {found}_backward")
    if truncate is not None and (not isinstance(truncate, int | np.integer) or truncate < 1):
        raise InputError(f"truncate={truncate} must be an integer of at least 1, or None")
    above, dfinal = dy
    require_shape(above, (*real.shape, H), "dy", "y")
    return above, _initial(kind, dfinal, (len(real), H))


__all__ = ["gru", "gru_backward", "lstm", "lstm_backward", "rnn", "rnn_backward"]
