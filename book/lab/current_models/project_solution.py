"""The attention of the project, written out: one way to solve it."""

import numpy as np
from numpy import ndarray


def attend(
    q: ndarray,
    k: ndarray,
    v: ndarray,
    scale: float,
    window: int | None = None,
    cap: float | None = None,
    sinks: ndarray | None = None,
) -> ndarray:
    """Causal attention of grouped heads with a window, a soft cap and learned sinks.

    Args:
        q: Queries (H, T, K); the last one sees the last key.
        k: Keys (G, S, K).
        v: Values (G, S, K).
        scale: Factor of the scores.
        window: Keys that a query sees, itself included; None = all earlier ones.
        cap: c of c tanh(z/c); None = none.
        sinks: Logits (H,) that take a share of the weight; None = none.

    Returns:
        What each head reads, (H, T, K).
    """
    (H, T, _), (G, S, _) = q.shape, k.shape
    k, v = np.repeat(k, H // G, 0), np.repeat(v, H // G, 0)
    z = scale * (q @ k.mT)  # (H, T, S)
    if cap is not None:
        z = cap * np.tanh(z / cap)
    ahead = np.arange(S) - (np.arange(T)[:, None] + S - T)
    seen = ahead <= 0
    if window is not None:
        seen &= ahead > -window
    z = np.where(seen, z, -np.inf)  # after the cap, which would bring it back
    b = np.full((H, 1, 1), -np.inf) if sinks is None else sinks[:, None, None]
    top = np.maximum(z.max(-1, keepdims=True), b)
    e = np.exp(z - top)
    return e / (np.exp(b - top) + e.sum(-1, keepdims=True)) @ v
