"""Normalization of vectors over their features, and the hand-derived backward passes."""

import numpy as np
from numpy import ndarray

from ..errors import InputError
from ..shapes import Float


def layer_norm(
    x: Float[ndarray, "*batch D"],
    gamma: Float[ndarray, " D"],
    beta: Float[ndarray, " D"],
    eps: float = 1e-5,
) -> tuple[Float[ndarray, "*batch D"], tuple]:
    """Standardize each vector over its features, then scale and shift.

    Computes::

        y = γ ⊙ x̂ + β,   x̂ = (x - μ) / √(var + ε),   var biased (1/D)

    A vector of equal entries gives exactly β.

    Args:
        x: Input vectors.
        gamma: Gain γ.
        beta: Shift β.
        eps: Added to the variance, in units of x².

    Returns:
        y, and the cache that :func:`layer_norm_backward` needs.

    Raises:
        InputError: If ``eps`` is negative, or 0 while a vector has no variance.

    References:
        Ba, Kiros and Hinton (2016), arXiv:1607.06450, eq. (3)-(4).
    """
    x = x - x[..., :1]  # changes nothing but rounding: equal entries become exactly 0
    centered = x - x.mean(-1, keepdims=True)
    rstd = _reciprocal_root((centered**2).mean(-1, keepdims=True), eps, "variance")
    xhat = centered * rstd
    return gamma * xhat + beta, (xhat, rstd, gamma)


def layer_norm_backward(
    dy: Float[ndarray, "*batch D"], cache: tuple
) -> tuple[Float[ndarray, "*batch D"], Float[ndarray, " D"], Float[ndarray, " D"]]:
    """Pull the gradient of the loss back through :func:`layer_norm`.

    Computes::

        g = γ ⊙ dy,   dx = (g - mean(g) - x̂ mean(g ⊙ x̂)) / √(var + ε)
        dγ = Σ dy ⊙ x̂,   dβ = Σ dy   over the vectors

    Args:
        dy: Gradient of the loss in y.
        cache: Second output of :func:`layer_norm`.

    Returns:
        dx, dgamma, dbeta, in the order of the arguments of :func:`layer_norm`.
    """
    xhat, rstd, gamma = cache
    batch = tuple(range(dy.ndim - 1))
    dgamma = (dy * xhat).sum(batch)
    dbeta = dy.sum(batch)
    g = dy * gamma  # gradient in xhat
    dx = rstd * (g - g.mean(-1, keepdims=True) - xhat * (g * xhat).mean(-1, keepdims=True))
    return dx, dgamma, dbeta


def rms_norm(
    x: Float[ndarray, "*batch D"], gamma: Float[ndarray, " D"], eps: float = 1e-5
) -> tuple[Float[ndarray, "*batch D"], tuple]:
    """Divide each vector by its root mean square, then scale.

    Computes::

        y = γ ⊙ x̂,   x̂ = x / √(mean(x²) + ε)

    Args:
        x: Input vectors.
        gamma: Gain γ.
        eps: Added to the mean square, in units of x².

    Returns:
        y, and the cache that :func:`rms_norm_backward` needs.

    Raises:
        InputError: If ``eps`` is negative, or 0 while a vector is 0.

    References:
        Zhang and Sennrich (2019), arXiv:1910.07467, eq. (4).
    """
    rstd = _reciprocal_root((x**2).mean(-1, keepdims=True), eps, "mean square")
    xhat = x * rstd
    return gamma * xhat, (xhat, rstd, gamma)


def rms_norm_backward(
    dy: Float[ndarray, "*batch D"], cache: tuple
) -> tuple[Float[ndarray, "*batch D"], Float[ndarray, " D"]]:
    """Pull the gradient of the loss back through :func:`rms_norm`.

    Computes::

        g = γ ⊙ dy,   dx = (g - x̂ mean(g ⊙ x̂)) / √(mean(x²) + ε),   dγ = Σ dy ⊙ x̂

    Args:
        dy: Gradient of the loss in y.
        cache: Second output of :func:`rms_norm`.

    Returns:
        dx, dgamma, in the order of the arguments of :func:`rms_norm`.
    """
    xhat, rstd, gamma = cache
    dgamma = (dy * xhat).sum(tuple(range(dy.ndim - 1)))
    g = dy * gamma  # gradient in xhat
    dx = rstd * (g - xhat * (g * xhat).mean(-1, keepdims=True))
    return dx, dgamma


def _reciprocal_root(square: ndarray, eps: float, name: str) -> ndarray:
    if eps < 0:
        raise InputError(f"eps={eps} must not be negative")
    if eps == 0 and not square.all():
        first = tuple(int(i) for i in np.argwhere(square[..., 0] == 0)[0])
        raise InputError(f"the {name} at {first} is 0 and eps=0: nothing to divide by")
    return 1 / np.sqrt(square + eps)
