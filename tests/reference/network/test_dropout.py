import math

import numpy as np
import pytest

from mathlm.errors import ConfigError, InputError
from mathlm.reference import dropout, dropout_backward, numerical_vjp


@pytest.mark.parametrize("rate", [0.1, 0.5, 0.9])
def test_entries_are_zero_or_scaled_up(rng, rate):
    x = rng.normal(size=(50, 20))
    y, _ = dropout(x, rate, rng)
    kept = y != 0
    np.testing.assert_allclose(y[kept], x[kept] / (1 - rate), rtol=1e-15)
    bound = 5 * math.sqrt(rate * (1 - rate) / x.size)
    assert abs(kept.mean() - (1 - rate)) < bound


@pytest.mark.parametrize("rate", [0.1, 0.5, 0.9])
def test_mean_and_variance_are_those_of_the_definition(rng, rate):
    """For x = 1: mean 1, variance p / (1-p), from 10^5 entries."""
    y, _ = dropout(np.ones(100_000), rate, rng)
    variance = rate / (1 - rate)
    fourth = rate + (1 - rate) * (1 / (1 - rate) - 1) ** 4
    assert abs(y.mean() - 1) < 5 * math.sqrt(variance / y.size)
    spread = math.sqrt(max(fourth - variance**2, 1e-12) / y.size)
    assert abs(np.mean((y - 1) ** 2) - variance) < 5 * spread + 1e-12


def test_a_draw_that_equals_the_rate_is_kept():
    """Draws are multiples of 2⁻⁵³ below 1: a share p of them is below p, and p is not."""
    rate = np.random.default_rng(5).random()
    y, _ = dropout(np.ones(1), rate, np.random.default_rng(5))
    np.testing.assert_array_equal(y, 1 / (1 - rate))


def test_a_rate_of_zero_is_the_identity_and_draws_nothing(rng):
    x, before = rng.normal(size=7), rng.bit_generator.state
    y, cache = dropout(x, 0, rng)
    np.testing.assert_array_equal(y, x)
    np.testing.assert_array_equal(dropout_backward(x, cache), x)
    assert y is not x
    assert rng.bit_generator.state == before


@pytest.mark.parametrize("rate", [0, 0.3])
@pytest.mark.parametrize("shape", [(4,), (3, 4), (2, 3, 4)])
def test_gradient_is_that_of_finite_differences(rng, shape, rate):
    x, dy = rng.normal(size=(2, *shape))
    _, cache = dropout(x, rate, np.random.default_rng(3))
    expected = numerical_vjp(lambda z: dropout(z, rate, np.random.default_rng(3))[0], x, dy)
    np.testing.assert_allclose(dropout_backward(dy, cache), expected, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("rate", [1, 1.0, -0.1, math.nan, 1.5])
def test_rates_outside_their_range_are_refused(rng, rate):
    with pytest.raises(ConfigError, match=rf"rate={rate} must lie in \[0, 1\)"):
        dropout(np.ones(3), rate, rng)


def test_a_gradient_of_another_shape_is_refused(rng):
    _, cache = dropout(np.ones(3), 0.5, rng)
    with pytest.raises(InputError, match=r"dy has shape \(2,\), but y has \(3,\)"):
        dropout_backward(np.ones(2), cache)


def test_entries_that_are_not_finite_are_refused(rng):
    with pytest.raises(InputError, match="x holds 1 NaN"):
        dropout(np.array([1.0, math.nan]), 0.5, rng)
