"""Softmax, its logarithm and the log-sum-exp, with their backward passes."""

import math
from collections.abc import Sequence

import numpy as np
from numpy import ndarray

from ...errors import InputError
from ..arrays import require_gradient_shape

Numbers = ndarray | Sequence  # what np.asarray turns into an array of numbers


def softmax(z: Numbers, temperature: float | int = 1.0, axis: int = -1) -> ndarray:
    """Turn scores into positive weights that sum to one.

    Implements eq-softmax, eq-softmax-temperature::

        p_i = exp(z_i / T) / Σ_j exp(z_j / T)

    The largest score of each row is subtracted first, which changes nothing and keeps every
    exponent at or below 0. An entry of minus infinity gets weight 0.

    Args:
        z: Scores (logits); each row holds at least one finite entry.
        temperature: T > 0; 1/T multiplies every score.
        axis: Axis along which the weights sum to one.

    Returns:
        p, of the shape of z, in float64.

    Raises:
        InputError: If a score is NaN or plus infinity, a row has no finite score, or T is not
            a positive number.

    Example:
        >>> softmax([1000.0, 1000.0, -1000.0]).tolist()
        [0.5, 0.5, 0.0]
    """
    powers = np.exp(_shifted(z, temperature, axis))
    return powers / powers.sum(axis, keepdims=True)


def softmax_backward(
    dy: ndarray, y: ndarray, temperature: float | int = 1.0, axis: int = -1
) -> ndarray:
    """Pull the gradient of the loss back through :func:`softmax`.

    Implements eq-softmax-vjp::

        dz = p ⊙ (dp - ⟨p, dp⟩) / T

    Args:
        dy: Gradient of the loss in p, called dp in the equation.
        y: The output p of :func:`softmax`.
        temperature: T of the forward pass.
        axis: Axis of the forward pass.

    Returns:
        dz; its entries sum to 0 along ``axis``.

    Raises:
        InputError: If dy has another shape than y.

    Example:
        >>> softmax_backward(np.array([1.0, 0.0]), np.array([0.5, 0.5]))
        array([ 0.25, -0.25])
    """
    _require_temperature(temperature)
    require_gradient_shape(dy, np.shape(y))
    return y * (dy - (y * dy).sum(axis, keepdims=True)) / temperature


def softmax_jacobian(y: ndarray, temperature: float | int = 1.0) -> ndarray:
    """Matrix of partial derivatives of :func:`softmax` along the last axis.

    Implements eq-softmax-jacobian::

        J = (diag(p) - pᵀ p) / T,   p a row

    The diagonal is summed from its row, p_i (1 - p_i) = Σ_{j≠i} p_i p_j, which stays accurate
    when one weight rounds to 1.

    Args:
        y: The output p of :func:`softmax`, with n weights along its last axis.
        temperature: T of the forward pass.

    Returns:
        J, of shape (..., n, n); symmetric, and its rows sum to 0.

    Example:
        >>> softmax_jacobian(np.array([0.5, 0.5]))
        array([[ 0.25, -0.25],
               [-0.25,  0.25]])
    """
    _require_temperature(temperature)
    products = y[..., :, None] * y[..., None, :]
    i = np.arange(y.shape[-1])
    products[..., i, i] = 0.0
    jacobian = -products
    jacobian[..., i, i] = products.sum(-1)
    return jacobian / temperature


def log_softmax(z: Numbers, temperature: float | int = 1.0, axis: int = -1) -> ndarray:
    """Logarithm of the softmax, without taking the logarithm of a rounded weight.

    Computes::

        log p_i = z_i / T - log Σ_j exp(z_j / T)

    Args:
        z: Scores (logits); each row holds at least one finite entry.
        temperature: T > 0.
        axis: Axis along which the weights sum to one.

    Returns:
        log p [nats], of the shape of z.

    Raises:
        InputError: As :func:`softmax`.

    Example:
        >>> log_softmax([0.0, -1000.0]).tolist()
        [0.0, -1000.0]
    """
    shifted = _shifted(z, temperature, axis)
    return shifted - np.log(np.exp(shifted).sum(axis, keepdims=True))


def log_softmax_backward(
    dy: ndarray, y: ndarray, temperature: float | int = 1.0, axis: int = -1
) -> ndarray:
    """Pull the gradient of the loss back through :func:`log_softmax`.

    Computes::

        dz = (dy - p Σ_j dy_j) / T,   p = exp(y)

    Args:
        dy: Gradient of the loss in y = log p.
        y: The output of :func:`log_softmax`.
        temperature: T of the forward pass.
        axis: Axis of the forward pass.

    Returns:
        dz; its entries sum to 0 along ``axis``.

    Raises:
        InputError: If dy has another shape than y.

    Example:
        >>> y = log_softmax(np.log([1.0, 3.0]))
        >>> log_softmax_backward(np.array([1.0, 0.0]), y).round(4)  # dy - p Σ dy
        array([ 0.75, -0.75])
    """
    _require_temperature(temperature)
    require_gradient_shape(dy, np.shape(y))
    return (dy - np.exp(y) * dy.sum(axis, keepdims=True)) / temperature


def logsumexp(z: Numbers, axis: int = -1) -> ndarray:
    """Logarithm of a sum of exponentials: a maximum with rounded corners.

    Implements eq-logsumexp::

        logsumexp(z) = m + log Σ_j exp(z_j - m),   m = max z

    Args:
        z: Exponents; a row that is minus infinity throughout gives minus infinity.
        axis: Axis to sum over.

    Returns:
        One number [nats] for each row.

    Raises:
        InputError: If an exponent is NaN or plus infinity, or there is none.

    Example:
        >>> float(np.exp(logsumexp(np.log([1.0, 3.0]))).round(6))
        4.0
    """
    z = _checked(z, axis)
    highest = z.max(axis, keepdims=True)
    highest[np.isneginf(highest)] = 0.0  # an empty sum: log 0, without -inf - -inf
    with np.errstate(divide="ignore"):
        total = np.log(np.exp(z - highest).sum(axis, keepdims=True))
    return np.squeeze(highest + total, axis)


def logsumexp_backward(dy: ndarray, z: Numbers, axis: int = -1) -> ndarray:
    """Pull the gradient of the loss back through :func:`logsumexp`.

    Computes::

        dz_i = dy p_i,   p = softmax(z)

    Args:
        dy: Gradient of the loss in the value, one number for each row.
        z: The exponents of the forward pass.
        axis: Axis of the forward pass.

    Returns:
        dz, of the shape of z.

    Raises:
        InputError: If dy has not one number for each row, an exponent is NaN or plus infinity,
            or a row has no finite one: log 0 has no gradient.

    Example:
        >>> logsumexp_backward(np.array(1.0), np.log([1.0, 3.0])).round(4)  # the softmax
        array([0.25, 0.75])
    """
    p = softmax(z, axis=axis)
    require_gradient_shape(dy, p.max(axis).shape)
    return np.expand_dims(dy, axis) * p


def _shifted(z: Numbers, temperature: float | int, axis: int) -> ndarray:
    """(z - max z) / T: at most 0, and 0 at least once in each row."""
    _require_temperature(temperature)
    z = _checked(z, axis)
    highest = z.max(axis, keepdims=True)
    empty = np.isneginf(highest)
    if empty.any():
        raise InputError(
            f"{int(empty.sum())} of {empty.size} rows hold no finite score, so no softmax is "
            "defined for them; give each row a finite score or drop it"
        )
    with np.errstate(over="ignore"):  # a gap too large for float64 is a weight of 0
        return (z - highest) / temperature


def _checked(z: Numbers, axis: int) -> ndarray:
    z = np.asarray(z, dtype=np.float64)
    if z.ndim == 0 or z.shape[axis] == 0:
        raise InputError(f"z has shape {z.shape}; need at least one score along axis {axis}")
    bad = np.isnan(z) | np.isposinf(z)
    if bad.any():
        first = tuple(int(i) for i in np.argwhere(bad)[0])
        raise InputError(
            f"z holds {int(bad.sum())} NaN or +inf, the first at {first}; scores must be "
            "finite (or -inf, for weight 0)"
        )
    return z


def _require_temperature(temperature: float | int) -> None:
    if not 0 < temperature < math.inf:
        raise InputError(
            f"temperature={temperature} must be a positive finite number; for the limit 0 take "
            "the argmax, for the limit infinity uniform weights"
        )
