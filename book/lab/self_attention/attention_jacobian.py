"""The Jacobian of one head of self-attention, block by block."""

import math

import numpy as np
from numpy import ndarray

from mathlm.errors import InputError
from mathlm.reference.network.heads import self_attention
from mathlm.shapes import Float


def self_attention_jacobian(
    x: ndarray,
    W_q: ndarray,
    W_k: ndarray,
    W_v: ndarray,
    mask: ndarray | None = None,
) -> Float[ndarray, "T V S D"]:
    """How every number that comes out depends on every number that goes in.

    Implements eq-self-attention-jacobian::

        ∂y_t/∂x_s = A_ts (W_v + (v_s - y_t) (W_kᵀ q_t)ᵀ / √d_k)  +  [s = t] C_t W_q / √d_k
        C_t = Σ_j A_tj (v_j - y_t) k_jᵀ

    Off the diagonal each block is a multiple of the weight A_ts, so a weight of 0 cuts the
    dependence, and a causal mask leaves a block-triangular matrix. C_t is the covariance of
    values and keys under the weights of query t.

    Args:
        x: One vector for each position (T, D).
        W_q: Queries (K, D), stored (out, in) like the next two.
        W_k: Keys (K, D).
        W_v: Values (V, D).
        mask: Boolean, True where a query may attend; broadcasts to (T, T).

    Returns:
        The block of output t and input s is ``[t, :, s, :]``, of shape (V, D).

    Raises:
        InputError: If x has batch axes, a shape does not fit, or a visible number is not
            finite.
        InputTypeError: If the mask is not boolean (:func:`self_attention`).
    """
    if np.ndim(x) != 2:
        raise InputError(
            f"x has shape {np.shape(x)}, expected (positions, features): take one sequence of "
            "a batch at a time"
        )
    y, cache = self_attention(x, W_q, W_k, W_v, mask)
    q, k, v, A = cache[-1]
    scale, t = 1 / math.sqrt(q.shape[-1]), np.arange(len(y))
    apart = v[None] - y[:, None]  # (T, S, V): v_s - y_t
    asked = np.einsum("tsv,td->tvsd", apart, q @ W_k * scale)
    blocks = A[:, None, :, None] * (W_v[None, :, None, :] + asked)
    C = np.einsum("ts,tsv,sk->tvk", A, apart, k)
    blocks[t, :, t, :] += C @ W_q * scale
    return blocks


__all__ = ["self_attention_jacobian"]
