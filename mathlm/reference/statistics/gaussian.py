"""The normal distribution, and normal distributions fitted by each direction of KL."""

import math
from typing import Literal

import numpy as np
from numpy import ndarray

from ...errors import InputError
from .information import Numbers, kl_divergence, require_distribution
from .softmax import log_softmax

Direction = Literal["forward", "reverse"]
Values = Numbers | float | int | np.number


def normal_log_density(
    x: Values, mean: float | int = 0.0, std: float | int = 1.0
) -> np.float64 | ndarray:
    """Logarithm of the bell curve.

    Implements eq-prob-normal::

        log f(x) = -(x - μ)² / 2σ² - log σ - log(2π) / 2

    Args:
        x: Where.
        mean: μ.
        std: σ > 0, in the unit of x.

    Returns:
        log f, of the shape of x; a density has the unit of 1/x and may exceed 1. Minus infinity
        where z² is beyond the largest float.

    Raises:
        InputError: As :func:`standardize`.

    Example:
        >>> round(float(np.exp(normal_log_density(0.0))), 4)  # 1 / √(2π)
        0.3989
    """
    z = standardize(x, mean, std)
    with np.errstate(over="ignore"):
        return -(z**2) / 2 - math.log(std) - math.log(2 * math.pi) / 2


def standardize(x: Values, mean: float | int, std: float | int) -> np.float64 | ndarray:
    """Distance from the mean, counted in standard deviations.

    Implements eq-prob-standardize::

        z = (x - μ) / σ

    Args:
        x: Values.
        mean: μ.
        std: σ > 0.

    Returns:
        z, without unit.

    Raises:
        InputError: If σ is not a positive number, x or μ is not finite, or z is beyond the
            largest float.

    Example:
        >>> float(standardize(7.0, mean=5.0, std=4.0))
        0.5
    """
    if not 0 < std < math.inf:
        raise InputError(f"std={std} must be a positive finite number")
    with np.errstate(over="ignore", invalid="ignore"):
        z = (np.asarray(x, dtype=np.float64) - mean) / std
    if not np.isfinite(z).all():
        raise InputError(
            f"x or mean={mean} is not finite, or they are too far apart for std={std}: z is "
            "no number"
        )
    return z[()]


def normal_cdf(
    x: Values, mean: float | int = 0.0, std: float | int = 1.0
) -> np.float64 | ndarray:
    """Probability that a normal variable is at most x.

    Computes::

        Φ(z) = erfc(-z / √2) / 2,   z = (x - μ) / σ

    Args:
        x: Where.
        mean: μ.
        std: σ > 0.

    Returns:
        A probability, of the shape of x; accurate in the far left tail too.

    Raises:
        InputError: As :func:`standardize`.

    Example:
        >>> float(normal_cdf(0.0))
        0.5
    """
    z = np.asarray(standardize(x, mean, std))
    return np.vectorize(lambda u: math.erfc(-u / math.sqrt(2)) / 2, otypes=[float])(z)[()]


def gaussian_kl(
    mean: float | int, std: float | int, other_mean: float | int, other_std: float | int
) -> float:
    """KL divergence from one normal distribution to another.

    Implements eq-gaussian-kl::

        KL(N(μ, σ²) ‖ N(m, s²)) = log(s / σ) + (σ² + (μ - m)²) / 2s² - 1/2

    Args:
        mean: μ of the distribution that is averaged over.
        std: σ > 0.
        other_mean: m of the model.
        other_std: s > 0.

    Returns:
        KL [nats]; infinite beyond the largest float.

    Raises:
        InputError: If σ or s is not a positive finite number, or a mean is not finite.

    Example:
        >>> gaussian_kl(1.0, 1.0, 0.0, 1.0)  # half of the squared distance
        0.5
    """
    shift = float(standardize(mean, other_mean, other_std))
    if not 0 < std < math.inf:
        raise InputError(f"std={std} must be a positive finite number")
    ratio = float(std) / float(other_std)
    log_ratio = math.log(std) - math.log(other_std)
    return -log_ratio + (ratio * ratio + shift * shift - 1) / 2  # ** would raise, not be inf


def fit_normal(
    x: ndarray,
    p: ndarray,
    direction: Direction,
    mean: float | int = 0.0,
    std: float | int = 1.0,
    steps: int = 300,
    rate: float = 0.3,
) -> tuple[float, float, float]:
    """Normal shape that is nearest to a distribution on a grid, by one direction of KL.

    Implements eq-kl-forward::

        forward: KL(p ‖ q)   Δμ = E_p[x] - E_q[x],   Δ log σ = (E_p - E_q)[(x - μ)²] / 2σ²
        reverse: KL(q ‖ p)   Δμ = -σ² Cov_q(a, r),   Δ log σ = -Cov_q(b, r) / 2

    with r = log q/p, a = (x - μ)/σ², b = (x - μ)²/σ². Each is the gradient divided by the
    Fisher information, diag(1/σ², 2), and is taken ``rate`` times; no step changes log σ by
    more than 1. The reverse direction has as many optima as p has separate modes, and more;
    the start decides which is found.

    Args:
        x: Grid, evenly spaced.
        p: Probabilities on the grid, all positive.
        direction: Which KL to lower.
        mean: μ to start from, on the grid.
        std: σ to start from, at least one step of the grid.
        steps: Number of steps, at least 1.
        rate: Length of each, above 0 and at most 1.

    Returns:
        μ, σ and the KL [nats] at the end.

    Raises:
        InputError: If p is not a distribution on the grid or has a zero, the grid is not even,
            the start is off it or the fit leaves it, the direction is not known, or rate or
            steps is out of range.

    Example:
        >>> x = np.linspace(-6, 6, 121)
        >>> p = np.exp(-((x - 1) ** 2) / 2)
        >>> mu, sigma, kl = fit_normal(x, p / p.sum(), "forward", steps=60)
        >>> round(mu, 4), round(sigma, 4), kl < 1e-6  # it is normal
        (1.0, 1.0, True)
    """
    p = _require_grid(x, p, direction, rate)
    _require_start(x, mean, std, steps)
    for _ in range(steps):
        q = _on_grid(x, mean, std)
        a, b = (x - mean) / std**2, ((x - mean) / std) ** 2
        pull = p - q if direction == "forward" else -q * _centered(np.log(q / p), q)
        mean = mean + rate * std**2 * float(pull @ a)
        std = std * math.exp(max(-1.0, min(rate * float(pull @ b) / 2, 1.0)))
    if not x[0] <= mean <= x[-1]:
        raise InputError(
            f"the fit left the grid, mean={mean:g}; take a wider grid or lower rate"
        )
    q = _on_grid(x, mean, std)
    pair = (p, q) if direction == "forward" else (q, p)
    return float(mean), float(std), float(kl_divergence(*pair))


def _on_grid(x: ndarray, mean: float | int, std: float | int) -> ndarray:
    """Normal shape as probabilities of the grid points; never 0, so that logs stay finite."""
    log_q = log_softmax(np.asarray(normal_log_density(x, mean, std)))
    return np.exp(np.maximum(log_q, -700.0))


def _centered(r: ndarray, q: ndarray) -> ndarray:
    return r - q @ r


def _require_grid(x: ndarray, p: ndarray, direction: str, rate: float) -> ndarray:
    p = require_distribution(p, "p")
    if direction not in ("forward", "reverse"):
        raise InputError(f"direction={direction!r} must be 'forward' or 'reverse'")
    if not 0 < rate <= 1:
        raise InputError(f"rate={rate} must be above 0 and at most 1")
    if x.shape != p.shape or not (p > 0).all():
        raise InputError(
            f"x has shape {x.shape}, p {p.shape} with smallest entry {p.min():g}; need one "
            "positive probability for each grid point"
        )
    gaps = np.diff(x)
    if x.ndim != 1 or len(x) < 2 or not (gaps > 0).all() or np.ptp(gaps) > 1e-6 * gaps[0]:
        raise InputError(f"x, shape {x.shape}, must be an evenly spaced rising grid")
    return p


def _require_start(x: ndarray, mean: float | int, std: float | int, steps: int) -> None:
    if not (x[0] <= mean <= x[-1] and x[1] - x[0] <= std < math.inf):
        raise InputError(
            f"start mean={mean}, std={std}: the mean must lie on the grid, {x[0]:g} to "
            f"{x[-1]:g}, and std be at least its step, {x[1] - x[0]:g}"
        )
    if steps < 1:
        raise InputError(f"steps={steps} must be at least 1")


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

    Example:
        >>> categorical_map([3, 1], alpha=2)  # (3 + 1) / (4 + 2)
        array([0.66666667, 0.33333333])
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

    Example:
        >>> categorical_posterior_mean([3, 0, 0], alpha=1)  # (3 + 1) / (3 + 3)
        array([0.66666667, 0.16666667, 0.16666667])
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

    Example:
        >>> mean, variance = gaussian_mle([1.0, 3.0])
        >>> float(mean), float(variance)
        (2.0, 1.0)
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

    Example:
        >>> mean = gaussian_map_mean([2, 4], variance=2, prior_mean=0, prior_variance=1)
        >>> float(mean)  # (6 / 2) / (2 / 2 + 1)
        1.5
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
