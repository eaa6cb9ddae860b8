"""One attention head learns to predict the next letter, with or without sight of the future."""

import re
from dataclasses import dataclass

import numpy as np
from numpy import ndarray

from mathlm.errors import ConfigError, InputError
from mathlm.reference import (
    adam_step,
    self_attention,
    self_attention_backward,
    token_cross_entropy,
    token_cross_entropy_backward,
)


@dataclass(frozen=True, kw_only=True)
class PeekingConfig:
    """One training run by hand-derived gradients.

    Args:
        causal: Whether a position sees none after it.
        length: Positions of a window, T.
        width: Of queries and keys, K.
        batch: Windows in each step.
        steps: Steps of Adam.
        rate: Step size of Adam.
        seed: Of the initial weights and of the data order.
    """

    causal: bool = True
    length: int = 12
    width: int = 16
    batch: int = 24
    steps: int = 150
    rate: float = 0.05
    seed: int = 0

    def __post_init__(self) -> None:
        if min(self.length, self.width, self.batch, self.steps) < 1:
            raise ConfigError("length, width, batch and steps must be at least 1")

    @property
    def mask(self) -> ndarray:
        """Who may attend in training, (T, T)."""
        full = np.ones((self.length, self.length), dtype=bool)
        return np.tril(full) if self.causal else full


def letters_of(text: str) -> tuple[ndarray, str]:
    """Letters as ids, a space for each run of other characters; and the alphabet."""
    alphabet = " abcdefghijklmnopqrstuvwxyz"
    kept = " ".join(re.findall("[a-z]+", text.lower()))
    return np.array([alphabet.index(c) for c in kept], dtype=np.int64), alphabet


def one_hot(ids: ndarray, classes: int) -> ndarray:
    """Letter and place of each position: (B, T) to (B, T, classes + T)."""
    places = np.broadcast_to(np.eye(ids.shape[1]), (*ids.shape, ids.shape[1]))
    return np.concatenate([np.eye(classes)[ids], places], -1)


def windows(ids: ndarray, config: PeekingConfig, step: int) -> ndarray:
    """Batch number ``step``: T inputs and the target of the last, (B, T + 1)."""
    if len(ids) <= config.length:
        raise InputError(f"{len(ids)} letters are too few for windows of {config.length} + 1")
    rng = np.random.default_rng((config.seed, step))
    starts = rng.integers(len(ids) - config.length, size=config.batch)
    return ids[starts[:, None] + np.arange(config.length + 1)]


def losses_of(weights: list[ndarray], batch: ndarray, mask: ndarray) -> tuple[ndarray, tuple]:
    """Surprise at each target under a mask [nats], (B, T), and what :func:`slopes_of` needs."""
    logits, cache = self_attention(one_hot(batch[:, :-1], len(weights[2])), *weights, mask=mask)
    losses, loss_cache = token_cross_entropy(logits, batch[:, 1:])
    return np.asarray(losses), (cache, loss_cache)


def slopes_of(losses: ndarray, cache: tuple) -> list[ndarray]:
    """Gradient of the mean loss in W_q, W_k and W_v."""
    dlogits = token_cross_entropy_backward(np.full(losses.shape, 1 / losses.size), cache[1])
    return list(self_attention_backward(dlogits, cache[0])[1:])


def train(ids: ndarray, classes: int, config: PeekingConfig) -> tuple[list[ndarray], list]:
    """The trained W_q, W_k and W_v, and the loss of each step."""
    rng, D = np.random.default_rng(config.seed), classes + config.length
    shapes = [(config.width, D), (config.width, D), (classes, D)]
    weights = [rng.normal(size=shape) / np.sqrt(D) for shape in shapes]
    states: list = [None] * 3
    history: list = []
    for step in range(config.steps):
        losses, cache = losses_of(weights, windows(ids, config, step), config.mask)
        history.append(float(losses.mean()))
        for i, slope in enumerate(slopes_of(losses, cache)):
            weights[i], states[i] = adam_step(weights[i], slope, states[i], lr=config.rate)
    return weights, history
