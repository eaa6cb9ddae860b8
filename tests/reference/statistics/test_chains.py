import itertools

import numpy as np
import pytest
from numpy.testing import assert_allclose

from mathlm.errors import InputError
from mathlm.reference import (
    draw_chain,
    entropy,
    kl_divergence,
    lost_share,
    scheduled_optimum,
    stationary,
    steps_ahead_entropy,
    text_divergence,
)


@pytest.fixture
def chains(rng):
    return rng.dirichlet(np.ones(3), size=3), rng.dirichlet(np.ones(3), size=3)


def test_the_stationary_shares_stay(chains):
    pi = stationary(chains[0])
    assert_allclose(pi @ chains[0], pi, atol=1e-12)
    assert pi.sum() == pytest.approx(1)


def test_a_stationary_share_by_hand():
    """From 0 one leaves with 1/10, from 1 with 3/10: three quarters of the time in 0."""
    assert_allclose(stationary([[0.9, 0.1], [0.3, 0.7]]), [0.75, 0.25])


def test_two_separate_worlds_have_no_one_share():
    with pytest.raises(InputError, match="2 eigenvalues of P are 1"):
        stationary(np.eye(2))


def test_pairs_of_neighbors_are_drawn_as_often_as_the_chain_says(chains, rng):
    x = draw_chain(chains[0], 40_000, 3, rng)
    seen = np.zeros((3, 3))
    np.add.at(seen, (x[:, 1], x[:, 2]), 1 / len(x))
    assert_allclose(seen, stationary(chains[0])[:, None] * chains[0], atol=0.01)


def test_one_step_ahead_by_hand():
    """π = (2/3, 1/3); behind 0 a fair coin, behind 1 nothing is open."""
    assert steps_ahead_entropy([[0.5, 0.5], [1, 0]], 1) == pytest.approx(2 / 3 * np.log(2))


def test_rounding_of_a_huge_power_does_no_harm():
    """0.7 + 0.3 is short of 1 by 1e-17 or so, which 10¹⁴ factors raise to 1e-4 or so."""
    P = [[0.9, 0.1], [0.3, 0.7]]
    assert steps_ahead_entropy(P, 10**14) == pytest.approx(entropy([0.75, 0.25]), rel=1e-12)


def test_the_further_ahead_the_less_is_known_up_to_the_shares_alone(chains):
    found = [steps_ahead_entropy(chains[0], k) for k in range(1, 9)]
    assert (np.diff(found) >= -1e-12).all()
    assert steps_ahead_entropy(chains[0], 200) == pytest.approx(entropy(stationary(chains[0])))


def text_probabilities(P, start, steps):
    """Every text of the chain, and its probability, by multiplication."""
    found = {}
    for text in itertools.product(range(len(P)), repeat=steps + 1):
        p = start[text[0]]
        for a, b in itertools.pairwise(text):
            p *= P[a, b]
        found[text] = p
    return np.array([*found.values()])


def test_the_steps_add_up_to_the_divergence_of_whole_texts(chains, rng):
    """KL over all 3⁵ texts, enumerated: the chain rule of the divergence."""
    (P, Q), start = chains, rng.dirichlet(np.ones(3))
    whole = kl_divergence(text_probabilities(P, start, 4), text_probabilities(Q, start, 4))
    assert_allclose(text_divergence(P, Q, start, 4).sum(), whole, rtol=1e-12)


def test_what_the_model_excludes_costs_everything_from_there_on():
    P, Q = [[0.5, 0.5], [0.5, 0.5]], [[0.5, 0.5], [1.0, 0.0]]
    assert text_divergence(P, Q, [1.0, 0.0], 2).tolist() == [0.0, np.inf]


def test_the_lost_share_follows_its_recursion():
    slip, recovery, e = 0.03, 0.2, 0.0
    for t in range(20):
        assert_allclose(lost_share(t, slip, recovery), e, atol=1e-15)
        e = (1 - recovery) * e + slip * (1 - e)


def test_the_lost_share_is_that_of_a_chain_of_two_states():
    P = np.array([[0.97, 0.03], [0.2, 0.8]])
    ahead = [np.linalg.matrix_power(P, t)[0, 1] for t in range(30)]
    assert_allclose(lost_share(np.arange(30), 0.03, 0.2), ahead, atol=1e-14)


def test_without_slips_nothing_is_lost_and_without_return_all_is():
    assert lost_share(50, 0.0, 0.0) == 0
    assert lost_share([0, 50], 0.0, 0.0).tolist() == [0, 0]
    assert lost_share(1, 1.0, 0.5) == pytest.approx(1)
    assert lost_share(3, 0.5, 0.0) == pytest.approx(1 - 0.5**3)


def test_scheduled_sampling_learns_what_counting_finds(rng):
    """Count second tokens behind what was read, in 400,000 texts of two tokens."""
    first, P, rho, n = np.array([0.6, 0.4]), np.array([[0.9, 0.1], [0.2, 0.8]]), 0.5, 400_000
    x, own = rng.choice(2, n, p=first), rng.choice(2, n, p=first)
    y = (rng.random(n) < P[x, 1]).astype(int)
    read = np.where(rng.random(n) < rho, own, x)
    counted = [np.bincount(y[read == u], minlength=2) / (read == u).sum() for u in (0, 1)]
    assert_allclose(scheduled_optimum(first, P, rho), counted, atol=4e-3)


def test_scheduled_sampling_ends_by_forgetting_the_first_token():
    P = [[0.9, 0.1], [0.2, 0.8]]
    assert_allclose(scheduled_optimum([0.5, 0.5], P, 0), P)
    assert_allclose(scheduled_optimum([0.5, 0.5], P, 1), [[0.55, 0.45]] * 2)


def test_texts_of_no_tokens_are_refused(rng):
    with pytest.raises(InputError, match="number=0 must be an integer of at least 1"):
        draw_chain([[1.0]], 0, 3, rng)
    with pytest.raises(InputError, match="steps=0 must be an integer of at least 1"):
        draw_chain([[1.0]], 3, 0, rng)


def test_one_token_has_one_text(rng):
    assert draw_chain([[1.0]], 1, 1, rng).tolist() == [[0]]
    assert text_divergence([[1.0]], [[1.0]], [1.0], 1).tolist() == [0]


def test_what_is_no_chain_is_refused():
    with pytest.raises(InputError, match=r"P has shape \(2,\); give a matrix"):
        stationary([0.5, 0.5])
    with pytest.raises(InputError, match=r"row 0 of P .* smallest entry -0\.5, sum 1"):
        stationary([[1.5, -0.5], [0.5, 0.5]])
    with pytest.raises(InputError, match=r"start is no distribution: shape \(1, 2\)"):
        text_divergence([[0.5, 0.5], [0.5, 0.5]], [[0.5, 0.5], [0.5, 0.5]], [[0.5, 0.5]], 1)
    with pytest.raises(InputError, match="different sizes"):
        text_divergence([[1.0]], [[1.0]], [0.5, 0.5], 2)
    with pytest.raises(InputError, match="steps=0 must be an integer of at least 1"):
        text_divergence([[1.0]], [[1.0]], [1.0], 0)
    for first, text in [([0.5, 0.6], "is no distribution"), ([np.nan, 1], "holds 1 NaN")]:
        with pytest.raises(InputError, match=f"^first {text}"):
            scheduled_optimum(first, np.eye(2), 0.5)
    with pytest.raises(InputError, match=r"^P holds 1 NaN"):
        stationary([[np.nan, 1.0], [0.5, 0.5]])
    with pytest.raises(InputError, match="recovery=2 is outside"):
        lost_share(1, 0.5, 2)
    with pytest.raises(InputError, match="row 1 of P is no distribution"):
        stationary([[0.5, 0.5], [0.5, 0.6]])
    with pytest.raises(InputError, match="a transition matrix is square"):
        steps_ahead_entropy([[0.5, 0.5]], 1)
    with pytest.raises(InputError, match="steps=0 must be an integer of at least 1"):
        steps_ahead_entropy([[1.0]], 0)
    with pytest.raises(InputError, match="different sizes"):
        text_divergence([[1.0]], [[0.5, 0.5], [0.5, 0.5]], [1.0], 2)
    with pytest.raises(InputError, match="slip=2 is outside"):
        lost_share(1, 2, 0.5)
    with pytest.raises(InputError, match="steps holds 1 NaN"):
        lost_share([np.nan], 0.1, 0.5)
    with pytest.raises(InputError, match="counted from 0"):
        lost_share([-1], 0.1, 0.5)
    with pytest.raises(InputError, match="steps holds 1 NaN"):
        lost_share([1, np.nan], 0.1, 0.5)
    with pytest.raises(InputError, match="first has 3 tokens and P 2 rows"):
        scheduled_optimum([0.2, 0.3, 0.5], np.eye(2), 0.5)
    with pytest.raises(InputError, match=r"share=1\.5"):
        scheduled_optimum([0.5, 0.5], np.eye(2), 1.5)
