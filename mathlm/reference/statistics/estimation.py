"""Parameters from data: maximum likelihood, and maximum a posteriori."""

import math

import numpy as np
from numpy import ndarray

from ...errors import InputError
from .information import Numbers


def categorical_mle(counts: Numbers) -> ndarray:
    """Probabilities that make the counted data most likely: relative frequencies.

    Implements eq-categorical-mle::

        p_i = n_i / N

    Args:
        counts: How often each outcome was seen, over the last axis.

    Returns:
        p; an outcome never seen gets 0.

    Raises:
        InputError: If a count is negative or not finite, or nothing was counted.

    Example:
        >>> categorical_mle([3, 1, 0]).tolist()
        [0.75, 0.25, 0.0]
    """
    counts = _require_counts(counts)
    total = counts.sum(-1, keepdims=True)
    if (total == 0).any():
        raise InputError("counts sum to 0: no data, no most likely distribution")
    return counts / total


def categorical_map(counts: Numbers, alpha: float | int) -> ndarray:
    """Most probable probabilities under a Dirichlet prior.

    Implements eq-categorical-map::

        p_i = (n_i + α - 1) / (N + V (α - 1))

    Args:
        counts: How often each of V outcomes was seen, over the last axis.
        alpha: α ≥ 1 of the symmetric Dirichlet prior; 1 is flat and gives the maximum
            likelihood, below 1 the maximum lies on the border and need not be unique.

    Returns:
        p.

    Raises:
        InputError: If α is below 1 or not finite, a count is negative or not finite, or α = 1
            and nothing was counted.
    """
    if not 1 <= alpha < math.inf:
        raise InputError(f"alpha={alpha} must be at least 1: below, the mode is on the border")
    return categorical_mle(_require_counts(counts) + (alpha - 1))


def categorical_posterior_mean(counts: Numbers, alpha: float | int) -> ndarray:
    """Probability of the next outcome under a Dirichlet prior: add-α smoothing.

    Implements eq-categorical-map::

        p_i = (n_i + α) / (N + V α)

    Args:
        counts: How often each of V outcomes was seen, over the last axis.
        alpha: α > 0 of the symmetric Dirichlet prior.

    Returns:
        p, all positive.

    Raises:
        InputError: If α is not a positive number, or a count is negative or not finite.
    """
    if not 0 < alpha < math.inf:
        raise InputError(f"alpha={alpha} must be a positive finite number")
    return categorical_mle(_require_counts(counts) + alpha)


def gaussian_mle(x: Numbers) -> tuple[np.float64, np.float64]:
    """Mean and variance that make the observed numbers most likely.

    Implements eq-gaussian-mle::

        μ = Σ x_n / N,   σ² = Σ (x_n - μ)² / N

    Args:
        x: N numbers.

    Returns:
        μ and σ²; the variance is too small by the factor (N - 1)/N on average.

    Raises:
        InputError: If there are no numbers, or one is not finite.
    """
    x = _require_sample(x)
    mean = x.mean()
    return mean, ((x - mean) ** 2).mean()


def gaussian_map_mean(
    x: Numbers, variance: float | int, prior_mean: float | int, prior_variance: float | int
) -> np.float64:
    """Most probable mean when the mean itself has a normal prior.

    Implements eq-gaussian-map::

        μ = (Σ x_n / σ² + m / τ²) / (N / σ² + 1 / τ²)

    Args:
        x: N numbers.
        variance: σ² > 0 of the numbers around their mean.
        prior_mean: m.
        prior_variance: τ² > 0.

    Returns:
        μ, between the average of x and m.

    Raises:
        InputError: If there are no numbers, one or the prior mean is not finite, or a variance
            is not positive.
    """
    x = _require_sample(x)
    if not (0 < variance < math.inf and 0 < prior_variance < math.inf):
        raise InputError(
            f"variance={variance} and prior_variance={prior_variance} must be positive"
        )
    if not math.isfinite(prior_mean):
        raise InputError(f"prior_mean={prior_mean} must be finite")
    precision = len(x) / variance + 1 / prior_variance
    return (x.sum() / variance + prior_mean / prior_variance) / precision


def _require_counts(counts: Numbers) -> ndarray:
    counts = np.asarray(counts, dtype=np.float64)
    if counts.ndim == 0 or counts.shape[-1] == 0:
        raise InputError(f"counts has shape {counts.shape}; need at least one outcome")
    bad = ~((counts >= 0) & np.isfinite(counts))
    if bad.any():
        raise InputError(f"counts has the entry {counts[bad][0]}; counts are finite and >= 0")
    return counts


def _require_sample(x: Numbers) -> ndarray:
    x = np.asarray(x, dtype=np.float64)
    if x.ndim != 1 or x.size == 0:
        raise InputError(f"x has shape {x.shape}; need a row of at least one number")
    if not np.isfinite(x).all():
        raise InputError(f"x has the entry {x[~np.isfinite(x)][0]}; need finite numbers")
    return x
