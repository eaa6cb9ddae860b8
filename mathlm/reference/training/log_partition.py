"""The logarithm of the softmax's denominator as a loss, and its gradient by hand."""

import numpy as np
from numpy import ndarray

from .. import arrays
from ..arrays import Value, gradient_array
from ..statistics.softmax import Numbers, logsumexp, softmax


def z_loss(z: Numbers) -> tuple[Value, tuple[ndarray, Value]]:
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
    """
    p, log_z = cache
    dy = gradient_array(dy, np.shape(log_z))
    return (2 * log_z * dy)[..., None] * p
