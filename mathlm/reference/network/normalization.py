"""Normalization over the features or over the batch, and the hand-derived backward passes."""

import numpy as np
from numpy import ndarray

from ...errors import InputError, InputTypeError
from ...shapes import Float
from ..arrays import finite_array, gradient_array, require_gradient_shape


def layer_norm(
    x: Float[ndarray, "*batch D"],
    gamma: Float[ndarray, " D"],
    beta: Float[ndarray, " D"],
    eps: float = 1e-5,
) -> tuple[Float[ndarray, "*batch D"], tuple]:
    """Standardize each vector over its features, then scale and shift.

    Implements eq-layer-norm::

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
        InputError: If a shape does not fit, an entry is not finite or too large to be squared,
            or ``eps`` is negative, not finite, or 0 while a vector has no variance.

    Example:
        >>> y, cache = layer_norm(np.array([1.0, 3.0]), np.ones(2), np.zeros(2))
        >>> y.round(3)
        array([-1.,  1.])

    References:
        Ba, Kiros and Hinton (2016), arXiv:1607.06450, eq. (3)-(4).
    """
    x = _vectors(x, gamma=gamma, beta=beta)
    x = x - x[..., :1]  # changes nothing but rounding: equal entries become exactly 0
    centered = x - x.mean(-1, keepdims=True)
    rstd = _reciprocal_root(_mean_square(centered, -1), eps, "variance")
    xhat = centered * rstd
    return gamma * xhat + beta, (xhat, rstd, gamma)


def layer_norm_backward(
    dy: Float[ndarray, "*batch D"], cache: tuple
) -> tuple[Float[ndarray, "*batch D"], Float[ndarray, " D"], Float[ndarray, " D"]]:
    """Pull the gradient of the loss back through :func:`layer_norm`.

    Implements eq-layer-norm-backward::

        g = γ ⊙ dy,   dx = (g - mean(g) - x̂ mean(g ⊙ x̂)) / √(var + ε)
        dγ = Σ dy ⊙ x̂,   dβ = Σ dy   over the vectors

    Args:
        dy: Gradient of the loss in y.
        cache: Second output of :func:`layer_norm`.

    Returns:
        dx, dgamma, dbeta, in the order of the arguments of :func:`layer_norm`.

    Example:
        >>> y, cache = layer_norm(np.array([1.0, 3.0]), np.ones(2), np.zeros(2))
        >>> dx, dgamma, dbeta = layer_norm_backward(np.array([2.0, 3.0]), cache)
        >>> dgamma.round(3), dbeta
        (array([-2.,  3.]), array([2., 3.]))
    """
    xhat, rstd, gamma = cache
    dy = gradient_array(dy, xhat.shape)
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

    Implements eq-rms-norm::

        y = γ ⊙ x̂,   x̂ = x / √(mean(x²) + ε)

    Args:
        x: Input vectors.
        gamma: Gain γ.
        eps: Added to the mean square, in units of x².

    Returns:
        y, and the cache that :func:`rms_norm_backward` needs.

    Raises:
        InputError: If a shape does not fit, an entry is not finite or too large to be squared,
            or ``eps`` is negative, not finite, or 0 while a vector is 0.

    Example:
        >>> y, cache = rms_norm(np.array([2.0, -2.0]), np.ones(2))
        >>> y.round(3)
        array([ 1., -1.])

    References:
        Zhang and Sennrich (2019), arXiv:1910.07467, eq. (4).
    """
    x = _vectors(x, gamma=gamma)
    rstd = _reciprocal_root(_mean_square(x, -1), eps, "mean square")
    xhat = x * rstd
    return gamma * xhat, (xhat, rstd, gamma)


def rms_norm_backward(
    dy: Float[ndarray, "*batch D"], cache: tuple
) -> tuple[Float[ndarray, "*batch D"], Float[ndarray, " D"]]:
    """Pull the gradient of the loss back through :func:`rms_norm`.

    Implements eq-rms-norm::

        g = γ ⊙ dy,   dx = (g - x̂ mean(g ⊙ x̂)) / √(mean(x²) + ε),   dγ = Σ dy ⊙ x̂

    Args:
        dy: Gradient of the loss in y.
        cache: Second output of :func:`rms_norm`.

    Returns:
        dx, dgamma, in the order of the arguments of :func:`rms_norm`.

    Example:
        >>> y, cache = rms_norm(np.array([2.0, -2.0]), np.ones(2))
        >>> dx, dgamma = rms_norm_backward(np.array([1.0, 3.0]), cache)
        >>> dgamma.round(3)
        array([ 1., -3.])
    """
    xhat, rstd, gamma = cache
    dy = gradient_array(dy, xhat.shape)
    dgamma = (dy * xhat).sum(tuple(range(dy.ndim - 1)))
    g = dy * gamma  # gradient in xhat
    dx = rstd * (g - xhat * (g * xhat).mean(-1, keepdims=True))
    return dx, dgamma


def batch_norm(
    x: Float[ndarray, "*batch D"],
    gamma: Float[ndarray, " D"],
    beta: Float[ndarray, " D"],
    eps: float = 1e-5,
    mask: ndarray | None = None,
) -> tuple[Float[ndarray, "*batch D"], tuple]:
    """Standardize each feature over the vectors of the batch, then scale and shift.

    Implements eq-batch-norm::

        y_n = γ ⊙ x̂_n + β,   x̂_n = (x_n - μ) / √(var + ε)
        μ = 1/N Σ_n x_n,   var = 1/N Σ_n (x_n - μ)²   over the N vectors that count

    A feature with one value in the whole batch gives exactly its β. Padding takes no part: what
    stands there does not matter, NaN included, and its y is 0.

    Args:
        x: Input vectors.
        gamma: Gain γ.
        beta: Shift β.
        eps: Added to the variance, in units of x².
        mask: bool ``(*batch)``, True where a vector counts; None = all do.

    Returns:
        y, and the cache that :func:`batch_norm_backward` needs.

    Raises:
        InputError: If fewer than two vectors count, one of them is not finite or too large to
            be squared, a shape does not fit, or ``eps`` is negative, not finite, or 0 while a
            feature has no variance.
        InputTypeError: If the mask is not boolean.

    Example:
        >>> y, cache = batch_norm(np.array([[1.0], [3.0]]), np.ones(1), np.zeros(1))
        >>> y.round(3).tolist()
        [[-1.0], [1.0]]

    References:
        Ioffe and Szegedy (2015), arXiv:1502.03167, algorithm 1.
    """
    x = np.asarray(x)
    counted = _counted(x, mask)
    _require_parameters(x.shape, gamma=gamma, beta=beta)
    rows = finite_array(x[counted], "x where it counts")  # (N, D)
    rows = rows - rows[:1]  # changes nothing but rounding: equal entries become exactly 0
    centered = rows - rows.mean(0)
    var = _mean_square(centered, 0).T  # (D, 1)
    rstd = _reciprocal_root(var, eps, "variance over the batch")[:, 0]
    xhat = np.zeros(x.shape)
    xhat[counted] = centered * rstd
    y = np.where(counted[..., None], gamma * xhat + beta, 0.0)
    return y, (xhat, rstd, gamma, counted)


def batch_norm_backward(
    dy: Float[ndarray, "*batch D"], cache: tuple
) -> tuple[Float[ndarray, "*batch D"], Float[ndarray, " D"], Float[ndarray, " D"]]:
    """Pull the gradient of the loss back through :func:`batch_norm`.

    Implements eq-batch-norm-backward::

        g = γ ⊙ dy,   dx_n = (g_n - mean(g) - x̂_n ⊙ mean(g ⊙ x̂)) / √(var + ε)
        dγ = Σ_n dy_n ⊙ x̂_n,   dβ = Σ_n dy_n   means and sums over the vectors that count

    Args:
        dy: Gradient of the loss in y; what it says of padding is not used.
        cache: Second output of :func:`batch_norm`.

    Returns:
        dx, dgamma, dbeta, in the order of the arguments of :func:`batch_norm`; dx of padding
        is 0.

    Example:
        >>> y, cache = batch_norm(np.array([[1.0], [3.0]]), np.ones(1), np.zeros(1), eps=0)
        >>> dx, dgamma, dbeta = batch_norm_backward(np.array([[-1.0], [1.0]]), cache)
        >>> dx.tolist(), dgamma.tolist(), dbeta.tolist()  # y is ±1 whatever the spread
        ([[0.0], [0.0]], [2.0], [0.0])
    """
    xhat, rstd, gamma, counted = cache
    require_gradient_shape(dy, xhat.shape)
    dy = gradient_array(np.where(counted[..., None], dy, 0.0), xhat.shape)
    batch, N = tuple(range(dy.ndim - 1)), counted.sum()
    dgamma = (dy * xhat).sum(batch)
    dbeta = dy.sum(batch)
    g = dy * gamma  # gradient in xhat
    dx = rstd * (g - (g.sum(batch) + xhat * (g * xhat).sum(batch)) / N)
    return dx * counted[..., None], dgamma, dbeta


def _counted(x: ndarray, mask: ndarray | None) -> ndarray:
    """The mask, if it fits and leaves the two vectors that a variance needs."""
    if mask is None:
        mask = np.ones(x.shape[:-1], dtype=bool)
    if not isinstance(mask, np.ndarray) or mask.dtype != bool:
        found = getattr(mask, "dtype", type(mask).__name__)
        raise InputTypeError(f"mask must be a bool array, True = counts, got {found}")
    if mask.shape != x.shape[:-1]:
        raise InputError(f"mask {mask.shape} must be {x.shape[:-1]} for x {x.shape}")
    if mask.sum() < 2:
        raise InputError(
            f"{int(mask.sum())} of the vectors of x {x.shape} count: a variance over the batch "
            "needs at least 2"
        )
    return mask


def _vectors(x: ndarray, **parameters: ndarray) -> ndarray:
    """The vectors x, whose entries are finite and as many as those of gain and shift."""
    x = finite_array(x, "x")
    if x.ndim == 0:
        raise InputError("x is a single number; give vectors, (..., D)")
    _require_parameters(x.shape, **parameters)
    return x


def _require_parameters(shape: tuple[int, ...], **parameters: ndarray) -> None:
    for name, value in parameters.items():
        if finite_array(value, name).shape != shape[-1:]:
            raise InputError(
                f"{name} has shape {np.shape(value)}, but x {shape} needs {shape[-1:]}"
            )


def _mean_square(x: ndarray, axis: int) -> ndarray:
    with np.errstate(over="ignore"):
        square = (x**2).mean(axis, keepdims=True)
    if not np.isfinite(square).all():
        raise InputError(
            f"x holds numbers up to {np.abs(x).max():.3g}: their squares are beyond float64"
        )
    return square


def _reciprocal_root(square: ndarray, eps: float, name: str) -> ndarray:
    if not 0 <= eps < np.inf:
        raise InputError(f"eps={eps} must not be negative, NaN or infinite")
    if eps == 0 and not square.all():
        first = tuple(int(i) for i in np.argwhere(square[..., 0] == 0)[0])
        raise InputError(f"the {name} at {first} is 0 and eps=0: nothing to divide by")
    return 1 / np.sqrt(square + eps)
