import math

import numpy as np
import pytest
from numpy.testing import assert_allclose

from lab.generation.drawing import renyi_entropy, tempered, truncated, unseen_share
from mathlm.errors import InputError
from mathlm.reference import entropy, kl_divergence, numerical_gradient, softmax


def test_probabilities_to_a_power_are_the_softmax_of_divided_logits(rng):
    z = rng.normal(size=7) * 4
    for T in (0.2, 1.0, 3.7):
        assert_allclose(tempered(softmax(z), T), softmax(z, T), rtol=1e-12)


def test_a_temperature_leaves_what_is_impossible_impossible():
    """Squares of 1/4 and 3/4 are as 1 to 9."""
    assert_allclose(tempered([0.25, 0.0, 0.75], 0.5), [0.1, 0.0, 0.9])


def test_a_cold_distribution_neither_overflows_nor_loses_its_ties():
    assert_allclose(tempered([0.4, 0.4, 0.2], 1e-4), [0.5, 0.5, 0.0])


@pytest.mark.parametrize("T", [0.0, -1.0, math.inf, math.nan])
def test_a_temperature_that_divides_nothing_is_refused(T):
    with pytest.raises(InputError, match="must be positive and finite"):
        tempered([0.5, 0.5], T)


def test_the_orders_of_entropy_by_hand():
    """p = (1/2, 1/4, 1/4): log 3; 3/2 log 2; -log(6/16); -log(1/2)."""
    p = [0.5, 0.25, 0.25]
    found = [renyi_entropy(p, a) for a in (0, 1, 2, math.inf)]
    assert_allclose(found, [math.log(3), 1.5 * math.log(2), math.log(16 / 6), math.log(2)])


def test_entropy_falls_with_its_order_and_is_smooth_at_one(rng):
    p = rng.dirichlet(np.ones(6))
    found = [
        renyi_entropy(p, a) for a in (0.0, 0.5, 1 - 1e-7, 1, 1 + 1e-7, 2.0, 40.0, math.inf)
    ]
    assert_allclose(found[2:5], entropy(p), rtol=1e-6)
    assert (np.diff(np.delete(found, [2, 4])) < 0).all()


def test_an_entropy_of_no_order_is_refused():
    with pytest.raises(InputError, match="order=-1 must not be negative"):
        renyi_entropy([1.0], -1)


def test_what_is_kept_costs_the_logarithm_of_its_mass(rng):
    p, kept = rng.dirichlet(np.ones(8)), np.arange(8) < 3
    q, nats = truncated(p, kept)
    assert_allclose(nats, kl_divergence(q, p), rtol=1e-12)
    assert_allclose(np.abs(q - p).sum() / 2, 1 - p[kept].sum(), rtol=1e-12)


def test_no_other_distribution_on_the_kept_tokens_is_nearer(rng):
    p, kept = rng.dirichlet(np.ones(6)), np.array([True, False, True, True, False, False])
    others = np.zeros((200, 6))
    others[:, kept] = rng.dirichlet(np.ones(3), size=200)
    assert (kl_divergence(others, np.tile(p, (200, 1))) >= truncated(p, kept)[1]).all()


def test_keeping_all_costs_nothing_and_keeping_none_is_refused():
    assert truncated([0.3, 0.7], [True, True])[1] == 0
    with pytest.raises(InputError, match="the 1 kept tokens have probability 0"):
        truncated([0.0, 1.0], [True, False])
    with pytest.raises(InputError, match="give one bool for each of the 2 tokens"):
        truncated([0.3, 0.7], [1, 0])


def test_a_text_leaves_the_kept_part_as_often_as_coins_say():
    """Three fair coins: all heads in one case of eight."""
    assert unseen_share(0.5, 3) == 0.875
    assert unseen_share(1, 1000) == unseen_share(0.3, 0) == 0
    with pytest.raises(InputError, match=r"mass=1\.1 must be in 0\.\.1"):
        unseen_share(1.1, 3)


def test_entropy_rises_with_temperature_at_the_rate_of_the_variance(rng):
    z, T = rng.normal(size=5), 1.3
    p = softmax(z, T)
    rate = (p @ z**2 - (p @ z) ** 2) / T**3
    slope = numerical_gradient(lambda t: entropy(tempered(softmax(z), t[0])), np.array([T]))
    assert_allclose(slope, rate, rtol=1e-8)
