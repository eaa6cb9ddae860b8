"""Dropout and its hand-derived backward pass."""

from typing import Any

import numpy as np
from numpy import ndarray
from numpy.random import Generator

from ...errors import ConfigError, InputError
from ...shapes import Float
from ..arrays import finite_array


def dropout(
    x: Float[ndarray, "..."], rate: float | int, rng: Generator
) -> tuple[Float[ndarray, "..."], Any]:
    """Set entries to zero at random, and scale up the others so that the mean stays.

    Implements eq-dropout::

        y_i = x_i k_i / (1 - p),   k_i ~ Bernoulli(1 - p)

    So E[y] = x and Var y_i = x_i² p / (1 - p). At test time dropout is the identity, without
    any factor. A rate of 0 returns x, and draws nothing.

    Args:
        x: Activations, any shape.
        rate: p in [0, 1), the share that is dropped.
        rng: Random generator.

    Returns:
        y, and the cache that :func:`dropout_backward` needs.

    Raises:
        ConfigError: If the rate lies outside [0, 1): at 1 nothing is left to scale up.
        InputError: If x is empty, or an entry is NaN or infinite.

    Example:
        >>> y, cache = dropout(np.ones(1000), 0.5, np.random.default_rng(0))
        >>> sorted(set(y.tolist()))
        [0.0, 2.0]

    References:
        Srivastava et al. (2014), Journal of Machine Learning Research 15, 1929-1958.
    """
    if not 0 <= rate < 1:
        raise ConfigError(
            f"rate={rate} must lie in [0, 1): what is kept is divided by 1 - rate"
        )
    x = finite_array(x, "x")
    if rate == 0:
        return x.copy(), np.ones_like(x)
    factors = (rng.random(x.shape) >= rate) / (1 - rate)
    return x * factors, factors


def dropout_backward(dy: Float[ndarray, "..."], cache: Any) -> Float[ndarray, "..."]:
    """Pull the gradient of the loss back through the entries that were kept.

    Implements eq-backward-dropout::

        dx_i = dy_i k_i / (1 - p)

    Args:
        dy: Gradient of the loss in y, of its shape.
        cache: Second value of :func:`dropout`.

    Returns:
        dx.

    Raises:
        InputError: If dy has not the shape of y.

    Example:
        >>> y, cache = dropout(np.ones(8), 0.5, np.random.default_rng(0))
        >>> bool((dropout_backward(np.ones(8), cache) == y).all())  # the same entries
        True
    """
    if dy.shape != cache.shape:
        raise InputError(f"dy has shape {dy.shape}, but y has {cache.shape}")
    return dy * cache


__all__ = ["dropout", "dropout_backward"]
