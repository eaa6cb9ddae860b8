"""A soft lookup trained by hand-derived gradients: find a word's partner among many.

    python -m mathlm.recipes.soft_lookup --width 64

Keys are the vectors of words that end in "s", the query is the vector of the word without the
"s" of one of them ("river" asks, "rivers" should answer). A dictionary cannot answer, since no
key equals the query. Two matrices, W_q and W_k, learn to make the partner score highest.
"""

import argparse
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy import ndarray

from ..errors import ConfigError, InputError
from ..reference import dot_product_attention, dot_product_attention_backward
from ..text import vectors


@dataclass(frozen=True, kw_only=True)
class LookupConfig:
    """One training run.

    Args:
        width: d_k, the width of queries and keys.
        scaled: Divide the scores by the root of ``width``.
        learning_rate: Step size of plain gradient descent.
        init_gain: Factor on the initial W_q and W_k; with 1 the scores of unit-variance inputs
            have variance ``width`` before the division.
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


@dataclass(frozen=True, eq=False)
class LookupRun:
    """What a run leaves behind: matrices, loss per step, held-out loss and accuracy."""

    W_q: ndarray
    W_k: ndarray
    losses: list[float]
    test_loss: float
    accuracy: float


def word_pairs(
    words: Sequence[str], table: ndarray, seed: int = 0
) -> tuple[list[tuple[str, str]], ndarray]:
    """Words that also occur with an "s" at the end, and their standardized vectors.

    Args:
        words: A vocabulary.
        table: Their vectors, one row each.
        seed: Of the order of the pairs.

    Returns:
        The pairs of words, and their vectors (pairs, 2, D) with mean 0 and variance 1 in each
        feature.
    """
    index = {word: i for i, word in enumerate(words)}
    stems = [w for w in words if len(w) >= 4 and w.isalpha() and w + "s" in index]
    order = np.random.default_rng(seed).permutation(len(stems))
    pairs = [(stems[i], f"{stems[i]}s") for i in order]
    x = np.array([[table[index[w]] for w in pair] for pair in pairs], dtype=np.float64)
    return pairs, (x - x.mean((0, 1))) / x.std((0, 1))


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


def loss_and_gradients(
    W_q: ndarray, W_k: ndarray, queries: ndarray, keys: ndarray, scaled: bool
) -> tuple[float, ndarray, ndarray, ndarray]:
    """Half the squared distance of the weights from the right answer, and its gradients.

    The value of a candidate is its one-hot label, so the output of attention is its weights.

    Returns:
        Loss (mean over lookups), dW_q, dW_k, and the weights (B, S).
    """
    B, S, _ = keys.shape
    undo = 1.0 if scaled else math.sqrt(len(W_q))  # attention divides by √d_k in any case
    values = np.broadcast_to(np.eye(S), (B, S, S))
    y, cache = dot_product_attention(undo * queries @ W_q.T, keys @ W_k.T, values)
    error = y - np.eye(S)[0]  # the right key is number 0
    dq, dk, _ = dot_product_attention_backward(error / B, cache)
    dW_q = undo * np.tensordot(dq, queries, ((0, 1), (0, 1)))
    dW_k = np.tensordot(dk, keys, ((0, 1), (0, 1)))
    return float((error**2).sum() / (2 * B)), dW_q, dW_k, y[:, 0]


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


def main(argv: Sequence[str] | None = None) -> None:
    """Train once and print one line."""
    parser = argparse.ArgumentParser(description="Train a soft lookup.")
    parser.add_argument("--width", type=int, default=64)
    parser.add_argument("--learning-rate", type=float, default=1.0)
    parser.add_argument("--unscaled", action="store_true")
    args = parser.parse_args(argv)
    words, table = vectors.load()
    _, x = word_pairs(words[:20000], table)
    config = LookupConfig(
        width=args.width, learning_rate=args.learning_rate, scaled=not args.unscaled
    )
    run = train(x, config)
    print(f"held-out loss {run.test_loss:.3f}, right answers {100 * run.accuracy:.0f} %")


if __name__ == "__main__":
    main()
