"""Reference solution of the project: the gated delta rule in chunks."""

import numpy as np
from numpy import ndarray


def delta_chunks(
    q: ndarray, k: ndarray, v: ndarray, beta: ndarray, log_decay: ndarray, chunk: int,
    state: ndarray,
) -> tuple[ndarray, ndarray]:  # fmt: skip
    """The gated delta rule, one triangular system for each chunk.

    Args:
        q: Queries (T, N).
        k: Keys (T, N).
        v: Values (T, P).
        beta: β (T).
        log_decay: log α (T).
        chunk: Tokens in a chunk; the last one may have fewer.
        state: M (N, P) before the first token.

    Returns:
        y (T, P), and M after the last token.
    """
    outputs = []
    for i in range(0, len(q), chunk):
        Q, K, V, b = (x[i : i + chunk] for x in (q, k, v, beta[:, None]))
        log_gamma = np.cumsum(log_decay[i : i + chunk])
        gap = log_gamma[:, None] - log_gamma
        L = np.exp(np.where(np.tri(len(Q), dtype=bool), gap, -np.inf))
        gamma = np.exp(log_gamma)[:, None]
        system = np.eye(len(Q)) + np.tril(b * (K @ K.T) * L, -1)
        U = np.linalg.solve(system, b * (V - gamma * K @ state))
        outputs.append((Q @ K.T * L) @ U + gamma * Q @ state)
        state = gamma[-1] * state + (L[-1][:, None] * K).T @ U
    return np.concatenate(outputs), state
