"""Reference solution of the project: skip-gram with negative sampling on any text."""

from collections.abc import Sequence

import numpy as np
from numpy import ndarray

Tables = tuple[ndarray, ndarray]


def pairs(ids: Sequence[int] | ndarray, window: int) -> Tables:
    """Every word of a text with each of its neighbors, up to ``window`` places away.

    Args:
        ids: The text as word numbers.
        window: Largest distance of a neighbor.

    Returns:
        Centers and contexts, one entry for each pair.
    """
    found = []
    for i, center in enumerate(ids):
        for j in range(max(0, i - window), min(len(ids), i + window + 1)):
            if j != i:
                found.append((center, ids[j]))
    centers, contexts = np.array(found).T
    return centers, contexts


def draw(counts: ndarray, size: tuple[int, int], rng: np.random.Generator) -> ndarray:
    """Noise words, drawn in proportion to the power 3/4 of their counts.

    Args:
        counts: How often each word occurs in the text, (V).
        size: Pairs N, and words k for each.
        rng: Source of the draws.

    Returns:
        Word numbers (N, k).
    """
    q = counts**0.75 / (counts**0.75).sum()
    return rng.choice(len(counts), size=size, p=q)


def loss(
    W: ndarray, C: ndarray, centers: ndarray, contexts: ndarray, negatives: ndarray
) -> float:
    """Negative sampling, summed over the pairs [nats].

    Args:
        W: Vectors of the words as centers, (V, d).
        C: Vectors of the words as contexts, (V, d).
        centers: Word numbers (N).
        contexts: Word numbers (N).
        negatives: Word numbers of the noise, (N, k).
    """
    w = W[centers]
    seen = (C[contexts] * w).sum(-1)
    noise = (C[negatives] * w[:, None]).sum(-1)
    return float(np.logaddexp(0, -seen).sum() + np.logaddexp(0, noise).sum())


def gradient(
    W: ndarray, C: ndarray, centers: ndarray, contexts: ndarray, negatives: ndarray
) -> Tables:
    """Gradients of :func:`loss` in the two tables, of their shapes."""
    w, c_o, c_n = W[centers], C[contexts], C[negatives]
    g_o = _sigmoid((c_o * w).sum(-1)) - 1
    g_n = _sigmoid((c_n * w[:, None]).sum(-1))
    dW, dC = np.zeros_like(W), np.zeros_like(C)
    np.add.at(dW, centers, g_o[:, None] * c_o + (g_n[:, :, None] * c_n).sum(1))
    np.add.at(dC, contexts, g_o[:, None] * w)
    np.add.at(dC, negatives, g_n[:, :, None] * w[:, None])
    return dW, dC


def train(ids: ndarray, V: int, rng: np.random.Generator) -> Tables:
    """Both tables after stochastic gradient descent on a text.

    Args:
        ids: The text as word numbers 0..V - 1.
        V: Number of words.
        rng: Source of the first vectors, the order of the pairs and the noise.

    Returns:
        W and C, (V, 16) each.
    """
    counts = np.bincount(ids, minlength=V)
    W, C = rng.normal(size=(V, 16)) / 16, np.zeros((V, 16))
    centers, contexts = pairs(ids, 2)
    for epoch in range(5):
        order = rng.permutation(len(centers))
        for batch in np.array_split(order, max(1, len(order) // 32)):
            negatives = draw(counts, (len(batch), 5), rng)
            dW, dC = gradient(W, C, centers[batch], contexts[batch], negatives)
            rate = 0.05 * (1 - epoch / 5)
            W -= rate * dW
            C -= rate * dC
    return W, C


def _sigmoid(x: ndarray) -> ndarray:
    return np.exp(-np.logaddexp(0, -x))
