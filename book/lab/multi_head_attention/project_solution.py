"""Reference solution of the project: grouped-query attention with the online softmax."""

from typing import Any

import numpy as np
from numpy import ndarray


def tile_scores(q: ndarray, k: ndarray, rows: ndarray, columns: ndarray, late: int) -> ndarray:
    """Scaled scores of some queries and keys, -inf where a key comes after its query."""
    scores = q[..., rows, :] @ k[..., columns, :].mT / np.sqrt(q.shape[-1])
    return np.where(columns <= rows[:, None] + late, scores, -np.inf)


def attention(
    q: ndarray, k: ndarray, v: ndarray, block: int
) -> tuple[ndarray, tuple[Any, ...]]:
    """Causal attention of grouped heads, tile by tile; the last query sees the last key.

    Args:
        q: Queries (H, T, d).
        k: Keys (G, S, d); H/G query heads in a row share one head of them.
        v: Values (G, S, d_v).
        block: Queries and keys of a tile.

    Returns:
        y (H, T, d_v), 0 for a query that sees no key; and what the backward pass needs.
    """
    (H, T, _), (G, S, _) = q.shape, k.shape
    q, k, v = q.reshape(G, H // G, T, -1), k[:, None], v[:, None]  # shared by broadcasting
    y, logsum = np.zeros((*q.shape[:-1], v.shape[-1])), np.zeros((*q.shape[:-1], 1))
    for i in range(0, T, block):
        rows = np.arange(i, min(i + block, T))
        shape = (G, H // G, len(rows))
        mu, lam = np.full((*shape, 1), -np.inf), np.zeros((*shape, 1))
        o = np.zeros((*shape, v.shape[-1]))
        for j in range(0, S, block):
            columns = np.arange(j, min(j + block, S))
            scores = tile_scores(q, k, rows, columns, S - T)
            new = np.maximum(mu, scores.max(-1, keepdims=True))
            base = np.where(np.isinf(new), 0.0, new)  # no key seen so far
            keep, powers = np.exp(mu - base), np.exp(scores - base)
            lam = keep * lam + powers.sum(-1, keepdims=True)
            o = keep * o + powers @ v[..., columns, :]
            mu = new
        blind = lam == 0
        y[..., rows, :] = o / np.where(blind, 1.0, lam)
        logsum[..., rows, :] = np.where(blind, np.inf, mu + np.log(np.where(blind, 1.0, lam)))
    return y.reshape(H, T, -1), (q, k, v, y, logsum, block)


def attention_backward(dy: ndarray, cache: tuple[Any, ...]) -> tuple[ndarray, ndarray, ndarray]:
    """Gradients of the loss in q, k and v; the weights of each tile are computed again.

    Args:
        dy: Gradient of the loss in y, (H, T, d_v).
        cache: Second output of :func:`attention`.

    Returns:
        dq, dk, dv, each of the shape of its argument.
    """
    q, k, v, y, logsum, block = cache
    (G, group, T, d), S = q.shape, k.shape[-2]
    dy = dy.reshape(y.shape)
    delta = (dy * y).sum(-1, keepdims=True)
    dq, dk, dv = np.zeros_like(q), np.zeros_like(k[:, 0]), np.zeros_like(v[:, 0])
    for i in range(0, T, block):
        rows = np.arange(i, min(i + block, T))
        for j in range(0, S, block):
            columns = np.arange(j, min(j + block, S))
            scores = tile_scores(q, k, rows, columns, S - T)
            weights = np.exp(scores - logsum[..., rows, :])
            dy_rows = dy[..., rows, :]
            dweights = dy_rows @ v[..., columns, :].mT
            dscores = weights * (dweights - delta[..., rows, :]) / np.sqrt(d)
            dq[..., rows, :] += dscores @ k[..., columns, :]
            dk[:, columns] += (dscores.mT @ q[..., rows, :]).sum(1)  # the group's sum
            dv[:, columns] += (weights.mT @ dy_rows).sum(1)
    return dq.reshape(G * group, T, d), dk, dv
