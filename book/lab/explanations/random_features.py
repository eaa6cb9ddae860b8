"""Linear regression on random features of data whose variances fall as a power: solved exactly.

Inputs are Gaussian with variances ``λ_i`` along their axes, the target is linear with
independent coefficients of variance 1, and the N features are random sums of the inputs.
"""

import math

import numpy as np

from mathlm.errors import InputError
from mathlm.scaling.power_law import Numbers, positive
from mathlm.shapes import Float


def power_spectrum(decay: float | int, count: int) -> Float[np.ndarray, " M"]:
    """Variances that fall as a power of their rank.

    Computes::

        λ_i = i^(-(1 + a))

    Args:
        decay: a > 0, by which the sum of the variances from rank N on falls: N^(-a) / a.
        count: How many there are.

    Returns:
        The variances.

    Raises:
        InputError: If a is not positive, or there is no variance.
    """
    if not 0 < decay < math.inf or count < 1:
        raise InputError(
            f"decay={decay} must be positive, finite, and count={count} at least 1"
        )
    return np.arange(1, count + 1, dtype=float) ** -(1 + decay)


def effective_ridge(spectrum: Numbers, count: int) -> float:
    """Variance below which ``count`` random features cannot see.

    Implements eq-explain-features::

        Σ_i λ_i / (λ_i + κ) = N,   solved for κ

    Args:
        spectrum: Variances λ_i.
        count: Features or samples N, fewer than there are variances.

    Returns:
        κ > 0, found by bisection of its logarithm.

    Raises:
        InputError: If N is not between 1 and the number of variances less 1.

    References:
        Maloney et al. (2022), arXiv:2210.16859; Simon et al. (2023), arXiv:2110.03922.
    """
    row = positive("spectrum", spectrum)
    if not 1 <= count < len(row):
        raise InputError(
            f"count={count} must be at least 1 and less than the {len(row)} variances"
        )
    low, high = math.log(row.min()) - 40, math.log(row.sum())  # Σ λ / (λ + Σ λ) < 1 <= N
    for _ in range(100):
        middle = (low + high) / 2
        enough = (row / (row + math.exp(middle))).sum() > count
        low, high = (middle, high) if enough else (low, middle)
    return math.exp(middle)


def limited_loss(spectrum: Numbers, count: int) -> float:
    """Squared error with N features and endless samples, or N samples and every feature.

    Implements eq-explain-spectrum::

        N κ(N) = Σ_i λ_i κ / (λ_i + κ),     ~ N^(-a) ((π/(1 + a)) / sin(π/(1 + a)))^(1 + a)

    if ``λ_i = i^(-(1 + a))`` without end. The best N sums would leave ``Σ_{i > N} λ_i``.

    Args:
        spectrum: Variances λ_i.
        count: Features or samples N.

    Returns:
        Mean over random features and targets, to leading order in 1/N.

    Raises:
        InputError: As :func:`effective_ridge`.
    """
    return count * effective_ridge(spectrum, count)


def ridgeless_loss(spectrum: Numbers, features: int, samples: int) -> float:
    """Squared error of least squares, or of the shortest solution if there are many.

    Implements eq-explain-threshold::

        n κ(n) / (1 - n/m),   n = min(N, D),  m = max(N, D)

    with D samples. Features and samples change places without a change of the error. Near
    N = D, the interpolation threshold, it grows as ``1 / |1 - N/D|`` whatever the spectrum.

    Args:
        spectrum: Variances λ_i.
        features: N.
        samples: D, not equal to N.

    Returns:
        The error on new data, without noise, mean over features, samples and targets, to
        leading order.

    Raises:
        InputError: If N = D, where it is infinite, or as :func:`effective_ridge`.

    References:
        Hastie et al. (2022), arXiv:1903.08560; Maloney et al. (2022), arXiv:2210.16859.
    """
    if features == samples:
        raise InputError(f"features={features} equal the samples: there the error has no mean")
    few, many = min(features, samples), max(features, samples)
    return limited_loss(spectrum, few) / (1 - few / many)
