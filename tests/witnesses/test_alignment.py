import math

import numpy as np
import pytest
from scipy.optimize import minimize
from witnesses.alignment import (
    best_of_n,
    best_of_n_divergence_bound,
    divergence_estimate,
    tilted_distribution,
    tilted_value,
)

from mathlm.errors import InputError
from mathlm.reference import kl_divergence

KINDS = pytest.mark.parametrize("kind", ["k1", "k2", "k3"])


def distributions(rng, size=50):
    return (rng.dirichlet(np.ones(size)) for _ in range(2))


def test_a_tilt_by_hand():
    p = tilted_distribution([0.25, 0.75], [math.log(3), 0.0], 1.0)
    assert p == pytest.approx([0.5, 0.5])
    assert tilted_value([0.25, 0.75], [math.log(3), 0.0], 1.0) == pytest.approx(math.log(1.5))


def test_no_policy_is_better_than_the_tilted_one(rng):
    p_ref, r, beta = rng.dirichlet(np.ones(6)), rng.normal(size=6), 0.4

    def loss(z):
        p = np.exp(z - np.logaddexp.reduce(z))
        return beta * kl_divergence(p, p_ref) - p @ r

    found = minimize(loss, np.zeros(6), tol=1e-14)
    assert -found.fun == pytest.approx(tilted_value(p_ref, r, beta), abs=1e-8)
    p = np.exp(found.x - np.logaddexp.reduce(found.x))
    assert p == pytest.approx(tilted_distribution(p_ref, r, beta), abs=1e-5)


def test_a_small_price_overflows_nothing_and_what_is_never_drawn_stays_away():
    p = tilted_distribution([0.5, 0.5, 0.0], [1.0, 0.0, 1000.0], 1e-4)
    assert p.tolist() == [1.0, 0.0, 0.0]


@pytest.mark.parametrize("kind", ["k1", "k3"])
def test_estimates_are_unbiased(rng, kind):
    p, q = distributions(rng)
    assert p @ divergence_estimate(kind, p, q) == pytest.approx(kl_divergence(p, q), abs=1e-12)


def test_half_the_square_is_biased(rng):
    p, q = distributions(rng)
    assert abs(p @ divergence_estimate("k2", p, q) - kl_divergence(p, q)) > 0.01


@KINDS
def test_estimates_by_hand(kind):
    """π = ½ and π_ref = ¼: ρ = ½."""
    expected = {"k1": math.log(2), "k2": math.log(2) ** 2 / 2, "k3": math.log(2) - 0.5}
    found = divergence_estimate(kind, [0.5, 0.5], [0.25, 0.75])
    assert found[0] == pytest.approx(expected[kind], abs=1e-15)


def test_best_of_two_by_hand():
    assert best_of_n([0.5, 0.3, 0.2], [0.0, 1.0, 2.0], 2) == pytest.approx([0.25, 0.39, 0.36])


def test_equal_rewards_are_chosen_in_proportion():
    assert best_of_n([0.5, 0.3, 0.2], [1.0, 1.0, 1.0], 7) == pytest.approx([0.5, 0.3, 0.2])


@pytest.mark.parametrize("n", [1, 2, 3])
def test_best_of_n_is_what_every_list_of_draws_says(rng, n):
    p, r = rng.dirichlet(np.ones(4)), np.array([0.3, -1.0, 0.3, 2.0])
    found = np.zeros(4)
    for draws in np.ndindex(*[4] * n):
        best = [y for y in draws if r[y] == max(r[list(draws)])]
        for y in best:  # a tie is broken at random among the draws
            found[y] += np.prod(p[list(draws)]) / len(best)
    assert best_of_n(p, r, n) == pytest.approx(found, abs=1e-12)


@pytest.mark.parametrize("n", [1, 2, 8, 64])
def test_the_bound_holds_and_is_reached_where_all_are_rare(rng, n):
    p, r = rng.dirichlet(np.ones(6)), rng.normal(size=6)
    assert kl_divergence(best_of_n(p, r, n), p) <= best_of_n_divergence_bound(n) + 1e-12
    many = np.full(20_000, 1 / 20_000)
    fine = kl_divergence(best_of_n(many, np.arange(20_000), n), many)
    assert fine == pytest.approx(best_of_n_divergence_bound(n), abs=1e-3)


@pytest.mark.parametrize(
    "call",
    [
        lambda: tilted_distribution([0.5, 0.5], [0.0, 1.0], 0),
        lambda: tilted_value([0.5, 0.5], [0.0], 1),
        lambda: tilted_value([0.5, 0.6], [0.0, 1.0], 1),
        lambda: divergence_estimate("k4", [1.0], [1.0]),
        lambda: divergence_estimate("k1", [1.0, 0.0], [0.5, 0.5]),
        lambda: best_of_n([0.5, 0.5], [0.0, 1.0], 0),
        lambda: best_of_n_divergence_bound(0),
    ],
)
def test_what_cannot_be_is_refused(call):
    with pytest.raises(InputError):
        call()
