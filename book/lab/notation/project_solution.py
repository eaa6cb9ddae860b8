"""Reference solution of the project: the loss of a network, and its gradients."""

import numpy as np
from numpy import ndarray


def loss_and_gradients(
    X: ndarray, y: ndarray, W1: ndarray, b1: ndarray, W2: ndarray, b2: ndarray
) -> tuple[float, int, tuple[ndarray, ...]]:
    """Cross-entropy of a ReLU network, summed over the tokens that count.

    Args:
        X: Inputs (T, D), one token per row.
        y: Token ids (T,); -100 does not count.
        W1: (F, D).
        b1: (F,).
        W2: (V, F).
        b2: (V,).

    Returns:
        Loss [nats], summed; number of tokens that count; gradients of the sum in X, W1, b1, W2
        and b2.
    """
    counts = y != -100
    H = X @ W1.T + b1  # (T, F)
    A = np.maximum(H, 0)
    Z = A @ W2.T + b2  # (T, V)
    Z = Z - Z.max(-1, keepdims=True)
    logp = Z - np.log(np.exp(Z).sum(-1, keepdims=True))
    rows, ids = np.flatnonzero(counts), y[counts]
    loss = -logp[rows, ids].sum()

    dZ = np.exp(logp) * counts[:, None]
    dZ[rows, ids] -= 1
    dA = dZ @ W2
    dH = dA * (H > 0)
    gradients = dH @ W1, dH.T @ X, dH.sum(0), dZ.T @ A, dZ.sum(0)
    return float(loss), int(counts.sum()), gradients


__all__ = ["loss_and_gradients"]
