"""Memories, tables and draws under Zipf's law, against optimality and against sums."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from lab.explanations.zipf import unseen_mass, zipf_probabilities
from lab.explanations.zipf_memory import bits_lost, measure, remember, seen_losses, table_losses
from mathlm.errors import ConfigError

P = zipf_probabilities(1.5, 512)


def test_the_best_memory_has_no_slope():
    """Margins are linear in w: at the optimum Σ p σ(-z) z = 0, the slope along w itself."""
    z = remember(P, 8)
    assert abs(P @ (z / (1 + np.exp(z)))) < 1e-6


def test_a_memory_knows_the_frequent_facts_and_guesses_the_rare():
    right = np.mean([remember(P, 16, seed) > 0 for seed in range(8)], axis=0)
    assert right[:8].mean() > 0.9
    assert right[256:].mean() == pytest.approx(0.5, abs=0.08)


def test_a_guess_costs_one_bit():
    assert bits_lost(P, np.zeros(512)) == pytest.approx(1)


def test_draws_leave_unseen_what_the_sum_expects():
    assert_allclose(seen_losses(P, [10, 100], seeds=200), unseen_mass(P, [10, 100]), rtol=0.1)


def test_a_table_after_one_step_by_hand():
    """One fact, rate 4: the score is 4 · ½ = 2, the loss log2(1 + e^-2)."""
    assert_allclose(table_losses(np.ones(1), [1]), np.log2(1 + np.exp(-2)), rtol=1e-14)


def test_more_weights_than_facts_are_refused():
    with pytest.raises(ConfigError, match="quarter of 512"):
        remember(P, 129)


def test_every_exponent_is_measured_that_is_predicted():
    found = measure(2, 512)
    assert set(found["measured"]) == set(found["predicted"]) == set(found["losses"])
    assert found["predicted"]["data"] == pytest.approx(0.5)
