"""Recurrent cells, one step each, and their hand-derived backward passes.

Weights are laid out as torch's: the blocks of all gates are stacked in the rows of ``W_ih``
(gates · H, D) and ``W_hh`` (gates · H, H), LSTM in the order i, f, g, o and GRU in the order
r, z, n; both sums have a bias of their own. A bias may be None, and so is then its gradient.
"""

import numpy as np
from numpy import ndarray

from ...errors import InputError, InputTypeError
from ...shapes import Float
from ..arrays import Numbers, finite_array
from .activation import sigmoid
from .linear import linear, linear_backward

State = ndarray | tuple[ndarray, ndarray]
GATES = {"rnn": 1, "lstm": 4, "gru": 3}  # blocks of H rows in the weights


def parts_of(state: State) -> tuple[ndarray, ...]:
    """The state as a tuple: (h, c) of an LSTM, (h,) of the others."""
    return tuple(state) if isinstance(state, tuple | list) else (state,)


def whole(parts: tuple[ndarray, ...]) -> State:
    """Inverse of :func:`parts_of`."""
    return parts[0] if len(parts) == 1 else (parts[0], parts[1])


def require_parts(state: State, kind: str, name: str = "state") -> tuple[ndarray, ...]:
    """The parts of a state, or of its gradient, if there are as many as the cell has."""
    parts, wanted = parts_of(state), 2 if kind == "lstm" else 1
    if len(parts) != wanted:
        form = "the pair (h, c)" if kind == "lstm" else "one array h"
        raise InputError(f"{name} has {len(parts)} parts; that of the cell {kind!r} is {form}")
    return tuple(finite_array(part, f"{name} {'hc'[i]}") for i, part in enumerate(parts))


def require_weights(
    kind: str,
    width: int,
    W_ih: ndarray,
    W_hh: ndarray,
    b_ih: ndarray | None,
    b_hh: ndarray | None,
) -> int:
    """Refuse weights that do not fit the cell or inputs of this width; returns H."""
    for name, W in (("W_ih", W_ih), ("W_hh", W_hh), ("b_ih", b_ih), ("b_hh", b_hh)):
        if W is not None:
            finite_array(W, name)
    gates, H = GATES[kind], W_hh.shape[-1] if W_hh.ndim else 1
    rule = f"{gates} blocks of H={H} rows, stored (out, in)"
    if W_hh.shape != (gates * H, H):
        raise InputError(f"W_hh has shape {W_hh.shape}, expected {(gates * H, H)}: {rule}")
    if W_ih.shape != (gates * H, width):
        raise InputError(
            f"W_ih has shape {W_ih.shape}, but x of width {width} and W_hh of shape "
            f"{W_hh.shape} need {(gates * H, width)}: {rule}"
        )
    for name, b in (("b_ih", b_ih), ("b_hh", b_hh)):
        if b is not None and b.shape != (gates * H,):
            raise InputError(f"{name} has shape {b.shape}, expected {(gates * H,)}")
    return H


def require_shape(array: ndarray, shape: tuple[int, ...], name: str, other: str) -> None:
    """Refuse an array of another shape than ``other`` asks for."""
    if array.shape != shape:
        raise InputError(f"{name} has shape {array.shape}, but {other} needs {shape}")


def require_sequence(x: Numbers, mask: ndarray | None) -> None:
    """Refuse x without the axes (B, T, D) or without steps, and a mask that does not fit."""
    shape = getattr(x, "shape", ())
    if len(shape) != 3 or 0 in shape:
        raise InputError(
            f"x has shape {shape}, expected (B, T, D) with at least one sequence, step and "
            "feature"
        )
    if mask is None:
        return
    if mask.dtype.kind != "b":
        raise InputTypeError(
            f"mask has dtype {mask.dtype}; give booleans, True where a step is real"
        )
    require_shape(mask, shape[:2], "mask", f"x of shape {shape}")


Array = Float[ndarray, "..."]
Gradients = tuple  # dx, gradient in the state, dW_ih, dW_hh, db_ih, db_hh


def rnn_cell(
    x: Array,
    h: Array,
    W_ih: Float[ndarray, "G D"],
    W_hh: Float[ndarray, "G H"],
    b_ih: Array | None = None,
    b_hh: Array | None = None,
) -> tuple[Float[ndarray, "*batch H"], tuple]:
    """One step of a plain recurrent network.

    Implements eq-rnn-cell::

        h' = tanh(x W_ihᵀ + b_ih + h W_hhᵀ + b_hh)

    Args:
        x: Input of this step (..., D).
        h: Hidden state before it (..., H).
        W_ih: Weights (H, D) of the input.
        W_hh: Weights (H, H) of the state.
        b_ih: Shift (H), or None.
        b_hh: Shift (H), or None; only the sum of both matters.

    Returns:
        h', and the cache that :func:`rnn_cell_backward` needs.

    Raises:
        InputError: If shapes do not fit, or a number is NaN or infinite.

    Example:
        >>> x, h, one = np.log([2.0]), np.zeros(1), np.ones((1, 1))
        >>> h, cache = rnn_cell(x, h, one, one)  # tanh(ln 2) = 3/5
        >>> h.round(4)
        array([0.6])

    References:
        Elman (1990), Finding structure in time.
    """
    _require_step("rnn", x, h, (W_ih, W_hh, b_ih, b_hh))
    (z, input_cache), (u, state_cache) = _sums(x, h, (W_ih, W_hh, b_ih, b_hh))
    y = np.tanh(z + u)
    return y, (input_cache, state_cache, y)


def rnn_cell_backward(dy: Array, cache: tuple) -> Gradients:
    """Pull the gradient of the loss back through :func:`rnn_cell`.

    Computes::

        da = dh' ⊙ (1 - h'²)
        dx = da W_ih,   dh = da W_hh,   dW_ih = daᵀ x,   dW_hh = daᵀ h,   db_ih = db_hh = Σ da

    Args:
        dy: Gradient of the loss in h'.
        cache: Second output of :func:`rnn_cell`.

    Returns:
        dx, dh, dW_ih, dW_hh, db_ih, db_hh; the weights summed over the batch.

    Raises:
        InputError: If ``dy`` has not the shape of h'.

    Example:
        >>> x, h, one = np.log([2.0]), np.zeros(1), np.ones((1, 1))
        >>> y, cache = rnn_cell(x, h, one, one)  # tanh(ln 2) = 3/5
        >>> dx, dh, *gradients = rnn_cell_backward(np.ones(1), cache)
        >>> dx.round(4)  # 1 - (3/5)²
        array([0.64])
    """
    input_cache, state_cache, y = cache
    (dy,) = _gradient_parts("rnn", dy, y.shape)
    da = dy * (1 - y**2)
    return _collect(da, input_cache, da, state_cache)


def lstm_cell(
    x: Array,
    state: tuple[Array, Array],
    W_ih: Float[ndarray, "G D"],
    W_hh: Float[ndarray, "G H"],
    b_ih: Array | None = None,
    b_hh: Array | None = None,
) -> tuple[tuple[Float[ndarray, "*batch H"], Float[ndarray, "*batch H"]], tuple]:
    """One step of a long short-term memory.

    Implements eq-lstm-cell::

        (a_i, a_f, a_g, a_o) = x W_ihᵀ + b_ih + h W_hhᵀ + b_hh
        i = σ(a_i),   f = σ(a_f),   g = tanh(a_g),   o = σ(a_o)
        c' = f ⊙ c + i ⊙ g,   h' = o ⊙ tanh(c')

    Args:
        x: Input of this step (..., D).
        state: (h, c): hidden state and cell before it, both (..., H).
        W_ih: Weights (4H, D) of the input.
        W_hh: Weights (4H, H) of the hidden state.
        b_ih: Shift (4H), or None.
        b_hh: Shift (4H), or None; only the sum of both matters.

    Returns:
        (h', c'), and the cache that :func:`lstm_cell_backward` needs.

    Raises:
        InputError: If shapes do not fit, or a number is NaN or infinite.

    Example:
        >>> state = np.zeros(1), 2 * np.log([2.0])
        >>> zero = np.zeros((4, 1))  # all gates are σ(0) = 1/2
        >>> (h, c), cache = lstm_cell(np.ones(1), state, zero, zero)
        >>> h.round(4), np.exp(c).round(4)  # tanh(ln 2) / 2, and c = ln 2
        (array([0.3]), array([2.]))

    References:
        Hochreiter and Schmidhuber (1997); forget gate: Gers, Schmidhuber and Cummins (2000).
    """
    _require_step("lstm", x, state, (W_ih, W_hh, b_ih, b_hh))
    h, c = state
    (z, input_cache), (u, state_cache) = _sums(x, h, (W_ih, W_hh, b_ih, b_hh))
    a_i, a_f, a_g, a_o = np.split(z + u, 4, axis=-1)
    i, f, g, o = sigmoid(a_i)[0], sigmoid(a_f)[0], np.tanh(a_g), sigmoid(a_o)[0]
    c_new = f * c + i * g
    squashed = np.tanh(c_new)
    return (o * squashed, c_new), (input_cache, state_cache, i, f, g, o, c, squashed)


def lstm_cell_backward(dy: tuple[Array, Array], cache: tuple) -> Gradients:
    """Pull the gradient of the loss back through :func:`lstm_cell`.

    Implements eq-lstm-backward::

        δ = dc' + dh' ⊙ o ⊙ (1 - tanh²(c')),   dc = δ ⊙ f
        da_i = δ ⊙ g ⊙ i(1 - i),   da_f = δ ⊙ c ⊙ f(1 - f)
        da_g = δ ⊙ i ⊙ (1 - g²),   da_o = dh' ⊙ tanh(c') ⊙ o(1 - o)
        dx = da W_ih,   dh = da W_hh,   dW_ih = daᵀ x,   dW_hh = daᵀ h,   db_ih = db_hh = Σ da

    Args:
        dy: (dh', dc'): gradients of the loss in both outputs.
        cache: Second output of :func:`lstm_cell`.

    Returns:
        dx, (dh, dc), dW_ih, dW_hh, db_ih, db_hh; the weights summed over the batch.

    Raises:
        InputError: If ``dy`` is not a pair of the shape of h' and c'.

    Example:
        >>> zero, state = np.zeros((4, 1)), (np.zeros(1), np.zeros(1))
        >>> y, cache = lstm_cell(np.ones(1), state, zero, zero)  # all gates are 1/2
        >>> dx, (dh, dc), *gradients = lstm_cell_backward((np.ones(1), np.ones(1)), cache)
        >>> dc  # (1 + 1/2) / 2
        array([0.75])
    """
    input_cache, state_cache, i, f, g, o, c, squashed = cache
    dh_new, dc_new = _gradient_parts("lstm", dy, c.shape)
    dc_new = dc_new + dh_new * o * (1 - squashed**2)  # δ: all that reaches c'
    da_i = dc_new * g * i * (1 - i)
    da_f = dc_new * c * f * (1 - f)
    da_g = dc_new * i * (1 - g**2)
    da_o = dh_new * squashed * o * (1 - o)
    da = np.concatenate((da_i, da_f, da_g, da_o), axis=-1)
    dx, dh, *dweights = _collect(da, input_cache, da, state_cache)
    return (dx, (dh, dc_new * f), *dweights)


def gru_cell(
    x: Array,
    h: Array,
    W_ih: Float[ndarray, "G D"],
    W_hh: Float[ndarray, "G H"],
    b_ih: Array | None = None,
    b_hh: Array | None = None,
) -> tuple[Float[ndarray, "*batch H"], tuple]:
    """One step of a gated recurrent unit.

    Implements eq-gru-cell::

        (a_r, a_z, a_n) = x W_ihᵀ + b_ih,   (u_r, u_z, u_n) = h W_hhᵀ + b_hh
        r = σ(a_r + u_r),   z = σ(a_z + u_z),   n = tanh(a_n + r ⊙ u_n)
        h' = (1 - z) ⊙ n + z ⊙ h

    This is the form of torch and cuDNN. Cho et al. reset the state before the product,
    n = tanh(a_n + (r ⊙ h) W_nᵀ), where it is here reset after it, bias included: the same
    weights give other numbers. Papers also differ in which of z and 1 - z keeps the old state.

    Args:
        x: Input of this step (..., D).
        h: Hidden state before it (..., H).
        W_ih: Weights (3H, D) of the input.
        W_hh: Weights (3H, H) of the state.
        b_ih: Shift (3H), or None.
        b_hh: Shift (3H), or None; its last block is inside the reset, so it matters by itself.

    Returns:
        h', and the cache that :func:`gru_cell_backward` needs.

    Raises:
        InputError: If shapes do not fit, or a number is NaN or infinite.

    Example:
        >>> zero = np.zeros((3, 1))  # both gates are σ(0) = 1/2, what could be new is tanh(0)
        >>> h, cache = gru_cell(np.ones(1), np.array([8.0]), zero, zero)
        >>> h
        array([4.])

    References:
        Cho et al. (2014), arXiv:1406.1078, section 2.3.
    """
    _require_step("gru", x, h, (W_ih, W_hh, b_ih, b_hh))
    (a, input_cache), (u, state_cache) = _sums(x, h, (W_ih, W_hh, b_ih, b_hh))
    (a_r, a_z, a_n), (u_r, u_z, u_n) = np.split(a, 3, axis=-1), np.split(u, 3, axis=-1)
    r, z = sigmoid(a_r + u_r)[0], sigmoid(a_z + u_z)[0]
    n = np.tanh(a_n + r * u_n)
    return (1 - z) * n + z * h, (input_cache, state_cache, r, z, n, u_n, h)


def gru_cell_backward(dy: Array, cache: tuple) -> Gradients:
    """Pull the gradient of the loss back through :func:`gru_cell`.

    Implements eq-gru-backward::

        dn = dh' ⊙ (1 - z),   da_n = dn ⊙ (1 - n²)
        da_r = da_n ⊙ u_n ⊙ r(1 - r),   da_z = dh' ⊙ (h - n) ⊙ z(1 - z)
        da = (da_r, da_z, da_n),   du = (da_r, da_z, r ⊙ da_n)
        dx = da W_ih,   dh = du W_hh + dh' ⊙ z
        dW_ih = daᵀ x,   dW_hh = duᵀ h,   db_ih = Σ da,   db_hh = Σ du

    Args:
        dy: Gradient of the loss in h'.
        cache: Second output of :func:`gru_cell`.

    Returns:
        dx, dh, dW_ih, dW_hh, db_ih, db_hh; the weights summed over the batch.

    Raises:
        InputError: If ``dy`` has not the shape of h'.

    Example:
        >>> zero = np.zeros((3, 1))
        >>> y, cache = gru_cell(np.ones(1), np.array([8.0]), zero, zero)  # half of h
        >>> dx, dh, *gradients = gru_cell_backward(np.ones(1), cache)
        >>> dh
        array([0.5])
    """
    input_cache, state_cache, r, z, n, u_n, h = cache
    (dy,) = _gradient_parts("gru", dy, h.shape)
    da_n = dy * (1 - z) * (1 - n**2)
    da_r = da_n * u_n * r * (1 - r)
    da_z = dy * (h - n) * z * (1 - z)
    da = np.concatenate((da_r, da_z, da_n), axis=-1)
    du = np.concatenate((da_r, da_z, r * da_n), axis=-1)
    dx, dh, *dweights = _collect(da, input_cache, du, state_cache)
    return (dx, dh + dy * z, *dweights)


def _sums(x: ndarray, h: ndarray, weights: tuple) -> tuple:
    """The two linear maps of a cell, refused where they overflow."""
    W_ih, W_hh, b_ih, b_hh = weights
    with np.errstate(over="ignore", invalid="ignore"):
        from_input, from_state = linear(x, W_ih, b_ih), linear(h, W_hh, b_hh)
        finite_array(from_input[0] + from_state[0], "x W_ihᵀ + b_ih + h W_hhᵀ + b_hh")
    return from_input, from_state


def _collect(da: ndarray, input_cache: tuple, du: ndarray, state_cache: tuple) -> Gradients:
    """Gradients through the two linear maps of a cell, in the order of its arguments."""
    dx, dW_ih, *db_ih = linear_backward(da, input_cache)
    dh, dW_hh, *db_hh = linear_backward(du, state_cache)
    return dx, dh, dW_ih, dW_hh, db_ih[0] if db_ih else None, db_hh[0] if db_hh else None


def _require_step(kind: str, x: ndarray, state: State, weights: tuple) -> None:
    width = finite_array(x, "x").shape[-1:]
    H = require_weights(kind, width[0] if width else 1, *weights)
    for name, part in zip("hc", require_parts(state, kind), strict=False):
        require_shape(part, (*x.shape[:-1], H), name, f"x of {x.shape} with H={H}")


def _gradient_parts(kind: str, dy: State, shape: tuple[int, ...]) -> tuple[ndarray, ...]:
    parts = require_parts(dy, kind, "dy")
    for part in parts:
        require_shape(part, shape, "dy", "the state")
    return parts
