"""The size of a gradient on its way back through many layers."""

from collections.abc import Sequence

import numpy as np
from numpy import ndarray

from mathlm.reference.network.linear import (
    multilayer_perceptron,
    multilayer_perceptron_backward,
)

SETTINGS = {  # name -> activation, and the variance of the weights times the width
    "ReLU, variance 2/n": ("relu", 2.0),
    "ReLU, variance 1/n": ("relu", 1.0),
    "tanh, variance 1/n": ("tanh", 1.0),
    "sigmoid, variance 1/n": ("sigmoid", 1.0),
}


def gradient_sizes(
    activation: str, variance: float, seed: int, width: int = 64, depth: int = 50
) -> ndarray:
    """Root mean square of δ at every layer, the last one first, of a random network.

    Args:
        activation: Of every layer.
        variance: Of the weights, times the width.
        seed: Of the weights, the input and the gradient that is sent back.
        width: Units of every layer.
        depth: Layers.
    """
    rng = np.random.default_rng(seed)
    draws = rng.normal(size=(depth, width, width)) * np.sqrt(variance / width)
    weights = [(W, np.zeros(width)) for W in draws]
    _, cache = multilayer_perceptron(rng.normal(size=(1, width)), weights, [activation] * depth)
    _, found = multilayer_perceptron_backward(rng.normal(size=(1, width)), cache)
    return np.array([np.sqrt((db**2).mean()) for _, db in found[::-1] if db is not None])


def typical_sizes(seeds: Sequence[int] = range(10)) -> dict[str, ndarray]:
    """Geometric mean over seeds of the size at every layer, for each setting."""
    return {
        name: np.exp(np.mean([np.log(gradient_sizes(*pair, seed)) for seed in seeds], axis=0))
        for name, pair in SETTINGS.items()
    }


__all__ = ["SETTINGS", "gradient_sizes", "typical_sizes"]
