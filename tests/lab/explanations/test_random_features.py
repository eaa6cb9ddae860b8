"""Regression on random features: exact cases by hand, asymptotes, and what may be exchanged."""

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose

from lab.explanations.random_features import (
    effective_ridge,
    limited_loss,
    power_spectrum,
    ridgeless_loss,
)
from mathlm.errors import InputError

FLAT = np.ones(1000)


def test_a_spectrum_by_hand():
    assert_allclose(power_spectrum(1, 3), [1, 1 / 4, 1 / 9], rtol=1e-14)


def test_a_flat_spectrum_by_hand():
    """M / (1 + κ) = N: κ = M/N - 1, and the error N κ = M - N, one for each axis not seen."""
    assert effective_ridge(FLAT, 250) == pytest.approx(3, rel=1e-12)
    assert limited_loss(FLAT, 250) == pytest.approx(750, rel=1e-12)


def test_two_variances_by_hand():
    """1/(1 + κ) + 4/(4 + κ) = 1: κ² = 4."""
    assert effective_ridge([1, 4], 1) == pytest.approx(2, rel=1e-12)


@pytest.mark.parametrize("scale", [1e-200, 1e-6, 1e200])
def test_the_ridge_has_the_unit_of_the_variances(scale):
    assert effective_ridge([scale, 4 * scale], 1) == pytest.approx(2 * scale, rel=1e-10)


@pytest.mark.parametrize("decay", [1.0, 2.0])
def test_the_loss_falls_by_the_exponent_of_the_spectrum(decay):
    """N^(-a) ((π/(1 + a)) / sin(π/(1 + a)))^(1 + a): for a = 1, (π/2)² / N."""
    angle = math.pi / (1 + decay)
    expected = 300**-decay * (angle / math.sin(angle)) ** (1 + decay)
    assert limited_loss(power_spectrum(decay, 10**5), 300) == pytest.approx(expected, rel=0.01)


def test_the_error_of_least_squares_with_a_flat_spectrum():
    """N features of M axes leave M - N as noise, which D samples multiply by D / (D - N)."""
    assert ridgeless_loss(FLAT, 100, 200) == pytest.approx(900 * 2, rel=1e-12)


def test_features_and_samples_change_places():
    s = power_spectrum(0.7, 400)
    assert ridgeless_loss(s, 20, 90) == ridgeless_loss(s, 90, 20)


@pytest.mark.parametrize("decay", [0.5, 1.0, 2.0])
def test_the_exponent_at_the_threshold_is_one_whatever_the_spectrum(decay):
    s = power_spectrum(decay, 4000)
    near, far = (ridgeless_loss(s, 1000 - k, 1000) for k in (1, 4))
    assert math.log(near / far) / math.log(4) == pytest.approx(1, abs=0.01)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: power_spectrum(0, 3), "decay=0"),
        (lambda: power_spectrum(1, 0), "count=0"),
        (lambda: effective_ridge([1, 1], 2), "less than the 2"),
        (lambda: effective_ridge([1, -1, 1], 1), "positive"),
        (lambda: ridgeless_loss(FLAT, 9, 9), "no mean"),
    ],
    ids=["decay", "none", "too many", "negative", "threshold"],
)
def test_careless_arguments_are_named(call, words):
    with pytest.raises(InputError, match=words):
        call()
