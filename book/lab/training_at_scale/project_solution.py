"""One way to solve the project: a step of Adam with the optimizer's state cut over ranks."""

from typing import Any

import numpy as np
from numpy import ndarray

Moments = list[tuple[ndarray, ndarray]]


def zero_step(
    weights: list[ndarray], moments: Moments, gradients: list[ndarray], targets: list[int],
    ring: Any, t: int, lr: float, beta1: float = 0.9, beta2: float = 0.95, eps: float = 1e-8,
) -> tuple[list[ndarray], Moments]:  # fmt: skip
    """New weights and moments of every rank; rank r updates the r-th part alone."""
    n, size = len(weights), len(weights[0])
    padded = -(-size // n) * n
    whole = [np.pad(g, (0, padded - size)) for g in gradients]
    sums = ring.reduce_scatter(whole)  # rank r has the r-th part of the sum
    parts, new = [], []
    for r in range(n):
        m, v = moments[r]
        g = sums[r] / sum(targets)
        m = beta1 * m + (1 - beta1) * g
        v = beta2 * v + (1 - beta2) * g**2
        m_hat, v_hat = m / (1 - beta1**t), v / (1 - beta2**t)
        own = np.pad(weights[r], (0, padded - size)).reshape(n, -1)[r]
        parts.append(own - lr * m_hat / (np.sqrt(v_hat) + eps))
        new.append((m, v))
    return [w[:size] for w in ring.all_gather(parts)], new
