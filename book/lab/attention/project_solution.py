"""Reference solution of the project: attention with a mask and its backward pass, by hand."""

from typing import Any

import numpy as np
from numpy import ndarray


def attention(
    q: ndarray, k: ndarray, v: ndarray, mask: ndarray | None = None
) -> tuple[ndarray, tuple[Any, ...]]:
    """Scaled dot-product attention; a query that may read nothing gives 0.

    Args:
        q: Queries (..., T, d_k).
        k: Keys (..., S, d_k).
        v: Values (..., S, d_v).
        mask: Boolean, True where a query may attend; broadcasts to (..., T, S).

    Returns:
        y (..., T, d_v), and what the backward pass needs.
    """
    mask = np.broadcast_to(True if mask is None else mask, (*q.shape[:-1], k.shape[-2]))
    seen = mask.mT.any(-1, keepdims=True)  # keys that some query may read, (..., S, 1)
    k, v = np.where(seen, k, 0.0), np.where(seen, v, 0.0)  # 0 times NaN would be NaN
    scores = np.where(mask, q @ k.mT / np.sqrt(q.shape[-1]), -np.inf)
    highest = scores.max(-1, keepdims=True)
    powers = np.exp(scores - np.where(np.isinf(highest), 0.0, highest))
    total = powers.sum(-1, keepdims=True)
    weights = powers / np.where(total == 0, 1.0, total)  # no visible key: all weights are 0
    return weights @ v, (q, k, v, weights)


def attention_backward(dy: ndarray, cache: tuple[Any, ...]) -> tuple[ndarray, ndarray, ndarray]:
    """Gradients of the loss in q, k and v.

    Args:
        dy: Gradient of the loss in y.
        cache: Second output of :func:`attention`.

    Returns:
        dq, dk, dv.
    """
    q, k, v, weights = cache
    dv = weights.mT @ dy
    dweights = dy @ v.mT
    mean = (weights * dweights).sum(-1, keepdims=True)
    dscores = weights * (dweights - mean) / np.sqrt(q.shape[-1])
    return dscores @ k, dscores.mT @ q, dv
