"""Errors of regressions on random features, against theory and against one made of samples."""

import numpy as np
import pytest

from lab.explanations.random_features import limited_loss, power_spectrum, ridgeless_loss
from lab.explanations.random_features_study import (
    error_of_features,
    error_of_samples,
    measure,
    threshold,
)
from mathlm.errors import ConfigError

SPECTRUM = power_spectrum(1, 400)


def mean(error, *rest, seeds=40, **more):
    runs = [error(SPECTRUM, *rest, np.random.default_rng(s), **more) for s in range(seeds)]
    return np.mean(runs)


@pytest.mark.parametrize("error", [error_of_features, error_of_samples])
def test_either_limit_is_as_foretold(error):
    assert mean(error, 40) == pytest.approx(limited_loss(SPECTRUM, 40), rel=0.05)


@pytest.mark.parametrize(("features", "samples"), [(20, 60), (60, 20)])
def test_both_sides_of_the_threshold_are_as_foretold(features, samples):
    found = mean(error_of_samples, samples, features=features, seeds=100)
    assert found == pytest.approx(ridgeless_loss(SPECTRUM, features, samples), rel=0.1)


def test_the_error_is_that_of_a_regression_carried_out(rng):
    """Targets, samples, least squares and fresh data, with nothing taken from the package."""
    spectrum, errors = power_spectrum(1, 30), []
    for _ in range(1000):
        x, w = rng.normal(size=(12, 30)) * np.sqrt(spectrum), rng.normal(size=30)
        mix = rng.normal(size=(30, 5))
        learned = mix @ np.linalg.solve(
            mix.T @ x.T @ x @ mix + 12 * 0.1 * np.eye(5), mix.T @ x.T @ x @ w
        )
        errors.append(spectrum @ (learned - w) ** 2)
    runs = [
        error_of_samples(spectrum, 12, np.random.default_rng(s), 5, 0.1) for s in range(1000)
    ]
    assert np.mean(runs) == pytest.approx(np.mean(errors), rel=0.07)


def test_the_worst_number_of_features_is_that_of_the_samples():
    features = [10, 20, 30, 40, 50, 80]
    found = np.median(threshold(1, 30, features, inputs=200, seeds=15), axis=0)
    assert features[int(found.argmax())] == 30


def test_a_ridge_takes_the_peak_away():
    found = threshold(1, 30, [10, 30, 80], inputs=200, seeds=15, ridge=0.01).mean(0)
    assert found[0] > found[1] > found[2]


def test_a_negative_ridge_is_refused(rng):
    with pytest.raises(ConfigError, match="ridge=-1"):
        error_of_samples(SPECTRUM, 10, rng, ridge=-1)


def test_the_exponents_are_those_of_the_spectrum():
    found = measure(2, inputs=1024, seeds=2)["exponents"]
    assert [found[name] for name in ("features", "samples")] == pytest.approx([2, 2], abs=0.15)
