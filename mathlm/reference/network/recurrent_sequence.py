"""Recurrent networks over whole sequences, and backpropagation through time."""

from typing import Any

import numpy as np
from numpy import ndarray

from ...errors import InputError
from ...shapes import Bool, Float
from .recurrent import (
    State,
    gru_cell,
    gru_cell_backward,
    lstm_cell,
    lstm_cell_backward,
    parts_of,
    require_parts,
    require_sequence,
    require_shape,
    require_weights,
    rnn_cell,
    rnn_cell_backward,
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

    Example:
        >>> one, x = np.ones((1, 1)), np.log([[[2.0], [2.0]]])
        >>> (y, state), cache = rnn(x, None, one, np.zeros((1, 1)))  # forgets: tanh(ln 2) = 3/5
        >>> y.round(4).ravel().tolist()
        [0.6, 0.6]
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

    Example:
        >>> one, x = np.ones((1, 1)), np.zeros((1, 3, 1))
        >>> (y, state), cache = rnn(x, None, one, 0.5 * one)  # tanh'(0) = 1
        >>> dx, dstate, *gradients = rnn_backward((np.zeros((1, 3, 1)), np.ones((1, 1))), cache)
        >>> dx.ravel().tolist(), dstate.ravel().tolist()  # half of it at each step back
        ([0.25, 0.5, 1.0], [0.125])

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

    Example:
        >>> zero = np.zeros((4, 1))  # all gates are σ(0) = 1/2, what could be new is 0
        >>> state = np.zeros((1, 1)), np.array([[8.0]])
        >>> (y, (h, c)), cache = lstm(np.zeros((1, 3, 1)), state, zero, zero)
        >>> y.shape, c.tolist()  # half of the cell is kept at each step
        ((1, 3, 1), [[1.0]])
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

    Example:
        >>> zero, nothing = np.zeros((4, 1)), np.zeros((1, 3, 1))
        >>> (y, state), cache = lstm(nothing, None, zero, zero)
        >>> dstate = np.zeros((1, 1)), np.ones((1, 1))  # in c alone
        >>> dx, (dh, dc), *gradients = lstm_backward((nothing, dstate), cache)
        >>> dc.tolist()  # half of it at each step back
        [[0.125]]
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

    Example:
        >>> zero = np.zeros((3, 1))  # the update gate is σ(0) = 1/2, what could be new is 0
        >>> (y, state), cache = gru(np.zeros((1, 3, 1)), np.array([[8.0]]), zero, zero)
        >>> y.ravel().tolist()
        [4.0, 2.0, 1.0]
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

    Example:
        >>> zero = np.zeros((3, 1))  # half of the state is kept at each step
        >>> (y, state), cache = gru(np.zeros((1, 3, 1)), None, zero, zero)
        >>> dx, dstate, *gradients = gru_backward((np.zeros((1, 3, 1)), np.ones((1, 1))), cache)
        >>> dstate.tolist()
        [[0.125]]
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


def rnn_cell_jacobian(cache: tuple) -> Float[ndarray, "*batch H H"]:
    """Derivative of one step of :func:`rnn_cell` in the state before it.

    Implements eq-rnn-jacobian::

        J = ∂h'/∂h = diag(1 - h'²) W_hh

    Args:
        cache: Second output of :func:`rnn_cell`.

    Returns:
        J, entry (i, j) the derivative of h'_i in h_j, for each row of the batch.

    Example:
        >>> from mathlm.reference import rnn_cell
        >>> W_hh = np.array([[0.5, 0.0], [2.0, 0.0]])
        >>> h, cache = rnn_cell(np.zeros(2), np.zeros(2), np.eye(2), W_hh)  # tanh'(0) = 1
        >>> rnn_cell_jacobian(cache).tolist()
        [[0.5, 0.0], [2.0, 0.0]]
    """
    _, (_, W_hh, _), y = cache
    return (1 - y**2)[..., None] * W_hh


def gru_cell_jacobian(cache: tuple) -> Float[ndarray, "*batch H H"]:
    """Derivative of one step of :func:`gru_cell` in the state before it.

    Computes::

        J = ∂h'/∂h = diag(z) + diag((h - n) z(1 - z)) W_z
            + diag((1 - z)(1 - n²)) (diag(r) W_n + diag(u_n r(1 - r)) W_r)

    W_r, W_z, W_n are the blocks of W_hh.

    Args:
        cache: Second output of :func:`gru_cell`.

    Returns:
        J, entry (i, j) the derivative of h'_i in h_j, for each row of the batch.

    Example:
        >>> from mathlm.reference import gru_cell
        >>> zero = np.zeros((3, 1))  # half of the state is kept
        >>> h, cache = gru_cell(np.ones(1), np.array([8.0]), zero, zero)
        >>> gru_cell_jacobian(cache).tolist()
        [[0.5]]
    """
    _, (_, W_hh, _), r, z, n, u_n, h = cache
    W_r, W_z, W_n = np.split(W_hh, 3)
    inside = _diag(r) @ W_n + _diag(u_n * r * (1 - r)) @ W_r  # of r ⊙ u_n
    through_n = _diag((1 - z) * (1 - n**2)) @ inside
    return _diag(z) + _diag((h - n) * z * (1 - z)) @ W_z + through_n


def lstm_cell_jacobian(cache: tuple) -> Float[ndarray, "*batch S S"]:
    """Derivative of one step of :func:`lstm_cell` in the whole state (h, c) before it.

    Computes::

        C = ∂c'/∂h = diag(c f(1 - f)) W_f + diag(g i(1 - i)) W_i + diag(i (1 - g²)) W_g
        ∂c'/∂c = diag(f),   q = o (1 - tanh²(c'))
        ∂h'/∂h = diag(q) C + diag(tanh(c') o(1 - o)) W_o,   ∂h'/∂c = diag(q f)
        J = [[∂h'/∂h, ∂h'/∂c], [∂c'/∂h, ∂c'/∂c]]

    W_i, W_f, W_g, W_o are the blocks of W_hh.

    Args:
        cache: Second output of :func:`lstm_cell`.

    Returns:
        J of S = 2H rows and columns, h first, for each row of the batch.

    Example:
        >>> from mathlm.reference import lstm_cell
        >>> zero, state = np.zeros((4, 1)), (np.zeros(1), np.zeros(1))
        >>> (h, c), cache = lstm_cell(np.ones(1), state, zero, zero)  # all gates are 1/2
        >>> lstm_cell_jacobian(cache).tolist()  # ∂h'/∂c = 1/4, ∂c'/∂c = 1/2
        [[0.0, 0.25], [0.0, 0.5]]
    """
    _, (_, W_hh, _), i, f, g, o, c, squashed = cache
    W_i, W_f, W_g, W_o = np.split(W_hh, 4)
    through_gates = _diag(c * f * (1 - f)) @ W_f + _diag(g * i * (1 - i)) @ W_i
    c_in_h = through_gates + _diag(i * (1 - g**2)) @ W_g
    q = o * (1 - squashed**2)
    h_in_h = _diag(q) @ c_in_h + _diag(squashed * o * (1 - o)) @ W_o
    upper = np.concatenate((h_in_h, _diag(q * f)), axis=-1)
    return np.concatenate((upper, np.concatenate((c_in_h, _diag(f)), axis=-1)), axis=-2)


def state_jacobians(cache: tuple) -> Float[ndarray, "B T S S"]:
    """Derivative of each state of a sequence in the one before it.

    Computes::

        Jₜ = ∂sₜ/∂sₜ₋₁,   s = h, or (h, c) for an LSTM

    At a padded step it is the identity.

    Args:
        cache: Second output of :func:`rnn`, :func:`lstm` or :func:`gru`.

    Returns:
        J₁ … J_T for each sequence; S is H, or 2H for an LSTM.

    Example:
        >>> one, x = np.ones((1, 1)), np.zeros((1, 3, 1))
        >>> (y, state), cache = rnn(x, None, one, 0.5 * one)  # tanh'(0) = 1
        >>> state_jacobians(cache).ravel().tolist()
        [0.5, 0.5, 0.5]
    """
    kind, caches, real, _, _ = cache
    jacobians = np.stack([JACOBIANS[kind](step) for step in caches], axis=1)
    return np.where(real[..., None, None], jacobians, np.eye(jacobians.shape[-1]))


def jacobian_products(
    jacobians: Float[ndarray, "*batch T S S"],
) -> Float[ndarray, "*batch T S S"]:
    """Derivative of each state in the initial one, by the chain rule.

    Implements eq-jacobian-product::

        Pₜ = ∂sₜ/∂s₀ = Jₜ Jₜ₋₁ … J₁

    Args:
        jacobians: J₁ … J_T, such as those of :func:`state_jacobians`.

    Returns:
        P₁ … P_T.

    Raises:
        InputError: If the matrices are not square, there is none, or a product overflows.

    Example:
        >>> jacobian_products(np.full((3, 1, 1), 0.5)).ravel().tolist()
        [0.5, 0.25, 0.125]
    """
    if jacobians.ndim < 3 or 0 in jacobians.shape or len({*jacobians.shape[-2:]}) != 1:
        raise InputError(
            f"jacobians have shape {jacobians.shape}, expected (..., T, S, S): a square "
            "matrix for each of at least one step"
        )
    products = jacobians.astype(np.float64)
    with np.errstate(over="ignore", invalid="ignore"):
        for t in range(1, jacobians.shape[-3]):
            products[..., t, :, :] = jacobians[..., t, :, :] @ products[..., t - 1, :, :]
    _require_finite_products(products)
    return products


def state_singular_values(cache: tuple) -> Float[ndarray, "B T S"]:
    """By how much each state stretches directions of the initial one.

    Computes::

        σ₁ ≥ … ≥ σ_S of Pₜ = ∂sₜ/∂s₀,   for t = 1 … T

    A small change ε of s₀ changes sₜ by at most σ₁ ‖ε‖, and a gradient in sₜ reaches s₀ with at
    most σ₁ times its norm. Values below 10⁻¹⁶ of the largest are rounding.

    Args:
        cache: Second output of :func:`rnn`, :func:`lstm` or :func:`gru`.

    Returns:
        Singular values, largest first.

    Raises:
        InputError: If a product of Jacobians overflows.

    Example:
        >>> one, x = np.ones((1, 1)), np.zeros((1, 3, 1))
        >>> (y, state), cache = rnn(x, None, one, 0.5 * one)  # tanh'(0) = 1
        >>> state_singular_values(cache).ravel().tolist()
        [0.5, 0.25, 0.125]
    """
    return np.linalg.svd(jacobian_products(state_jacobians(cache)), compute_uv=False)


JACOBIANS: dict[str, Any] = {
    "rnn": rnn_cell_jacobian,
    "lstm": lstm_cell_jacobian,
    "gru": gru_cell_jacobian,
}


def _diag(v: ndarray) -> ndarray:
    """Diagonal matrices, one for each row of v."""
    return v[..., None] * np.eye(v.shape[-1])


def _require_finite_products(products: ndarray) -> None:
    bad = ~np.isfinite(products).all((-2, -1))
    if bad.any():
        t = int(np.argwhere(bad)[:, -1].min()) + 1
        raise InputError(
            f"the product of the first {t} Jacobians is not finite: it overflows, or one of "
            "them holds NaN; use fewer steps or smaller weights"
        )
