"""One way to solve the project: the bound, its gradient and the sampler of a table model."""

import numpy as np
from numpy import ndarray
from numpy.random import Generator


def hide(x: ndarray, k: int, rng: Generator) -> ndarray:
    """True at k places of x, every set of k equally likely."""
    return rng.permutation(len(x)) < k


def loss(logits: ndarray, x: ndarray, hidden: ndarray) -> tuple[float, ndarray]:
    """The term of one set of hidden places [nats] and its gradient in the logits (T, V)."""
    T, k = len(x), int(hidden.sum())
    shifted = logits - logits.max(-1, keepdims=True)
    logp = shifted - np.log(np.exp(shifted).sum(-1, keepdims=True))
    right = np.arange(logits.shape[1]) == x[:, None]  # (T, V)
    weight = T / k * hidden[:, None]
    return float(-(weight * right * logp).sum()), weight * (np.exp(logp) - right)


def choose(p: ndarray, hidden: ndarray, passes: int) -> ndarray:
    """True at the places that the next of ``passes`` passes commits, the surest first."""
    share = -(-int(hidden.sum()) // passes)  # rounded up
    surest = np.where(hidden, p.max(-1), -1.0)
    chosen = np.zeros(len(hidden), bool)
    chosen[np.argsort(-surest, kind="stable")[:share]] = True
    return chosen
