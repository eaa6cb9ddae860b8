"""Zipf's law: sums by hand, exact asymptotes, and what has no power law."""

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose

from lab.explanations.zipf import (
    distinct_seen,
    unlearned_mass,
    unseen_mass,
    zipf_exponents,
    zipf_probabilities,
)
from mathlm.errors import InputError

THREE = zipf_probabilities(1, 3)  # 6/11, 3/11, 2/11


def slope(x, y):
    return math.log(y[1] / y[0]) / math.log(x[1] / x[0])


def test_three_facts_have_the_probabilities_of_the_harmonic_series():
    assert_allclose(THREE, [6 / 11, 3 / 11, 2 / 11], rtol=1e-14)


def test_what_is_left_after_the_most_frequent():
    assert_allclose(unlearned_mass(THREE, np.arange(4)), [1, 5 / 11, 2 / 11, 0], atol=1e-15)


def test_two_draws_by_hand():
    """Σ p (1 - p)² over 6/11, 3/11, 2/11 = (6·25 + 3·64 + 2·81) / 1331."""
    assert_allclose(unseen_mass(THREE, [2]), [504 / 1331], rtol=1e-14)


def test_different_facts_of_two_draws_by_hand():
    """One for the first draw, and one more unless both are the same: 2 - Σ p²."""
    assert_allclose(distinct_seen(THREE, [1, 2]), [1, 2 - 49 / 121], rtol=1e-14)


def test_a_fact_that_is_new_now_adds_one_to_the_distinct():
    """E distinct(D + 1) - E distinct(D) = Σ p (1 - p)^D."""
    p = zipf_probabilities(1.3, 50)
    assert_allclose(np.diff(distinct_seen(p, [7, 8])), unseen_mass(p, [7]), rtol=1e-10)


@pytest.mark.parametrize("s", [1.5, 2.0, 3.0])
def test_the_rest_falls_by_the_exponent_of_capacity(s):
    """Σ_{k > K} k^-s → K^(1 - s) / (s - 1), and without end the sum is zeta(s)."""
    rest = unlearned_mass(zipf_probabilities(s, 1_000_000), np.array([20, 40]))
    assert -slope([20, 40], rest) == pytest.approx(zipf_exponents(s).capacity, rel=0.04)


@pytest.mark.parametrize("s", [1.5, 2.0, 3.0])
def test_unseen_and_untrained_fall_by_their_exponents(s):
    """After t steps fact k has a loss that depends on p_k t, such as 1 / (1 + p_k t)."""
    p, x = zipf_probabilities(s, 300_000), [1000, 2000]
    untrained = [(p / (1 + p * t)).sum() for t in x]
    assert -slope(x, unseen_mass(p, x)) == pytest.approx(zipf_exponents(s).data, rel=0.05)
    assert -slope(x, untrained) == pytest.approx(zipf_exponents(s).steps, rel=0.05)


def test_the_unseen_fall_to_their_exact_asymptote():
    """p_k = k^-2 / ζ(2): Σ p (1 - p)^D → ½ √(1/ζ(2)) Γ(½) / √D = ½ √(6/π) / √D."""
    mass = unseen_mass(zipf_probabilities(2, 1_000_000), [10_000])
    assert mass[0] == pytest.approx(0.5 * math.sqrt(6 / math.pi) / 100, rel=2e-3)


def test_the_distinct_grow_by_heaps_law():
    """Σ 1 - exp(-D p_k) → Γ(½) √(D/ζ(2)) = √(6 D/π) for s = 2."""
    found = distinct_seen(zipf_probabilities(2, 1_000_000), [10_000])
    assert found[0] == pytest.approx(100 * math.sqrt(6 / math.pi), rel=0.01)


def test_at_exponent_one_the_slope_keeps_changing():
    """1 - H_K / H_V is a straight line in log K, not a power of K."""
    p, k = zipf_probabilities(1, 100_000), np.array([10, 100, 1000, 10_000])
    assert_allclose(np.diff(unlearned_mass(p, k)), -math.log(10) / 12.09, rtol=0.06)


@pytest.mark.parametrize("s", [1, 0.5, math.inf, math.nan])
def test_no_exponent_without_a_sum(s):
    with pytest.raises(InputError, match="above 1"):
        zipf_exponents(s)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: zipf_probabilities(-1, 3), "exponent=-1"),
        (lambda: zipf_probabilities(1, 0), "count=0"),
        (lambda: unlearned_mass([0.2, 0.8], np.array([1])), "rises"),
        (lambda: unlearned_mass(THREE, np.array([4])), "between 0 and 3"),
        (lambda: unseen_mass([0.5, 0.6], [1]), "sums to 1.1"),
        (lambda: distinct_seen(THREE, [0]), "draws"),
    ],
    ids=["negative", "none", "rising", "too many", "no distribution", "no draw"],
)
def test_careless_arguments_are_named(call, words):
    with pytest.raises(InputError, match=words):
        call()
