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

    def loss(rate: float) -> float:
        found = []
        for seed in range(2):
            config = DigitsConfig(
                hidden=hidden, activation=activation, learning_rate=rate, epochs=20, seed=seed
            )
            found.append(evaluate(val, *train(data, [], config)[:2])[0])
        return sum(found)

    return min(rates, key=loss)


def split_scores(
    hidden: tuple[int, ...], rate: float, seeds: Sequence[int] = range(1, 9)
) -> ndarray:
    """Share of test images read right, for each seed of the split and of the start."""
    found = []
    for seed in seeds:
        data, _, test = load(seed)
        config = DigitsConfig(hidden=hidden, learning_rate=rate, epochs=20, seed=seed)
        found.append(evaluate(test, *train(data, [], config)[:2])[1])
    return np.array(found)
