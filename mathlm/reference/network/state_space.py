"""State spaces with decay and the delta rule, token by token, with their backward passes."""

import numpy as np
from numpy import ndarray

from ...errors import InputError
from ...shapes import Float
from ..arrays import finite_array, gradient_array


def selective_scan(
    q: Float[ndarray, "*batch T N"],
    k: Float[ndarray, "*batch T N"],
    v: Float[ndarray, "*batch T P"],
    log_decay: Float[ndarray, "*batch T"],
) -> tuple[Float[ndarray, "*batch T P"], tuple]:
    """A selective state space with one decay for each token, from the state 0.

    Implements eq-state-space-recurrence::

        M_t = α_t M_{t-1} + k_tᵀ v_t,   y_t = q_t M_t,   α_t = exp(log_decay_t)

    Args:
        q: What reads the state.
        k: Where a token writes.
        v: What it writes.
        log_decay: log α.

    Returns:
        y, and the cache that :func:`selective_scan_backward` needs: it holds every state.

    Raises:
        InputError: If the shapes do not fit, or a number is NaN or infinite.

    Example:
        >>> one = np.ones((3, 1))
        >>> y, cache = selective_scan(one, one, one, np.log([0.5, 0.5, 0.5]))
        >>> y.ravel().round(6).tolist()  # each is 1 more than half of the one before
        [1.0, 1.5, 1.75]

    References:
        Dao and Gu (2024), arXiv:2405.21060.
    """
    q, k, v, log_decay = _fitting(q, k, v, log_decay)
    alpha = np.exp(log_decay)[..., None, None]  # (..., T, 1, 1)
    states = np.zeros((*k.shape, v.shape[-1]))  # (..., T, N, P)
    state = np.zeros_like(states[..., 0, :, :])
    for t in range(k.shape[-2]):
        state = alpha[..., t, :, :] * state + k[..., t, :, None] * v[..., t, None, :]
        states[..., t, :, :] = state
    y = (q[..., None, :] @ states)[..., 0, :]
    return y, (q, k, v, alpha, states)


def selective_scan_backward(
    dy: Float[ndarray, "*batch T P"], cache: tuple
) -> tuple[ndarray, ndarray, ndarray, ndarray]:
    """Pull the gradient of the loss back through :func:`selective_scan`.

    Implements eq-state-space-backward::

        G_t = α_{t+1} G_{t+1} + q_tᵀ dy_t,   from the last token to the first
        dq_t = dy_t M_tᵀ,   dk_t = v_t G_tᵀ,   dv_t = k_t G_t
        d log α_t = α_t ⟨G_t, M_{t-1}⟩

    G_t is the gradient in M_t; its recurrence is the forward one, read from the end.

    Args:
        dy: Gradient of the loss in y.
        cache: Second output of :func:`selective_scan`.

    Returns:
        dq, dk, dv, dlog_decay.

    Raises:
        InputError: If ``dy`` has not the shape of y, or is not finite.

    Example:
        >>> one = np.ones((3, 1))
        >>> y, cache = selective_scan(one, one, one, np.log([0.5, 0.5, 0.5]))
        >>> dq, dk, dv, dlog_decay = selective_scan_backward([[0.0], [0.0], [1.0]], cache)
        >>> dv.ravel().round(6).tolist()  # halved at each step back
        [0.25, 0.5, 1.0]
    """
    q, k, v, alpha, states = cache
    dy = gradient_array(dy, v.shape)
    grads = np.zeros_like(states)
    grad = np.zeros_like(states[..., 0, :, :])
    for t in reversed(range(k.shape[-2])):
        grad = grad + q[..., t, :, None] * dy[..., t, None, :]
        grads[..., t, :, :] = grad
        grad = alpha[..., t, :, :] * grad
    before = np.zeros_like(states)
    before[..., 1:, :, :] = states[..., :-1, :, :]  # M_{t-1}
    dq = (states @ dy[..., None])[..., 0]
    dk = (grads @ v[..., None])[..., 0]
    dv = (k[..., None, :] @ grads)[..., 0, :]
    dlog_decay = (alpha * grads * before).sum((-2, -1))
    return dq, dk, dv, dlog_decay


def delta_rule(
    q: Float[ndarray, "*batch T N"],
    k: Float[ndarray, "*batch T N"],
    v: Float[ndarray, "*batch T P"],
    beta: Float[ndarray, "*batch T"],
    log_decay: Float[ndarray, "*batch T"],
) -> tuple[Float[ndarray, "*batch T P"], tuple]:
    """A linear state that writes only what it does not say already, from the state 0.

    Implements eq-state-space-delta::

        M̄_t = α_t M_{t-1},   e_t = v_t - k_t M̄_t,   M_t = M̄_t + β_t k_tᵀ e_t,   y_t = q_t M_t

    Args:
        q: What reads the state.
        k: Where a token writes; of length 1 unless the state may grow.
        v: What the state shall say to k.
        beta: Share of the error that is corrected.
        log_decay: log α.

    Returns:
        y, and the cache that :func:`delta_rule_backward` needs.

    Raises:
        InputError: If the shapes do not fit, or a number is NaN or infinite.

    Example:
        >>> one, v = np.ones((2, 1)), np.full((2, 1), 3.0)
        >>> y, cache = delta_rule(one, one, v, beta=np.full(2, 0.5), log_decay=np.zeros(2))
        >>> y.ravel().tolist()  # half of what is missing: 3/2, then half of 3/2 more
        [1.5, 2.25]

    References:
        Schlag et al. (2021), arXiv:2102.11174; Yang et al. (2024), arXiv:2412.06464.
    """
    q, k, v, log_decay = _fitting(q, k, v, log_decay)
    beta = finite_array(beta, "beta")
    if beta.shape != log_decay.shape:
        raise InputError(f"beta has shape {beta.shape}, log_decay {log_decay.shape}")
    alpha, errors = np.exp(log_decay)[..., None, None], np.zeros_like(v)
    states = np.zeros((*k.shape, v.shape[-1]))  # (..., T, N, P)
    state = np.zeros_like(states[..., 0, :, :])
    for t in range(k.shape[-2]):
        state = alpha[..., t, :, :] * state
        key = k[..., t, None, :]  # (..., 1, N)
        error = v[..., t, None, :] - key @ state
        state = state + beta[..., t, None, None] * (key.mT @ error)
        states[..., t, :, :], errors[..., t, :] = state, error[..., 0, :]
    y = (q[..., None, :] @ states)[..., 0, :]
    return y, (q, k, beta, alpha, states, errors)


def delta_rule_backward(
    dy: Float[ndarray, "*batch T P"], cache: tuple
) -> tuple[ndarray, ndarray, ndarray, ndarray, ndarray]:
    """Pull the gradient of the loss back through :func:`delta_rule`.

    Implements eq-state-space-delta-backward::

        G_t = α_{t+1} (G_{t+1} - k_{t+1}ᵀ dv_{t+1}) + q_tᵀ dy_t,   dv_t = β_t k_t G_t
        dq_t = dy_t M_tᵀ,   dβ_t = (k_t G_t)·e_t,   dk_t = β_t e_t G_tᵀ - dv_t M̄_tᵀ
        d log α_t = ⟨G_t - k_tᵀ dv_t, M̄_t⟩

    Args:
        dy: Gradient of the loss in y.
        cache: Second output of :func:`delta_rule`.

    Returns:
        dq, dk, dv, dbeta, dlog_decay.

    Raises:
        InputError: If ``dy`` has not the shape of y, or is not finite.

    Example:
        >>> one, v = np.ones((2, 1)), np.full((2, 1), 3.0)
        >>> y, cache = delta_rule(one, one, v, beta=np.full(2, 0.5), log_decay=np.zeros(2))
        >>> dq, dk, dv, dbeta, dlog_decay = delta_rule_backward(np.array([[0.0], [1.0]]), cache)
        >>> dv.ravel().tolist()  # β, and half of that for the first
        [0.25, 0.5]
    """
    q, k, beta, alpha, states, errors = cache
    dy = gradient_array(dy, errors.shape)
    dk, dv, dbeta, dlog_decay = (np.zeros_like(x) for x in (k, errors, beta, beta))
    grad = np.zeros_like(states[..., 0, :, :])
    for t in reversed(range(k.shape[-2])):
        last = states[..., t - 1, :, :] if t else np.zeros_like(grad)
        kept = alpha[..., t, :, :] * last  # M̄_t
        grad = grad + q[..., t, :, None] * dy[..., t, None, :]
        read = (k[..., t, None, :] @ grad)[..., 0, :]  # k G, (..., P)
        dbeta[..., t] = (read * errors[..., t, :]).sum(-1)
        dv[..., t, :] = beta[..., t, None] * read
        written = beta[..., t, None] * errors[..., t, :]
        dk[..., t, :] = (grad @ written[..., None] - kept @ dv[..., t, :, None])[..., 0]
        grad = grad - k[..., t, :, None] * dv[..., t, None, :]
        dlog_decay[..., t] = (grad * kept).sum((-2, -1))
        grad = alpha[..., t, :, :] * grad
    dq = (states @ dy[..., None])[..., 0]
    return dq, dk, dv, dbeta, dlog_decay


def _fitting(*arrays: ndarray) -> tuple[ndarray, ...]:
    """q, k, v and log_decay, refused if their shapes do not fit."""
    q, k, v, log_decay = (
        finite_array(x, name)
        for x, name in zip(arrays, ("q", "k", "v", "log_decay"), strict=True)
    )
    if q.ndim < 2 or q.shape != k.shape or k.shape[:-1] != v.shape[:-1]:
        raise InputError(
            f"q, k, v have shapes {q.shape}, {k.shape}, {v.shape}; expected (..., T, N) twice "
            "and (..., T, P)"
        )
    if log_decay.shape != k.shape[:-1]:
        raise InputError(f"log_decay has shape {log_decay.shape}, expected {k.shape[:-1]}")
    return q, k, v, log_decay
