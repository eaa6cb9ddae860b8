"""A trainable soft lookup: attention that should put all its weight on the right key."""

import math

import numpy as np
from numpy import ndarray

from .attention import dot_product_attention, dot_product_attention_backward


def loss_and_gradients(
    W_q: ndarray, W_k: ndarray, queries: ndarray, keys: ndarray, scaled: bool
) -> tuple[float, ndarray, ndarray, ndarray]:
    """Half the squared distance of the weights from the right answer, and its gradients.

    The value of a candidate is its one-hot label, so the output of attention is its weights.

    Returns:
        Loss (mean over lookups), dW_q, dW_k, and the weights (B, S).
    """
    B, S, _ = keys.shape
    undo = 1.0 if scaled else math.sqrt(len(W_q))  # attention divides by √d_k in any case
    values = np.broadcast_to(np.eye(S), (B, S, S))
    y, cache = dot_product_attention(undo * queries @ W_q.T, keys @ W_k.T, values)
    error = y - np.eye(S)[0]  # the right key is number 0
    dq, dk, _ = dot_product_attention_backward(error / B, cache)
    dW_q = undo * np.tensordot(dq, queries, ((0, 1), (0, 1)))
    dW_k = np.tensordot(dk, keys, ((0, 1), (0, 1)))
    return float((error**2).sum() / (2 * B)), dW_q, dW_k, y[:, 0]
