"""Capped scores, sinks, gates and centered gains, forward and backward by hand."""

import numpy as np
from numpy import ndarray

from ...errors import InputError
from ...shapes import Bool, Float
from ..arrays import Numbers, Value, finite_array, gradient_array, require_same_shape
from .normalization import rms_norm, rms_norm_backward


def soft_cap(x: Numbers, cap: float | int) -> tuple[Value, tuple]:
    """Numbers squeezed smoothly between -cap and cap.

    Implements eq-current-cap::

        y = c tanh(x / c)

    Args:
        x: Finite numbers.
        cap: c, positive.

    Returns:
        y, and the cache that :func:`soft_cap_backward` needs.

    Raises:
        InputError: If an entry is not finite, or the cap not positive.

    Example:
        >>> soft_cap([0.0, 1e6], 50.0)[0].tolist()
        [0.0, 50.0]
    """
    if not 0 < cap < np.inf:
        raise InputError(f"cap={cap} must be positive and finite")
    t = np.tanh(finite_array(x, "x") / cap)
    return cap * t, (t,)


def soft_cap_backward(dy: Numbers, cache: tuple) -> Value:
    """Pull the gradient of the loss back through :func:`soft_cap`.

    Implements eq-current-cap::

        dx = dy (1 - (y/c)²)

    Args:
        dy: Gradient of the loss in y.
        cache: Second value of :func:`soft_cap`.

    Returns:
        dx.

    Raises:
        InputError: If dy has not the shape of y.

    Example:
        >>> y, cache = soft_cap([0.0, 1e6], 50.0)
        >>> soft_cap_backward([1.0, 1.0], cache).tolist()  # all of it, and nothing at the cap
        [1.0, 0.0]
    """
    (t,) = cache
    return gradient_array(dy, t.shape) * (1 - t * t)


def sink_softmax(
    scores: Float[ndarray, "*batch H T S"],
    sinks: Float[ndarray, " H"],
    mask: Bool[ndarray, "..."] | None = None,
) -> tuple[Float[ndarray, "*batch H T S"], tuple]:
    """Attention weights of scores, of which a learned sink takes a share that reads nothing.

    Implements eq-current-sink::

        A[t, s] = exp(z[t, s]) / (exp(b_h) + Σ_s' exp(z[t, s']))

    Args:
        scores: z, scaled.
        sinks: b, one logit for each head.
        mask: True where a query may attend; None = everywhere.

    Returns:
        Weights, and the cache that :func:`sink_softmax_backward` needs.

    Raises:
        InputError: If a number is not finite, or there is not one sink for each head.

    Example:
        >>> weights, cache = sink_softmax(np.zeros((1, 1, 3)), np.zeros(1))
        >>> weights.round(4).tolist()  # the sink takes a quarter
        [[[0.25, 0.25, 0.25]]]
    """
    z, b = finite_array(scores, "scores"), finite_array(sinks, "sinks")
    if z.ndim < 3 or b.shape != z.shape[-3:-2]:
        raise InputError(f"scores {z.shape} and sinks {b.shape} must be (*, H, T, S) and (H,)")
    seen = np.ones(z.shape, bool) if mask is None else np.broadcast_to(mask, z.shape)
    b = np.broadcast_to(b[:, None, None], (*z.shape[:-1], 1))
    top = np.maximum(np.where(seen, z, -np.inf).max(-1, keepdims=True), b)
    e = np.where(seen, np.exp(np.where(seen, z, -np.inf) - top), 0.0)
    A = e / (np.exp(b - top) + e.sum(-1, keepdims=True))
    return A, (A,)


def sink_softmax_backward(
    dA: Float[ndarray, "*batch H T S"], cache: tuple
) -> tuple[Float[ndarray, "*batch H T S"], Float[ndarray, " H"]]:
    """Pull the gradient of the loss back through :func:`sink_softmax`.

    Implements eq-current-sink-backward::

        g[t] = Σ_s dA[t, s] A[t, s],   dz = A ⊙ (dA - g),   db = -Σ_t (1 - Σ_s A[t, s]) g[t]

    Args:
        dA: Gradient of the loss in the weights.
        cache: Second value of :func:`sink_softmax`.

    Returns:
        dz and db.

    Raises:
        InputError: If dA has not the shape of the weights.

    Example:
        >>> weights, cache = sink_softmax(np.zeros((1, 1, 1)), np.zeros(1))  # 1/2
        >>> dscores, dsinks = sink_softmax_backward(np.ones((1, 1, 1)), cache)
        >>> dscores.round(4).tolist(), dsinks.round(4).tolist()  # σ (1 - σ), and less by it
        ([[[0.25]]], [-0.25])
    """
    (A,) = cache
    dA = gradient_array(dA, A.shape)
    g = (dA * A).sum(-1, keepdims=True)  # (*batch, H, T, 1)
    sunk = 1 - A.sum(-1, keepdims=True)  # the share of the sink
    db = -(sunk * g).reshape(-1, *A.shape[-3:-1]).sum((0, 2))
    return A * (dA - g), db


def attention_gate(y: Numbers, gate: Numbers) -> tuple[Value, tuple]:
    """What the heads read, each feature let through as far as a gate says.

    Implements eq-current-gate::

        Ỹ = σ(G) ⊙ Y

    Args:
        y: What the heads read.
        gate: G = X W_gᵀ, of the same shape.

    Returns:
        Ỹ, and the cache that :func:`attention_gate_backward` needs.

    Raises:
        InputError: If an entry is not finite, or the shapes differ.

    Example:
        >>> y, cache = attention_gate([2.0, 4.0], [0.0, 0.0])  # σ(0) = 1/2
        >>> y.tolist()
        [1.0, 2.0]
    """
    y, gate = finite_array(y, "y"), finite_array(gate, "gate")
    require_same_shape(y, gate, ("y", "gate"))
    open_ = 0.5 * (1 + np.tanh(gate / 2))  # σ without overflow
    return open_ * y, (y, open_)


def attention_gate_backward(dy: Numbers, cache: tuple) -> tuple[Value, Value]:
    """Pull the gradient of the loss back through :func:`attention_gate`.

    Implements eq-current-gate-backward::

        dY = σ(G) ⊙ dỸ,   dG = Y ⊙ σ(G) (1 - σ(G)) ⊙ dỸ

    Args:
        dy: Gradient of the loss in Ỹ.
        cache: Second value of :func:`attention_gate`.

    Returns:
        dY and dG.

    Raises:
        InputError: If dy has not the shape of Ỹ.

    Example:
        >>> y, cache = attention_gate([2.0, 4.0], [0.0, 0.0])
        >>> dy, dgate = attention_gate_backward([1.0, 1.0], cache)
        >>> dy.tolist(), dgate.tolist()  # σ = 1/2, and Y σ (1 - σ)
        ([0.5, 0.5], [0.5, 1.0])
    """
    y, open_ = cache
    dy = gradient_array(dy, y.shape)
    return open_ * dy, y * open_ * (1 - open_) * dy


def centered_rms_norm(
    x: Float[ndarray, "*batch D"], gamma: Float[ndarray, " D"], eps: float | int = 1e-5
) -> tuple[Float[ndarray, "*batch D"], tuple]:
    """Root-mean-square normalization whose gain is stored as its distance from 1.

    Implements eq-current-gain::

        y = (1 + γ) ⊙ x / √(mean(x²) + ε)

    Args:
        x: Input vectors.
        gamma: γ, 0 at the start.
        eps: Added to the mean square.

    Returns:
        y, and the cache that :func:`centered_rms_norm_backward` needs.

    Raises:
        InputError: As :func:`rms_norm`.

    Example:
        >>> y, cache = centered_rms_norm(np.array([3.0, -3.0]), np.array([0.0, 1.0]), eps=0)
        >>> y.tolist()  # gains 1 and 2
        [1.0, -2.0]
    """
    return rms_norm(x, 1.0 + finite_array(gamma, "gamma"), eps)


def centered_rms_norm_backward(
    dy: Float[ndarray, "*batch D"], cache: tuple
) -> tuple[Float[ndarray, "*batch D"], Float[ndarray, " D"]]:
    """Pull the gradient of the loss back through :func:`centered_rms_norm`.

    The gradient in γ is that in the gain 1 + γ, so this is :func:`rms_norm_backward`.

    Args:
        dy: Gradient of the loss in y.
        cache: Second value of :func:`centered_rms_norm`.

    Returns:
        dx and dγ.

    Raises:
        InputError: If dy has not the shape of y.

    Example:
        >>> y, cache = centered_rms_norm(np.array([3.0, -3.0]), np.zeros(2), eps=0)
        >>> dx, dgamma = centered_rms_norm_backward(np.array([1.0, -1.0]), cache)
        >>> dx.round(12).tolist(), dgamma.tolist()  # along x nothing changes
        ([0.0, 0.0], [1.0, 1.0])
    """
    return rms_norm_backward(dy, cache)
