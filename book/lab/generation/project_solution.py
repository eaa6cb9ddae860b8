"""Reference solution of the project: nucleus sampling for a batch of rows."""

import numpy as np
from numpy import ndarray


def nucleus_sample(logits: ndarray, P: float, temperature: float, u: ndarray) -> ndarray:
    """Draw a token of each row from the nucleus of the tempered distribution.

    Args:
        logits: (B, V), of any size; -∞ is an impossible token.
        P: Mass that the nucleus reaches, above 0 and at most 1.
        temperature: Above 0.
        u: (B,), one uniform number in [0, 1) for each row.

    Returns:
        Token ids (B,).
    """
    z = logits / temperature
    p = np.exp(z - z.max(axis=1, keepdims=True))
    p /= p.sum(axis=1, keepdims=True)
    order = np.argsort(-p, axis=1, kind="stable")
    largest = np.take_along_axis(p, order, axis=1)
    before = np.cumsum(largest, axis=1) - largest
    kept = np.zeros_like(p)
    np.put_along_axis(kept, order, np.where(before < P, largest, 0.0), axis=1)
    ends = np.cumsum(kept, axis=1)
    return np.argmax(ends > u[:, None] * ends[:, -1:], axis=1)
