"""Regression on random features: the error by features, by samples, and where they meet.

Only features and samples are drawn: the mean over targets and new data is a quadratic form.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from mathlm.errors import ConfigError
from mathlm.scaling import fit_power_law
from mathlm.shapes import Float

from .random_features import power_spectrum

COUNTS = (8, 16, 32, 64, 128)


def error_of_features(
    spectrum: Float[np.ndarray, " M"], features: int, rng: np.random.Generator
) -> float:
    """Least squared error on endless data, mean over targets.

    Computes::

        tr(Λ - Λ Fᵀ (F Λ Fᵀ)⁻¹ F Λ),   F (N, M) Gaussian

    which is what a projection onto N random directions leaves of the variances.
    """
    q, _ = np.linalg.qr(np.sqrt(spectrum)[:, None] * rng.normal(size=(len(spectrum), features)))
    return float(spectrum.sum() - (spectrum[:, None] * q * q).sum())


def error_of_samples(
    spectrum: Float[np.ndarray, " M"],
    samples: int,
    rng: np.random.Generator,
    features: int | None = None,
    ridge: float | int = 0.0,
) -> float:
    """Error on endless data of ridge regression from D samples, mean over targets.

    Computes, with A (M, M) the map from the true coefficients to the learned ones::

        tr((I - A)ᵀ Λ (I - A)),   A = F (Fᵀ XᵀX F + D ridge)⁻¹ Fᵀ XᵀX

    Args:
        spectrum: Variances Λ of the M inputs.
        samples: D.
        rng: Draws samples and features.
        features: How many random features are regressed on; None = the M inputs themselves.
        ridge: Of the regression, times D; 0 = the shortest of the least-squares solutions.

    Raises:
        ConfigError: If ridge is negative.
    """
    if ridge < 0:
        raise ConfigError(f"ridge={ridge} must not be negative")
    x = rng.normal(size=(samples, len(spectrum))) * np.sqrt(spectrum)  # (D, M)
    mix = None if features is None else rng.normal(size=(len(spectrum), features))
    u, s, vt = np.linalg.svd(x if mix is None else x @ mix, full_matrices=False)
    left = vt.T * (s / (s * s + ridge * samples))
    left = left if mix is None else mix @ left  # A = left · right
    right, weighted = u.T @ x, spectrum[:, None] * left
    square = ((left.T @ weighted) * (right @ right.T)).sum()
    return float(spectrum.sum() - 2 * (right.T * weighted).sum() + square)


def measure(
    decay: float | int, inputs: int = 4096, seeds: int = 2, counts: Sequence[int] = COUNTS
) -> dict[str, Any]:
    """Mean errors by features and by samples, and the exponents fitted to them."""
    spectrum = power_spectrum(decay, inputs)
    errors = dict[str, np.ndarray]()
    for name, error in (("features", error_of_features), ("samples", error_of_samples)):
        runs = [
            [error(spectrum, n, np.random.default_rng((seed, n))) for n in counts]
            for seed in range(seeds)
        ]
        errors[name] = np.mean(runs, axis=0)
    fits = {name: -fit_power_law(counts, row).exponent for name, row in errors.items()}
    return {"counts": list(counts), "errors": errors, "exponents": fits, "spectrum": spectrum}


def threshold(
    decay: float | int,
    samples: int,
    features: Sequence[int],
    inputs: int = 512,
    seeds: int = 5,
    ridge: float | int = 0.0,
) -> Float[np.ndarray, "S N"]:
    """Errors by number of features at one number of samples, a row for each draw."""
    spectrum = power_spectrum(decay, inputs)

    def error(seed: int, n: int) -> float:
        return error_of_samples(spectrum, samples, np.random.default_rng((seed, n)), n, ridge)

    return np.array([[error(seed, n) for n in features] for seed in range(seeds)])
