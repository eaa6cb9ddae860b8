"""A solution of the project of chapter 6: Adam and Muon, one step each."""

import math

import numpy as np
from numpy import ndarray


def adam(
    theta: ndarray,
    g: ndarray,
    state: dict | None,
    lr: float,
    betas: tuple[float, float],
    eps: float,
) -> tuple[ndarray, dict]:
    """Algorithm 1 of the paper of Adam."""
    b1, b2 = betas
    old = state or {"t": 0, "m": 0.0, "v": 0.0}
    t = old["t"] + 1
    m = b1 * old["m"] + (1 - b1) * g
    v = b2 * old["v"] + (1 - b2) * g**2
    m_hat, v_hat = m / (1 - b1**t), v / (1 - b2**t)
    return theta - lr * m_hat / (np.sqrt(v_hat) + eps), {"t": t, "m": m, "v": v}


def orthogonalize(G: ndarray) -> ndarray:
    """Five passes that bring the singular values near 1."""
    X = G / max(np.linalg.norm(G), 1e-7)
    for _ in range(5):
        A = X @ X.T
        X = 3.4445 * X + (-4.7750 * A + 2.0315 * A @ A) @ X
    return X


def muon(
    theta: ndarray,
    g: ndarray,
    state: ndarray | None,
    lr: float,
    beta: float,
    weight_decay: float,
) -> tuple[ndarray, ndarray]:
    """Momentum with look-ahead, orthogonalized; the state is the momentum."""
    m = beta * (0.0 if state is None else state) + g
    n_out, n_in = theta.shape
    step = math.sqrt(max(1, n_out / n_in)) * orthogonalize(g + beta * m)
    return (1 - lr * weight_decay) * theta - lr * step, m


__all__ = ["adam", "muon", "orthogonalize"]
