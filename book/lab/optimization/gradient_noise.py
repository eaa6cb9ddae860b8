"""The noise of a mini-batch gradient, exactly, from the gradients of the examples."""

import numpy as np
from numpy import ndarray

from mathlm.errors import InputError
from mathlm.reference.arrays import finite_array
from mathlm.shapes import Float


def gradient_moments(gradients: Float[ndarray, "N D"]) -> tuple[float, float]:
    """Squared length of the mean gradient, and total variance around it.

    Computes::

        g = (1/N) Σ_n g_n,   |g|² = g·g,   tr Σ = (1/N) Σ_n |g_n - g|²

    Args:
        gradients: One row g_n for each example.

    Returns:
        (|g|², tr Σ).

    Raises:
        InputError: If there are no examples, an entry is not finite or the squares overflow.

    Example:
        >>> gradient_moments(np.array([[3.0, 1.0], [3.0, -1.0]]))
        (9.0, 1.0)
    """
    rows = _examples(gradients)
    with np.errstate(over="ignore", invalid="ignore"):
        mean = rows.mean(0)
        square, trace = float(mean @ mean), float(((rows - mean) ** 2).sum(1).mean())
    if not np.isfinite(square + trace):
        raise InputError(
            f"squares overflow: the largest entry is {np.abs(rows).max():.3g}; rescale the loss"
        )
    return square, trace


def batch_gradient_square(
    gradients: Float[ndarray, "N D"], batch_size: int, replace: bool = True
) -> float:
    """Mean squared length of the gradient of a random batch.

    Implements eq-batch-square::

        E|g_B|² = |g|² + tr Σ / b                        drawn with replacement
        E|g_B|² = |g|² + (tr Σ / b) (N - b) / (N - 1)    drawn without

    Args:
        gradients: One row for each of the N examples.
        batch_size: b.
        replace: Whether an example may be drawn twice into a batch.

    Raises:
        InputError: If b is not a whole number, b < 1, or b > N without replacement.
    """
    count, whole = len(gradients), isinstance(batch_size, int | np.integer)
    if not whole or batch_size < 1 or not (replace or batch_size <= count):
        raise InputError(
            f"batch_size={batch_size} must lie between 1 and N={count}, and be whole"
        )
    square, trace = gradient_moments(gradients)
    left = 1.0 if replace or count == 1 else (count - batch_size) / (count - 1)
    return square + left * trace / batch_size


def simple_noise_scale(gradients: Float[ndarray, "N D"]) -> float:
    """Batch size at which the noise of the gradient is as large as the gradient.

    Implements eq-noise-scale::

        B_simple = tr Σ / |g|²   [examples]

    It is the noise scale, :func:`noise_scale`, of a loss whose curvatures are all alike.

    Args:
        gradients: One row for each example.

    Raises:
        InputError: If the mean gradient is zero: then every batch is noise.

    Example:
        >>> round(simple_noise_scale(np.array([[3.0, 1.0], [3.0, -1.0]])), 6)
        0.111111

    References:
        McCandlish et al. (2018), arXiv:1812.06162, eq. (2.9).
    """
    square, trace = gradient_moments(gradients)
    if square == 0:
        raise InputError("the mean gradient is zero, so no batch size makes it stand out")
    return trace / square


def simple_noise_scale_from_batches(
    small: int, square_small: float, big: int, square_big: float
) -> float:
    """The simple noise scale from the gradient lengths at two batch sizes, without examples.

    Computes::

        |g|² = (B E_B - b E_b) / (B - b),   tr Σ = (E_b - E_B) / (1/b - 1/B)

    E_b is the mean of |g_B|² over batches of size b. Both estimates are unbiased; their ratio
    is not.

    Args:
        small: b.
        square_small: E_b.
        big: B.
        square_big: E_B.

    Raises:
        InputError: Unless 1 <= small < big, or if the estimate of |g|² is not positive or that
            of tr Σ is negative: average over more batches.

    References:
        McCandlish et al. (2018), arXiv:1812.06162, appendix A.1.
    """
    if not 1 <= small < big:
        raise InputError(f"need 1 <= small < big, got small={small}, big={big}")
    square = (big * square_big - small * square_small) / (big - small)
    trace = (square_small - square_big) / (1 / small - 1 / big)
    if not (0 < square < np.inf and 0 <= trace < np.inf):
        raise InputError(
            f"|g|² is estimated as {square:.3g}, which must be positive, and tr Σ as "
            f"{trace:.3g}, which must not be negative: average over more batches"
        )
    return trace / square


def noise_scale(
    gradients: Float[ndarray, "N D"], hessian: Float[ndarray, "E E"]
) -> tuple[float, float]:
    """Batch size at which the best step gains half of what an exact gradient would.

    Implements eq-critical-batch::

        B_noise = tr(HΣ) / (g H gᵀ),   η_∞ = |g|² / (g H gᵀ)
        best step η_b = η_∞ / (1 + B_noise / b),   its mean gain ½ η_b |g|²

    Args:
        gradients: One row g_n for each example; g is their mean, Σ their covariance.
        hessian: H, symmetric.

    Returns:
        (B_noise, η_∞): the batch size [examples], and the best step size without noise.

    Raises:
        InputError: If H does not fit g or is not finite, or g H gᵀ is not positive: then no
            step along g is best.

    References:
        McCandlish et al. (2018), arXiv:1812.06162, eqs. (2.6) to (2.8).
    """
    square, _ = gradient_moments(gradients)
    rows, H = _examples(gradients), finite_array(hessian, "hessian")
    if H.shape != (rows.shape[1], rows.shape[1]):
        raise InputError(f"hessian has shape {H.shape}, but gradients have {rows.shape}")
    mean = rows.mean(0)
    curvature = float(mean @ H @ mean)
    if not curvature > 0:
        raise InputError(f"gHgᵀ = {curvature:.3g} must be positive for a best step along g")
    rest = rows - mean
    return float(((rest @ H) * rest).sum(1).mean()) / curvature, square / curvature


def _examples(gradients: ndarray) -> ndarray:
    rows = finite_array(gradients, "gradients")
    if rows.ndim != 2:
        raise InputError(f"gradients must have a row for each example, got shape {rows.shape}")
    return rows
