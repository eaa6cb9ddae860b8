"""Random weights whose outputs keep the scale of what goes in, forward or backward."""

import math

import numpy as np
from numpy import ndarray
from numpy.random import Generator

from ...errors import ConfigError
from ...shapes import Float

Weights = Float[ndarray, "O I"]
Number = float | int


def xavier_uniform(rng: Generator, n_out: int, n_in: int, gain: Number = 1.0) -> Weights:
    """Uniform weights with the variance between what both directions ask for.

    Implements eq-init-xavier::

        W_ij ~ U(-a, a),   a = gain √(6 / (n_in + n_out)),   Var W = a² / 3

    The forward pass of a linear layer keeps the variance if Var W = 1 / n_in, the backward pass
    if Var W = 1 / n_out. This is the harmonic mean of the two.

    Args:
        rng: Random generator.
        n_out: Outputs, rows of W.
        n_in: Inputs, columns of W.
        gain: Factor of the standard deviation, that of the activation.

    Returns:
        W, stored (out, in).

    Raises:
        ConfigError: If a size is not positive, or the gain not positive and finite.

    Example:
        >>> W = xavier_uniform(np.random.default_rng(0), n_out=2, n_in=4)
        >>> W.shape, bool(abs(W).max() <= 1.0)  # √(6 / (2 + 4))
        ((2, 4), True)

    References:
        Glorot and Bengio (2010), AISTATS, eq. (16).
    """
    require_sizes(n_out, n_in, gain)
    a = gain * math.sqrt(6 / (n_in + n_out))
    return rng.uniform(-a, a, (n_out, n_in))


def xavier_normal(rng: Generator, n_out: int, n_in: int, gain: Number = 1.0) -> Weights:
    """Normal weights with the variance between what both directions ask for.

    Implements eq-init-xavier::

        W_ij ~ N(0, gain² 2 / (n_in + n_out))

    Args:
        rng: Random generator.
        n_out: Outputs, rows of W.
        n_in: Inputs, columns of W.
        gain: Factor of the standard deviation, that of the activation.

    Returns:
        W, stored (out, in).

    Raises:
        ConfigError: If a size is not positive, or the gain not positive and finite.

    Example:
        >>> W = xavier_normal(np.random.default_rng(0), n_out=300, n_in=500)
        >>> round(float(W.std()), 2)  # √(2 / 800)
        0.05

    References:
        Glorot and Bengio (2010), AISTATS, eq. (12).
    """
    require_sizes(n_out, n_in, gain)
    return rng.normal(0.0, gain * math.sqrt(2 / (n_in + n_out)), (n_out, n_in))


def he_uniform(rng: Generator, n_out: int, n_in: int, gain: Number = 2**0.5) -> Weights:
    """Uniform weights that keep the mean square through a ReLU.

    Computes::

        W_ij ~ U(-a, a),   a = gain √(3 / n_in),   Var W = a² / 3

    Args:
        rng: Random generator.
        n_out: Outputs, rows of W.
        n_in: Inputs, columns of W.
        gain: √2 makes up for the half of the mean square that a ReLU takes away; 1 is for no
            activation.

    Returns:
        W, stored (out, in).

    Raises:
        ConfigError: If a size is not positive, or the gain not positive and finite.

    Example:
        >>> W = he_uniform(np.random.default_rng(0), n_out=100, n_in=600)
        >>> bool(abs(W).max() < 0.1)  # √2 √(3 / 600)
        True

    References:
        He et al. (2015), arXiv:1502.01852, eq. (10).
    """
    require_sizes(n_out, n_in, gain)
    a = gain * math.sqrt(3 / n_in)
    return rng.uniform(-a, a, (n_out, n_in))


def he_normal(rng: Generator, n_out: int, n_in: int, gain: Number = 2**0.5) -> Weights:
    """Normal weights that keep the mean square through a ReLU.

    Implements eq-init-he::

        W_ij ~ N(0, gain² / n_in)

    Args:
        rng: Random generator.
        n_out: Outputs, rows of W.
        n_in: Inputs, columns of W.
        gain: √2 makes up for the half of the mean square that a ReLU takes away; 1 is for no
            activation.

    Returns:
        W, stored (out, in).

    Raises:
        ConfigError: If a size is not positive, or the gain not positive and finite.

    Example:
        >>> he_normal(np.random.default_rng(0), n_out=2, n_in=4).shape
        (2, 4)

    References:
        He et al. (2015), arXiv:1502.01852, eq. (10).
    """
    require_sizes(n_out, n_in, gain)
    return rng.normal(0.0, gain * math.sqrt(1 / n_in), (n_out, n_in))


def orthogonal(rng: Generator, n_out: int, n_in: int, gain: Number = 1.0) -> Weights:
    """Weights whose shorter side is orthonormal, all such alike.

    Computes::

        W = gain Q,   QᵀQ = 1 if n_out >= n_in,   QQᵀ = 1 if n_out <= n_in

    Q is the factor of a normal matrix G = QR, its columns multiplied by the signs of R's
    diagonal. Without these signs Q would depend on the algorithm and not be uniform.

    Args:
        rng: Random generator.
        n_out: Outputs, rows of W.
        n_in: Inputs, columns of W.
        gain: Every singular value of W.

    Returns:
        W, stored (out, in).

    Raises:
        ConfigError: If a size is not positive, or the gain not positive and finite.

    Example:
        >>> W = orthogonal(np.random.default_rng(0), n_out=2, n_in=4)
        >>> np.allclose(W @ W.T, np.eye(2))
        True

    References:
        Saxe et al. (2014), arXiv:1312.6120; Mezzadri (2007), arXiv:math-ph/0609050, section 5.
    """
    require_sizes(n_out, n_in, gain)
    Q, R = np.linalg.qr(rng.normal(size=(max(n_out, n_in), min(n_out, n_in))))
    Q = Q * np.sign(np.diag(R))
    return gain * (Q if n_out >= n_in else Q.T)


def require_sizes(n_out: int, n_in: int, gain: Number) -> None:
    """Refuse layers without inputs or outputs and gains that are not positive."""
    if n_out < 1 or n_in < 1:
        raise ConfigError(f"need n_out >= 1 and n_in >= 1, got {n_out} and {n_in}")
    if not 0 < gain < math.inf:
        raise ConfigError(f"gain={gain} must be positive and finite")


__all__ = ["he_normal", "he_uniform", "orthogonal", "xavier_normal", "xavier_uniform"]
