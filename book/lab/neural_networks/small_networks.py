"""Many small networks trained at once, each from its own start: how often does it work?

Plain gradient descent on all data; targets are bits (cross-entropy) or numbers (squares).
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy import ndarray

from mathlm.errors import ConfigError, InputError
from mathlm.reference.arrays import finite_array

Layers = list[tuple[ndarray, ndarray]]  # W (count, out, in) and b (count, out) of each layer


@dataclass(frozen=True, kw_only=True)
class NetworksConfig:
    """One experiment.

    Args:
        widths: Units of every layer, inputs first and outputs last.
        activation: Of the hidden layers.
        loss: "bits" for targets 0 and 1, "squares" for numbers.
        learning_rate: Step size, of ``steps`` steps for each of ``count`` networks.
        seed: Of all starts together.
    """

    widths: tuple[int, ...] = (2, 4, 1)
    activation: Literal["relu", "sigmoid", "tanh"] = "relu"
    loss: Literal["bits", "squares"] = "bits"
    learning_rate: float = 0.5
    steps: int = 3000
    count: int = 1000
    seed: int = 0

    def __post_init__(self) -> None:
        sizes = (*self.widths, self.steps, self.count)
        if len(self.widths) < 2 or any(type(n) is not int or n < 1 for n in sizes):
            raise ConfigError(f"widths needs two entries, and sizes are integers >= 1: {self}")
        if self.activation not in FUNCTIONS or self.loss not in ("bits", "squares"):
            raise ConfigError(f"unknown activation={self.activation!r} or loss={self.loss!r}")
        if not 0 < self.learning_rate < np.inf:
            raise ConfigError(f"learning_rate={self.learning_rate} must be positive, finite")


FUNCTIONS: dict[str, tuple[Callable, Callable]] = {  # f, and f' as a function of the value
    "relu": (lambda z: np.maximum(z, 0.0), lambda h: h > 0),
    "sigmoid": (lambda z: 0.5 + 0.5 * np.tanh(0.5 * z), lambda h: h * (1 - h)),
    "tanh": (np.tanh, lambda h: 1 - h * h),
}


def start(config: NetworksConfig) -> Layers:
    """Normal weights of variance 2 / (inputs of the layer), biases zero."""
    rng, n = np.random.default_rng(config.seed), config.count
    shapes = zip(config.widths[1:], config.widths[:-1], strict=True)
    return [(rng.normal(size=(n, o, i)) * (2 / i) ** 0.5, np.zeros((n, o))) for o, i in shapes]


def forward(x: ndarray, layers: Layers, activation: str = "relu") -> list[ndarray]:
    """Input (N, I), values of each hidden layer and raw output, (count, N, width) each."""
    values = [np.broadcast_to(x, (len(layers[0][0]), *x.shape))]
    for k, (W, b) in enumerate(layers, start=1):
        z = np.einsum("sni,soi->sno", values[-1], W) + b[:, None]
        values.append(z if k == len(layers) else FUNCTIONS[activation][0](z))
    return values


def gradients(x: ndarray, y: ndarray, layers: Layers, config: NetworksConfig) -> Layers:
    """Gradient of each network's mean loss, by backpropagation through all at once."""
    values, found = forward(x, layers, config.activation), []
    output = FUNCTIONS["sigmoid"][0](values[-1]) if config.loss == "bits" else values[-1]
    delta = (output - y) / len(x)  # the same for both losses
    for k in reversed(range(len(layers))):
        W, h = layers[k][0], values[k]
        found.append((np.einsum("sno,sni->soi", delta, h), delta.sum(1)))
        if k:  # nobody needs the gradient in the inputs
            delta = np.einsum("sno,soi->sni", delta, W) * FUNCTIONS[config.activation][1](h)
    return found[::-1]


def train(
    x: ndarray, y: ndarray, config: NetworksConfig, begin: Layers | None = None
) -> Layers:
    """Gradient descent on every network, from a random start if none is given."""
    x, y = finite_array(x, "x"), finite_array(y, "y")
    if x.shape != (len(y), config.widths[0]) or y.shape[1:] != config.widths[-1:]:
        raise InputError(f"x {x.shape} and y {y.shape} do not fit widths={config.widths}")
    layers = [(side_by_side(W), side_by_side(b)) for W, b in begin or start(config)]
    for _ in range(config.steps):
        for (W, b), (dW, db) in zip(layers, gradients(x, y, layers, config), strict=True):
            W -= config.learning_rate * dW
            b -= config.learning_rate * db
    return layers


def side_by_side(entries: ndarray) -> ndarray:
    """A copy in which one entry of all networks is a run of memory: sums take half the time."""
    return np.moveaxis(np.array(np.moveaxis(entries, 0, -1), order="C"), -1, 0)


def losses(x: ndarray, y: ndarray, layers: Layers, config: NetworksConfig) -> ndarray:
    """Mean loss of each network [nats per bit, or squares]."""
    z = forward(x, layers, config.activation)[-1]
    each = np.logaddexp(0, z) - y * z if config.loss == "bits" else 0.5 * (z - y) ** 2
    return np.asarray(each.mean((1, 2)))
