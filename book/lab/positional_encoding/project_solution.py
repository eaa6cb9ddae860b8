"""Reference solution of the project: scaled rotary frequencies, and loss by position."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy import ndarray


def frequencies(kind: str, K: int, base: float, s: float, L: int) -> tuple[ndarray, float]:
    """Rotary frequencies for a context that becomes s times longer.

    Args:
        kind: "linear", "ntk" or "yarn".
        K: Width of a head, even.
        base: Of the trained model.
        s: Factor of the context, 1 or more.
        L: Trained length [tokens].

    Returns:
        Frequencies (K/2,) [radians/token], and the factor of cosines and sines.
    """
    theta = base ** (-np.arange(0, K, 2) / K)
    if kind == "linear":
        return theta / s, 1.0
    if kind == "ntk":
        return (base * s ** (K / (K - 2))) ** (-np.arange(0, K, 2) / K), 1.0
    turns = L * theta / (2 * np.pi)
    kept = np.clip((turns - 1) / (32 - 1), 0, 1)  # 1: as it was, 0: divided by s
    return kept * theta + (1 - kept) * theta / s, 0.1 * np.log(s) + 1


def loss_by_position(model: Callable[[ndarray], Any], ids: ndarray, bin: int) -> ndarray:
    """Mean loss of each bin of positions, over all sequences [nats/token].

    Args:
        model: Takes ids (B, T) to logits (B, T, V).
        ids: Sequences (B, T + 1).
        bin: Positions of a bin; T is a multiple of it.

    Returns:
        Losses (T / bin,).
    """
    logits, targets = model(ids[:, :-1]), ids[:, 1:]
    logits = logits - logits.max(-1, keepdims=True)
    right = np.take_along_axis(logits, targets[..., None], axis=-1)[..., 0]  # (B, T)
    losses = np.log(np.exp(logits).sum(-1)) - right
    return losses.reshape(len(ids), -1, bin).mean((0, 2))
