"""Handwritten digits read by a network trained in NumPy, gradients by hand.

1797 images of 8 × 8 pixels: 1197 to train on, 300 to choose settings by, 300 to test.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np
from numpy import ndarray

from mathlm.errors import ConfigError
from mathlm.reference.network.linear import (
    ACTIVATIONS,
    multilayer_perceptron,
    multilayer_perceptron_backward,
)
from mathlm.reference.training.initialization import he_normal
from mathlm.reference.training.loss import token_cross_entropy, token_cross_entropy_backward
from mathlm.text import digits as images

Weights = list[tuple[ndarray, ndarray]]
Split = tuple[ndarray, ndarray]  # pixels in 0..1 (N, 64), digits (N)


@dataclass(frozen=True, kw_only=True)
class DigitsConfig:
    """One training run.

    Args:
        hidden: Units of each hidden layer; () is logistic regression.
        activation: Of the hidden layers.
        learning_rate: Step size, on mini-batches of ``batch`` images.
        epochs: Passes over the training images.
        seed: Of the weights and of the order of the images.
    """

    hidden: tuple[int, ...] = (64,)
    activation: str = "relu"
    learning_rate: float = 0.2
    batch: int = 32
    epochs: int = 40
    seed: int = 0

    def __post_init__(self) -> None:
        sizes = (*self.hidden, self.batch, self.epochs)
        if any(type(size) is not int or size < 1 for size in sizes):
            raise ConfigError(
                f"hidden={self.hidden}, batch={self.batch} and epochs={self.epochs} must be "
                "integers of at least 1"
            )
        if not 0 < self.learning_rate < math.inf:
            raise ConfigError(f"learning_rate={self.learning_rate} must be positive, finite")


def load(seed: int = 0) -> tuple[Split, Split, Split]:
    """Training, validation and test images: a fixed shuffle of 1797, cut at 1197 and 1497."""
    pixels, digits = images.load()
    order = np.random.default_rng(seed).permutation(len(digits))
    train, val, test = ((pixels[i] / 16, digits[i]) for i in np.split(order, [1197, 1497]))
    return train, val, test


def start(config: DigitsConfig) -> tuple[Weights, list[str]]:
    """Normal weights of variance 2 / (inputs of the layer), and the name of each activation."""
    rng, widths = np.random.default_rng(config.seed), (64, *config.hidden, 10)
    sizes = zip(widths[1:], widths[:-1], strict=True)
    weights = [(he_normal(rng, o, i), np.zeros(o)) for o, i in sizes]
    return weights, [config.activation] * len(config.hidden) + ["identity"]


def gradients(x: ndarray, y: ndarray, weights: Weights, activations: list[str]) -> Weights:
    """Gradient of the mean cross-entropy of a batch."""
    logits, cache = multilayer_perceptron(x, weights, activations)
    _, loss_cache = token_cross_entropy(logits, y)
    dlogits = token_cross_entropy_backward(np.full(len(y), 1 / len(y)), loss_cache)
    return cast(Weights, multilayer_perceptron_backward(dlogits, cache)[1])


def train(
    data: Split, sets: Sequence[Split], config: DigitsConfig
) -> tuple[Weights, list[str], ndarray]:
    """Weights, activations, and the mean loss of each of ``sets`` after every epoch."""
    (x, y), (weights, activations) = data, start(config)
    rng, history = np.random.default_rng(config.seed + 1), []
    for _ in range(config.epochs):
        order = rng.permutation(len(y))
        for chosen in np.split(order, range(config.batch, len(y), config.batch)):
            found = gradients(x[chosen], y[chosen], weights, activations)
            for (W, b), (dW, db) in zip(weights, found, strict=True):
                W -= config.learning_rate * dW
                b -= config.learning_rate * db
        history.append([evaluate(data, weights, activations)[0] for data in sets])
    return weights, activations, np.array(history)


def train_together(data: Sequence[Split], configs: Sequence[DigitsConfig]) -> list[Weights]:
    """What :func:`train` makes of each pair of images and settings, all runs in one loop.

    An axis for the runs stands before those of every array, so that a step of all costs little
    more than a step of one. Runs may differ in their images, seeds and step sizes.

    Raises:
        ConfigError: If there is no run, or runs differ in their shape, batch or epochs.
    """
    kinds = {(c.hidden, c.activation, c.batch, c.epochs) for c in configs}
    if len(kinds) != 1:
        raise ConfigError(f"runs of one shape, batch and epochs are wanted, not {len(kinds)}")
    config, rows = configs[0], np.arange(len(configs))[:, None]
    starts, names = [start(c)[0] for c in configs], start(config)[1]
    weights = [
        tuple(map(np.stack, zip(*same, strict=True))) for same in zip(*starts, strict=True)
    ]
    x, y = map(np.stack, zip(*data, strict=True))  # (R, N, 64), (R, N)
    rngs = [np.random.default_rng(c.seed + 1) for c in configs]
    rates = np.array([c.learning_rate for c in configs])
    for _ in range(config.epochs):
        order = np.stack([rng.permutation(y.shape[1]) for rng in rngs])
        for at in np.split(order, range(config.batch, y.shape[1], config.batch), axis=1):
            h, caches = x[rows, at], []
            for (W, b), name in zip(weights, names, strict=True):
                value, cache = ACTIVATIONS[name][0](h @ W.transpose(0, 2, 1) + b[:, None])
                caches.append((h, cache))
                h = value
            delta = _loss_slopes(h, y[rows, at])
            for i in range(len(names) - 1, -1, -1):
                (W, b), (h, cache) = weights[i], caches[i]
                delta = ACTIVATIONS[names[i]][1](delta, cache)
                before = delta @ W if i else delta  # nobody needs it for the images
                W -= rates[:, None, None] * (delta.transpose(0, 2, 1) @ h)
                b -= rates[:, None] * delta.sum(1)
                delta = before
    return [[(W[r], b[r]) for W, b in weights] for r in range(len(configs))]


def _loss_slopes(logits: ndarray, y: ndarray) -> ndarray:
    """Gradient of each run's mean cross-entropy in its logits (R, B, 10)."""
    _, cache = token_cross_entropy(logits.reshape(-1, logits.shape[-1]), y.reshape(-1))
    slopes = token_cross_entropy_backward(np.full(y.size, 1 / y.shape[1]), cache)
    return slopes.reshape(logits.shape)


def evaluate(data: Split, weights: Weights, activations: list[str]) -> tuple:
    """Mean loss [nats], share of right answers, and the answers themselves."""
    logits, _ = multilayer_perceptron(data[0], weights, activations)
    losses, _ = token_cross_entropy(logits, data[1])
    answers = logits.argmax(1)
    return float(losses.mean()), float((answers == data[1]).mean()), answers


def best_rate(
    hidden: tuple[int, ...], rates: Sequence[float] = (0.3, 1.0, 3.0), activation: str = "relu"
) -> float:
    """The step size with the lowest mean validation loss of two starts, in 20 epochs."""
    data, val, _ = load()
    configs = [
        DigitsConfig(
            hidden=hidden, activation=activation, learning_rate=r, epochs=20, seed=seed
        )
        for r in rates
        for seed in range(2)
    ]
    names, runs = start(configs[0])[1], train_together([data] * len(configs), configs)
    losses = np.array([evaluate(val, run, names)[0] for run in runs]).reshape(-1, 2)
    return rates[losses.sum(1).argmin()]


def split_scores(
    hidden: tuple[int, ...], rate: float, seeds: Sequence[int] = range(1, 9)
) -> ndarray:
    """Share of test images read right, for each seed of the split and of the start."""
    splits = [load(seed) for seed in seeds]
    configs = [
        DigitsConfig(hidden=hidden, learning_rate=rate, epochs=20, seed=seed) for seed in seeds
    ]
    names = start(configs[0])[1]
    runs = train_together([data for data, _, _ in splits], configs)
    tests = [test for _, _, test in splits]
    return np.array([evaluate(t, run, names)[1] for t, run in zip(tests, runs, strict=True)])
