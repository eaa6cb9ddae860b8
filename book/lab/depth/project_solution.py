"""Reference solution of the project of this page: predict any stack before it is drawn."""

import math

import numpy as np
from numpy import ndarray


def predict(
    depth: int, tokens: int, place: str, alpha: float = 1.0, beta: float = 1.0
) -> tuple[ndarray, ndarray]:
    """Size of the stream and spread of its tokens at every depth, before any training.

    Args:
        depth: Blocks, L.
        tokens: T.
        place: Of the normalization: "none", "before" a sublayer, "after" the sum, or on the
            "branch", that is on what the sublayer gives.
        alpha: Factor of the stream in every sum.
        beta: Factor of what a sublayer gives.

    Returns:
        (rms, spread) for l = 0 … L.
    """
    S, r, rows = 1.0, 1.0, [(1.0, 1.0)]
    for _ in range(depth):
        for half in ("attention", "feed-forward"):
            size, apart = sublayer(half, r, tokens)
            if place == "branch":
                size, apart = 1.0, apart / size
            s = (S if place == "none" else 1.0) * beta**2
            total = alpha**2 * S + s * size
            r = (alpha**2 * S * r + s * apart) / total
            S = 1.0 if place == "after" else total
        rows.append((S, r))
    squares, differences = np.array(rows).T
    return np.sqrt(squares), np.sqrt(differences * (1 - 1 / tokens))


def sublayer(half: str, r: float, tokens: int) -> tuple[float, float]:
    """Mean square of what a sublayer gives, and the part of it in which two tokens differ."""
    if half == "attention":  # an even average: the same for all tokens
        return 1 - r * (1 - 1 / tokens), 0.0
    theta = 2 * math.asin(math.sqrt(r / 2))  # cos θ = 1 - r
    if theta < 0.01:  # the difference would lose its digits
        return 1.0, r - (theta**3 / 3 - theta**5 / 30) / math.pi
    return 1.0, r - (math.sin(theta) - theta * math.cos(theta)) / math.pi
