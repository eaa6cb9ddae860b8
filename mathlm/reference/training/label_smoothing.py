"""Cross-entropy against smoothed labels, averaged over the labels that are real."""

from typing import Any

import numpy as np
from numpy import ndarray

from ...errors import InputError, InputTypeError
from ..arrays import Numbers, finite_array, integer_array
from ..statistics.softmax import log_softmax


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
        InputError: If dloss is not finite.
    """
    log_p, y, smoothing, counts = cache
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
    y = integer_array(labels, z.shape[-1], "label").astype(np.int64, copy=False)
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


__all__ = ["label_smoothed_cross_entropy", "label_smoothed_cross_entropy_backward"]
