"""A soft lookup trained by hand-derived gradients: find a word's partner among many.

Keys are the vectors of words that end in "s"; a query is the vector of one of them without its
"s": "river" asks, "rivers" should answer. W_q and W_k learn to make the partner score highest.
"""

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy import ndarray

from mathlm.errors import ConfigError, InputError
from mathlm.reference.network.embedding import loss_and_gradients


@dataclass(frozen=True, kw_only=True)
class LookupConfig:
    """One training run.

    Args:
        width: d_k, the width of queries and keys.
        scaled: Divide the scores by the root of ``width``.
        learning_rate: Step size of plain gradient descent.
        init_gain: Factor on the initial W_q and W_k; 1 gives scores of variance ``width``.
        candidates: Keys in each lookup.
        batch: Lookups in each step.
        steps: Steps of gradient descent.
        seed: Of the initial weights and of the data order.
    """

    width: int = 64
    scaled: bool = True
    learning_rate: float = 1.0
    init_gain: float = 1.0
    candidates: int = 32
    batch: int = 32
    steps: int = 120
    seed: int = 0

    def __post_init__(self) -> None:
        if min(self.width, self.candidates, self.batch, self.steps) < 1:
            raise ConfigError("width, candidates, batch and steps must be at least 1")
        if not 0 < self.learning_rate < math.inf:
            raise ConfigError(f"learning_rate={self.learning_rate} must be positive and finite")


@dataclass(frozen=True, eq=False)
class LookupRun:
    """What a run leaves behind: matrices, loss per step, held-out loss and accuracy."""

    W_q: ndarray
    W_k: ndarray
    losses: list[float]
    test_loss: float
    accuracy: float


def draw(x: ndarray, config: LookupConfig, step: int) -> tuple[ndarray, ndarray]:
    """Batch number ``step``: queries (B, 1, D) and candidate keys (B, S, D); key 0 is right."""
    needed = config.batch * config.candidates
    if needed > len(x):
        raise InputError(
            f"batch={config.batch} times candidates={config.candidates} needs {needed} pairs, "
            f"there are {len(x)}"
        )
    rng = np.random.default_rng((config.seed, step))
    chosen = rng.permutation(len(x))[:needed].reshape(config.batch, config.candidates)
    return x[chosen[:, :1], 0], x[chosen, 1]


def train(x: ndarray, config: LookupConfig, held_out: int = 512) -> LookupRun:
    """Gradient descent on W_q and W_k; the last ``held_out`` pairs are for the test."""
    rng = np.random.default_rng(config.seed)
    shape = (config.width, x.shape[-1])
    W_q, W_k = config.init_gain * rng.normal(size=(2, *shape)) / math.sqrt(shape[1])
    losses = []
    for step in range(config.steps):
        batch = draw(x[:-held_out], config, step)
        loss, dW_q, dW_k, _ = loss_and_gradients(W_q, W_k, *batch, config.scaled)
        W_q, W_k = W_q - config.learning_rate * dW_q, W_k - config.learning_rate * dW_k
        losses.append(loss)
    return LookupRun(W_q, W_k, losses, *evaluate(W_q, W_k, x[-held_out:], config))


def evaluate(
    W_q: ndarray, W_k: ndarray, x: ndarray, config: LookupConfig
) -> tuple[float, float]:
    """Mean loss and share of right answers over lookups drawn from the pairs in x."""
    config = replace(config, batch=len(x) // config.candidates, seed=config.seed + 1)
    results = [
        loss_and_gradients(W_q, W_k, *draw(x, config, i), config.scaled) for i in range(8)
    ]
    weights = np.concatenate([r[-1] for r in results])
    loss = np.mean([r[0] for r in results])
    return float(loss), float((weights.argmax(-1) == 0).mean())
