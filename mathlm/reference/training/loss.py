"""Losses of predictions [nats for the cross-entropies], and their gradients by hand.

Every loss comes unreduced, one number for each prediction; the caller sums or averages. The
target is data: a backward pass returns the gradient in the prediction alone. A prediction and a
target of different shapes are refused: NumPy would broadcast (n, 1) against (n,) to (n, n).
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy import ndarray

from ...errors import InputError, InputTypeError
from .. import arrays
from ..arrays import (
    Numbers,
    Value,
    finite_array,
    first_place,
    gradient_array,
    integer_array,
    require_same_shape,
)
from ..network.activation import logistic_pair
from ..statistics.softmax import log_softmax, logsumexp, softmax


def squared_error(prediction: Numbers, target: Numbers) -> tuple[Value, tuple]:
    """Squared distance of each prediction from its target, without a half.

    Implements eq-nn-losses::

        ℓ = (ŷ - y)²

    Its mean is the mean squared error. A square beyond float64 is infinite.

    Args:
        prediction: ŷ, finite.
        target: y, finite, of the shape of ``prediction``.

    Returns:
        ℓ [unit of y, squared], and the cache that :func:`squared_error_backward` needs.

    Raises:
        InputError: If the shapes differ, or an argument is empty or not finite.

    Example:
        >>> squared_error([3.0, 1.0], [1.0, 1.0])[0].tolist()
        [4.0, 0.0]
    """
    error = _error(prediction, target)
    with np.errstate(over="ignore"):
        return error**2, (error,)


def squared_error_backward(dy: Numbers, cache: tuple) -> Value:
    """Gradient of :func:`squared_error` in the prediction.

    Computes::

        dŷ = 2 (ŷ - y) dy

    Args:
        dy: Gradient of the total in ℓ, of its shape.
        cache: Second value of :func:`squared_error`.

    Returns:
        Gradient in the prediction.

    Raises:
        InputError: If dy has not the shape of ℓ.

    Example:
        >>> loss, cache = squared_error(3.0, 1.0)
        >>> float(squared_error_backward(1.0, cache))  # 2 (3 - 1)
        4.0
    """
    (error,) = cache
    return _product(gradient_array(dy, error.shape), error) * 2


def half_squared_error(prediction: Numbers, target: Numbers) -> tuple[Value, tuple]:
    """Half the squared distance, whose derivative is the error itself.

    Computes::

        ℓ = (ŷ - y)² / 2

    Args:
        prediction: ŷ, finite.
        target: y, finite, of the shape of ``prediction``.

    Returns:
        ℓ [unit of y, squared], and the cache that :func:`half_squared_error_backward` needs.

    Raises:
        InputError: If the shapes differ, or an argument is empty or not finite.

    Example:
        >>> half_squared_error([3.0, 1.0], [1.0, 1.0])[0].tolist()
        [2.0, 0.0]
    """
    square, cache = squared_error(prediction, target)
    return square / 2, cache


def half_squared_error_backward(dy: Numbers, cache: tuple) -> Value:
    """Gradient of :func:`half_squared_error` in the prediction.

    Computes::

        dŷ = (ŷ - y) dy

    Args:
        dy: Gradient of the total in ℓ, of its shape.
        cache: Second value of :func:`half_squared_error`.

    Returns:
        Gradient in the prediction.

    Raises:
        InputError: If dy has not the shape of ℓ.

    Example:
        >>> loss, cache = half_squared_error(3.0, 1.0)
        >>> float(half_squared_error_backward(1.0, cache))  # ŷ - y
        2.0
    """
    (error,) = cache
    return _product(gradient_array(dy, error.shape), error)


def binary_cross_entropy(p: Numbers, target: Numbers) -> tuple[Value, tuple]:
    """Surprise of a yes or a no under the predicted probability of yes.

    Implements eq-nn-losses::

        ℓ = -(y log p + (1 - y) log(1 - p)),   0 log 0 = 0

    Args:
        p: Predicted probability of yes, in 0..1.
        target: y, 1 for yes and 0 for no, or a share between them; of the shape of ``p``.

    Returns:
        ℓ [nats], and the cache that :func:`binary_cross_entropy_backward` needs; infinite if p
        rules out what the target says can be.

    Raises:
        InputError: If the shapes differ, an argument is empty, or an entry is outside 0..1.

    Example:
        >>> binary_cross_entropy([1.0, 0.0, 0.0], [1, 0, 1])[0].tolist()
        [0.0, 0.0, inf]
    """
    p, y = _probabilities(p, "p"), _probabilities(target, "target")
    require_same_shape(p, y, ("p", "target"))
    with np.errstate(divide="ignore"):
        log_yes = np.log(p, where=y > 0, out=np.zeros_like(p))
        log_no = np.log1p(-p, where=y < 1, out=np.zeros_like(p))
    return 0.0 - y * log_yes - (1 - y) * log_no, (p, y)


def binary_cross_entropy_backward(dy: Numbers, cache: tuple) -> Value:
    """Gradient of :func:`binary_cross_entropy` in the probability.

    Computes::

        dp = dy ((1 - y) / (1 - p) - y / p) = dy (p - y) / (p (1 - p))

    A term whose numerator is 0 is 0, also over 0; any other over 0 is infinite.

    Args:
        dy: Gradient of the total in ℓ, of its shape.
        cache: Second value of :func:`binary_cross_entropy`.

    Returns:
        Gradient in p.

    Raises:
        InputError: If dy has not the shape of ℓ.

    Example:
        >>> loss, cache = binary_cross_entropy(0.25, 1.0)
        >>> float(binary_cross_entropy_backward(1.0, cache))  # -1 / p
        -4.0
    """
    p, y = cache
    dy = gradient_array(dy, p.shape)
    return _ratio((1 - y) * dy, 1 - p) - _ratio(y * dy, p)


def binary_cross_entropy_with_logits(logits: Numbers, target: Numbers) -> tuple[Value, tuple]:
    """Binary cross-entropy of the sigmoid of a logit, in one step that never overflows.

    Computes::

        ℓ = -(y log σ(z) + (1 - y) log σ(-z)) = max(z, 0) - z y + log(1 + exp(-|z|))

    Args:
        logits: z, finite.
        target: y, 1 for yes and 0 for no, or a share between them; of the shape of ``logits``.

    Returns:
        ℓ [nats], always finite, and the cache that
        :func:`binary_cross_entropy_with_logits_backward` needs.

    Raises:
        InputError: If the shapes differ, an argument is empty, a logit is not finite, or a
            target is outside 0..1.

    Example:
        >>> binary_cross_entropy_with_logits([1000.0, -1000.0], [1, 1])[0].tolist()
        [0.0, 1000.0]
    """
    z, y = finite_array(logits, "logits"), _probabilities(target, "target")
    require_same_shape(z, y, ("logits", "target"))
    loss = np.where(z > 0, (1 - y) * z, -y * z) + np.log1p(np.exp(-np.abs(z)))
    return loss, (z, y)


def binary_cross_entropy_with_logits_backward(dy: Numbers, cache: tuple) -> Value:
    """Gradient of :func:`binary_cross_entropy_with_logits` in the logit.

    Implements eq-nn-loss-slopes::

        dz = dy (p - y) = dy (p (1 - y) - (1 - p) y),   p = σ(z)

    The slope p (1 - p) of the sigmoid cancels the denominator of
    :func:`binary_cross_entropy_backward`. The second form keeps its digits where p rounds to 1.

    Args:
        dy: Gradient of the total in ℓ, of its shape.
        cache: Second value of :func:`binary_cross_entropy_with_logits`.

    Returns:
        Gradient in the logits.

    Raises:
        InputError: If dy has not the shape of ℓ.

    Example:
        >>> loss, cache = binary_cross_entropy_with_logits(0.0, 1.0)
        >>> float(binary_cross_entropy_with_logits_backward(1.0, cache))  # p - y
        -0.5
    """
    z, y = cache
    p, rest = logistic_pair(z)
    return gradient_array(dy, z.shape) * (p * (1 - y) - rest * y)


def token_cross_entropy(
    logits: Numbers,
    targets: Numbers,
    ignore_index: int = -100,
    label_smoothing: float | int = 0.0,
    weight: Numbers | None = None,
) -> tuple[Value, tuple]:
    """Surprise of each target class under the softmax of its logits.

    Computes::

        ℓ = -Σ_c q[c] log p[c],   log p = log_softmax(logits)
        q[c] = (1 - ε) w[c] 1[c = y] + (ε / V) w[c],   0 log 0 = 0

    Without smoothing and weights, ℓ = -log p[y].

    Args:
        logits: Unnormalized log-probabilities (..., V); minus infinity rules a class out.
        targets: Class y of each row, or ``ignore_index`` where nothing is predicted.
        ignore_index: Mark of a row that does not count.
        label_smoothing: Share ε of the target spread evenly over the classes.
        weight: Weight w >= 0 of each class; None = 1.

    Returns:
        ℓ [nats], one number a row, and the cache that :func:`token_cross_entropy_backward`
        needs. ℓ is 0 where the row does not count, and infinite where its target is ruled out.

    Raises:
        InputError: If the shapes do not fit, a target is no class, a logit is NaN or plus
            infinity, or another argument is out of its range.
        InputTypeError: If the targets are not integers.

    Example:
        >>> token_cross_entropy([[0.0, 0.0], [0.0, -1000.0]], [1, 1])[0].round(6).tolist()
        [0.693147, 1000.0]
    """
    z, y = np.asarray(logits), np.asarray(targets)
    _require_rows(z, y, ignore_index, label_smoothing)
    log_p = log_softmax(z)
    counts = y != ignore_index
    classes = integer_array(np.where(counts, y, y.dtype.type(0)), z.shape[-1], "target")
    q = _target_weights(classes, z.shape[-1], label_smoothing, weight) * counts[..., None]
    terms = np.multiply(q, log_p, where=q > 0, out=np.zeros_like(q))
    return 0.0 - terms.sum(-1), (log_p, q)


def token_cross_entropy_backward(dy: Numbers, cache: tuple) -> ndarray:
    """Gradient of :func:`token_cross_entropy` in the logits.

    Computes::

        dz = dy (p Σ_c q[c] - q);   without smoothing and weights   dz = dy (p - one_hot(y))

    Args:
        dy: Gradient of the total in ℓ, of its shape.
        cache: Second value of :func:`token_cross_entropy`.

    Returns:
        Gradient in the logits; each row sums to 0, and is 0 where the row does not count.

    Raises:
        InputError: If dy has not the shape of ℓ.

    Example:
        >>> loss, cache = token_cross_entropy(np.log([[1.0, 3.0]]), [0])
        >>> token_cross_entropy_backward(np.ones(1), cache).round(4)  # p less the target
        array([[-0.75,  0.75]])
    """
    log_p, q = cache
    dy = gradient_array(dy, q.shape[:-1])
    return dy[..., None] * (np.exp(log_p) * q.sum(-1, keepdims=True) - q)


def _error(prediction: Numbers, target: Numbers) -> Value:
    prediction, target = finite_array(prediction, "prediction"), finite_array(target, "target")
    require_same_shape(prediction, target, ("prediction", "target"))
    with np.errstate(over="ignore"):
        return prediction - target


def _probabilities(p: Numbers, name: str) -> ndarray:
    p = finite_array(p, name)
    outside = (p < 0) | (p > 1)
    if outside.any():
        place = first_place(outside)
        raise InputError(f"{name} has the entry {p[place]} at {place}; it must lie in 0..1")
    return p


def _product(dy: Value, error: Value) -> ndarray:
    """The product, 0 wherever dy is: also where the error is infinite."""
    with np.errstate(over="ignore"):
        return np.multiply(dy, error, where=dy != 0, out=np.zeros_like(dy))


def _ratio(a: Value, b: Value) -> ndarray:
    """The quotient a / b, 0 wherever a is."""
    with np.errstate(divide="ignore", over="ignore"):
        return np.divide(a, b, where=a != 0, out=np.zeros_like(a))


def _target_weights(
    classes: ndarray, V: int, label_smoothing: float | int, weight: Numbers | None
) -> ndarray:
    """The weight q of each log-probability, (..., V)."""
    w = np.ones(V) if weight is None else finite_array(weight, "weight")
    if w.shape != (V,):
        raise InputError(f"weight has shape {w.shape}, expected ({V},): one entry a class")
    if (w < 0).any():
        place = first_place(w < 0)
        raise InputError(f"weight has the entry {w[place]} at {place}; it must be >= 0")
    q = np.full((*classes.shape, V), label_smoothing / V)
    yes = classes[..., None].astype(np.int64)
    np.put_along_axis(q, yes, 1 - label_smoothing + label_smoothing / V, -1)
    return q * w


def _require_rows(
    z: ndarray, y: ndarray, ignore_index: int, label_smoothing: float | int
) -> None:
    if z.ndim == 0 or z.shape[:-1] != y.shape:
        raise InputError(
            f"logits {z.shape} and targets {y.shape} do not fit: logits need one more axis, "
            "the classes, behind those of the targets"
        )
    if not 0 <= label_smoothing <= 1:
        raise InputError(f"label_smoothing={label_smoothing} is outside 0..1")
    if 0 <= ignore_index < z.shape[-1]:
        raise InputError(
            f"ignore_index={ignore_index} is one of the {z.shape[-1]} classes; mark rows that "
            "do not count with a number outside them, such as -100"
        )


def label_smoothed_cross_entropy(
    logits: Numbers,
    labels: Numbers,
    smoothing: float | int = 0.0,
    mask: Numbers | None = None,
) -> tuple[float, tuple]:
    """Mean surprise of the labels, part of each spread evenly over the vocabulary.

    Implements eq-label-smoothing::

        ℓ = -1/N Σ_t Σ_v q_t[v] log p_t[v],   p_t = softmax(z_t)   over the N real labels
        q_t[v] = (1 - ε) 1[v = y_t] + ε / V

    So ℓ_t = -(1 - ε) log p_t[y_t] - ε mean_v log p_t[v].

    Args:
        logits: z (..., V), finite.
        labels: y (...), integers in 0 ... V - 1, at padding too.
        smoothing: ε in [0, 1], the share that is spread; 0 = the plain cross-entropy.
        mask: bool (...), True where a label is real; None = all are.

    Returns:
        ℓ [nats], the mean over the real labels, and the cache that
        :func:`label_smoothed_cross_entropy_backward` needs.

    Raises:
        InputError: If the shapes do not fit, a logit is not finite, a label is no class, no
            label is real, or ε is outside [0, 1].
        InputTypeError: If the labels are no integers, or the mask is not boolean.

    Example:
        >>> round(label_smoothed_cross_entropy([[0.0, 0.0]], [1], 0.1)[0], 6)
        0.693147

    References:
        Szegedy et al. (2015), arXiv:1512.00567, section 7.
    """
    z = finite_array(logits, "logits")
    y, counts = _labels(z, labels, mask)
    if not 0 <= smoothing <= 1:
        raise InputError(
            f"smoothing={smoothing} is outside 0..1: it is the share spread evenly"
        )
    log_p = log_softmax(z)
    at_label = np.take_along_axis(log_p, y[..., None], -1)[..., 0]
    losses = -(1 - smoothing) * at_label - smoothing * log_p.mean(-1)
    loss = np.sum(losses, where=counts) / counts.sum()
    return float(loss), (log_p, y, float(smoothing), counts)


def label_smoothed_cross_entropy_backward(dloss: float | int, cache: tuple) -> ndarray:
    """Gradient of :func:`label_smoothed_cross_entropy` in the logits.

    Implements eq-backward-logits::

        dz_t = dℓ (p_t - q_t) / N   where the label is real, else 0

    Args:
        dloss: Gradient of what follows in ℓ; 1 if ℓ is the loss.
        cache: Second value of :func:`label_smoothed_cross_entropy`.

    Returns:
        dlogits; each row sums to 0.

    Raises:
        InputError: If dloss is not one finite number.

    Example:
        >>> loss, cache = label_smoothed_cross_entropy(np.zeros((1, 2)), np.array([0]), 0.2)
        >>> label_smoothed_cross_entropy_backward(1.0, cache).round(4)  # 1/2 less 9/10 and 1/10
        array([[-0.4,  0.4]])
    """
    log_p, y, smoothing, counts = cache
    arrays.require_gradient_shape(dloss, (), "dloss")
    if not np.isfinite(dloss):
        raise InputError(f"dloss={dloss} must be finite")
    dz = np.exp(log_p) - smoothing / log_p.shape[-1]
    label = y[..., None]
    at_label = np.take_along_axis(dz, label, -1)
    np.put_along_axis(dz, label, at_label - (1 - smoothing), -1)
    return dz * (counts[..., None] * (dloss / counts.sum()))


def _labels(z: ndarray, labels: Any, mask: Any) -> tuple[ndarray, ndarray]:
    """Labels and which of them are real, once they are known to fit the logits."""
    shape = z.shape[:-1]
    if z.ndim == 0 or np.shape(labels) != shape:
        raise InputError(
            f"logits {z.shape} and labels {np.shape(labels)} do not fit: logits need one more "
            "axis, the vocabulary, behind those of the labels"
        )
    y = integer_array(labels, z.shape[-1], "label").astype(np.int64)
    counts = np.ones(shape, dtype=bool) if mask is None else np.asarray(mask)
    if counts.dtype != np.bool_:
        raise InputTypeError(f"mask has dtype {counts.dtype}; give booleans, True = real")
    if counts.shape != shape:
        raise InputError(f"mask has shape {counts.shape}, expected {shape}, that of the labels")
    if not counts.any():
        raise InputError(
            f"none of the {counts.size} labels is real: there is no mean over none"
        )
    return y, counts


def z_loss(z: ndarray | Sequence) -> tuple[Value, tuple[ndarray, Value]]:
    """Square of the logarithm by which a softmax normalizes.

    Implements eq-z-loss::

        ℓ_z = (log Σ_c exp z_c)²

    Args:
        z: Logits; each row of the last axis holds at least one finite entry.

    Returns:
        ℓ_z [nats²], one for each row, and the cache that :func:`z_loss_backward` needs.

    Raises:
        InputError: If a logit is NaN or plus infinity, or a row has no finite logit.

    Example:
        >>> round(float(z_loss([0.0, 0.0])[0]), 6)  # (ln 2)²
        0.480453
    """
    log_z = logsumexp(z)
    return np.square(log_z), (softmax(z), log_z)


def z_loss_backward(dy: arrays.Numbers, cache: tuple[ndarray, Value]) -> ndarray:
    """Gradient of :func:`z_loss` in the logits.

    Implements eq-z-loss::

        dz_c = 2 log Z p_c dy,   log Z = log Σ exp z

    Over the classes it sums to 2 log Z dy, where that of a cross-entropy sums to 0.

    Args:
        dy: Gradient of the loss in ℓ_z, of its shape.
        cache: From :func:`z_loss`.

    Returns:
        dz, of the shape of the logits.

    Example:
        >>> loss, cache = z_loss(np.array([0.0, 0.0]))
        >>> z_loss_backward(1.0, cache).round(4)  # 2 ln 2 · 1/2 each
        array([0.6931, 0.6931])
    """
    p, log_z = cache
    dy = gradient_array(dy, np.shape(log_z))
    return (2 * log_z * dy)[..., None] * p
