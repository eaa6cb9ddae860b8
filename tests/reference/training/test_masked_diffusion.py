"""The bound on worlds of a few tokens, against chains of matrices, orders and definitions."""

import itertools
import math
import re

import numpy as np
import pytest

from mathlm.errors import InputError, InputTypeError
from mathlm.reference import (
    absorbing_bound,
    any_order_bound,
    entropy,
    exact_denoiser,
    kl_divergence,
    masked_diffusion_loss,
    masked_diffusion_loss_backward,
    numerical_vjp,
    parallel_commits,
)

T, V = 3, 2
TEXTS = list(itertools.product(range(V), repeat=T))


def world(rng, shape=(V,) * T):
    p = rng.dirichlet(np.full(math.prod(shape), 0.7)).reshape(shape)
    return p


def wrong_denoiser(rng, T=T, V=V):
    """An own distribution for each place of each pattern of visible tokens."""
    rows = {}

    def denoise(x, hidden):
        assert hidden.dtype == bool
        seen = tuple(-1 if h else token for h, token in zip(hidden, x, strict=True))
        if seen not in rows:
            rows[seen] = rng.dirichlet(np.ones(V), T)
        return rows[seen]

    return denoise


def order_cost(x, denoise, order):
    """-log p(x) of the autoregressive model that reveals places in an order."""
    hidden, cost = np.ones(len(x), bool), 0.0
    for t in order:
        cost -= math.log(denoise(x, hidden)[t, x[t]])
        hidden[t] = False
    return cost


def chain_bound(x, denoise, alphas, V):
    """The bound of D3PM by its definition: transition matrices, posteriors, and divergences.

    Sequences are factors of single places, each a chain over V tokens and the mask, V.
    """
    T, mask = len(x), V

    def step(a, b):  # q(z_b | z_a) of one token, visible probability a -> b
        Q = np.eye(V + 1) * (b / a)
        Q[:, mask] += 1 - b / a
        Q[mask] = np.eye(V + 1)[mask]
        return Q

    total = 0.0
    for a, b in itertools.pairwise(alphas):  # 1 = visible at the beginning, then hidden
        to_a, to_b, between = step(1.0, a), step(1.0, b), step(a, b)
        posterior = between[None] * to_a[:, :, None]  # x, z_a, z_b
        with np.errstate(invalid="ignore"):
            posterior = np.nan_to_num(posterior / to_b[:, None])  # q(z_a | z_b, x)
        for z in itertools.product(*[(token, mask) for token in x]):
            chance = math.prod(to_b[x[t], z[t]] for t in range(T))
            hidden = np.array([token == mask for token in z])
            if not hidden.any() or chance == 0:
                continue
            rows = denoise(x, hidden)
            for t in np.flatnonzero(hidden):
                right = posterior[x[t], :, mask]
                model = np.einsum("v,va->a", rows[t], posterior[:V, :, mask])
                total += chance * kl_divergence(right, model)
    return total


def test_the_bound_is_the_mean_cost_over_all_orders(rng):
    denoise = wrong_denoiser(rng)
    for x in TEXTS:
        costs = [order_cost(x, denoise, o) for o in itertools.permutations(range(T))]
        assert any_order_bound(x, denoise) == pytest.approx(np.mean(costs), rel=1e-12)


def test_with_the_exact_denoiser_the_bound_is_the_negative_log_likelihood(rng):
    p = world(rng)
    for x in TEXTS:
        assert any_order_bound(x, exact_denoiser(p)) == pytest.approx(-np.log(p[x]), rel=1e-12)


def test_with_another_denoiser_the_bound_lies_above_the_mixture_over_orders(rng):
    denoise = wrong_denoiser(rng)
    for x in TEXTS:
        orders = itertools.permutations(range(T))
        mixture = np.mean([math.exp(-order_cost(x, denoise, o)) for o in orders])
        assert any_order_bound(x, denoise) > -math.log(mixture) + 1e-4


@pytest.mark.parametrize("alphas", [(1, 0), (1, 0.3, 0), (1, 0.9, 0.45, 0.4, 0)], ids=str)
def test_the_bound_of_finitely_many_steps_is_that_of_its_chain(rng, alphas):
    """Transition matrices, posteriors by Bayes and divergences: no weight is used."""
    denoise = wrong_denoiser(rng)
    for x in TEXTS:
        expected = chain_bound(x, denoise, alphas, V)
        assert absorbing_bound(x, denoise, alphas) == pytest.approx(expected, rel=1e-10)


@pytest.mark.parametrize("power", [0.5, 1.0, 3.0])
def test_more_steps_lead_to_the_same_bound_whatever_the_schedule(rng, power):
    denoise, x = wrong_denoiser(rng), TEXTS[5]
    limit = any_order_bound(x, denoise)
    errors = [
        abs(absorbing_bound(x, denoise, 1 - np.linspace(0, 1, N + 1) ** power) - limit)
        for N in (10, 100, 1000)
    ]
    assert errors[0] > 3 * errors[1] > 9 * errors[2]
    assert errors[2] < 0.01 * limit


def test_one_step_commits_all_places_at_once(rng):
    p = world(rng)
    q = parallel_commits(p, [range(T)])
    marginals = [p.sum(tuple(a for a in range(T) if a != t)) for t in range(T)]
    np.testing.assert_allclose(q, np.einsum("a,b,c->abc", *marginals), rtol=1e-12)
    for x in TEXTS:
        expected = -np.log(q[x])
        assert absorbing_bound(x, exact_denoiser(p), [1, 0]) == pytest.approx(expected)


@pytest.mark.parametrize("order", list(itertools.permutations(range(T))))
def test_one_place_at_a_time_is_exact_in_any_order(rng, order):
    p = world(rng)
    np.testing.assert_allclose(parallel_commits(p, [[t] for t in order]), p, rtol=1e-10)


def test_the_error_of_a_group_is_its_conditional_total_correlation(rng):
    p = world(rng)
    first = p.sum((1, 2))
    conditional = p / first[:, None, None]
    pair = conditional.sum(2)[:, :, None] * conditional.sum(1)[:, None]
    lost = sum(
        first[a] * kl_divergence(conditional[a].ravel(), pair[a].ravel()) for a in (0, 1)
    )
    q = parallel_commits(p, [[0], [1, 2]])
    assert kl_divergence(p.ravel(), q.ravel()) == pytest.approx(lost, rel=1e-10)
    assert q.sum() == pytest.approx(1, rel=1e-12)
    assert lost > 1e-3


@pytest.mark.parametrize("equal", [False, True])
def test_a_group_loses_at_most_its_entropies_but_the_largest(rng, equal):
    p = world(rng)
    if equal:  # all places the same token: the bound is reached
        p = np.zeros((V,) * T)
        p[0, 0, 0], p[1, 1, 1] = 0.3, 0.7
        np.testing.assert_allclose(parallel_commits(p, [[0], [1], [2]]), p)
    H = [entropy(p.sum(tuple({*range(T)} - {t}))) for t in range(T)]
    lost = kl_divergence(p.ravel(), parallel_commits(p, [range(T)]).ravel())
    assert 0 < lost <= sum(H) - max(H) + 1e-12
    assert equal == (abs(lost - (sum(H) - max(H))) < 1e-9)


def test_another_denoiser_writes_its_own_distribution(rng):
    p, denoise = world(rng), wrong_denoiser(rng)
    q = parallel_commits(p, [[1], [0], [2]], denoise)
    for x in TEXTS:
        assert q[x] == pytest.approx(math.exp(-order_cost(x, denoise, (1, 0, 2))), rel=1e-12)


def test_two_equal_tokens_by_hand():
    """Half 00, half 11: one at a time exact, both at once a quarter each, log 2 lost."""
    p = np.array([[0.5, 0.0], [0.0, 0.5]])
    assert any_order_bound((1, 1), exact_denoiser(p)) == pytest.approx(math.log(2))
    np.testing.assert_allclose(parallel_commits(p, [[0, 1]]), 0.25)
    np.testing.assert_allclose(parallel_commits(p, [[1], [0]]), p)
    assert absorbing_bound((0, 0), exact_denoiser(p), [1, 0]) == pytest.approx(2 * math.log(2))
    whole = np.array([1, 0], dtype=np.uint8)
    assert absorbing_bound((0, 0), exact_denoiser(p), whole) == pytest.approx(2 * math.log(2))
    # two steps of one half: in the second, both are still hidden in a quarter of the cases,
    # one in a half, where it is known; in the first, both are, and half of their cost counts
    expected = 1 / 2 * 2 * math.log(2) + 1 / 4 * 2 * math.log(2)
    assert absorbing_bound((0, 0), exact_denoiser(p), [1, 0.5, 0]) == pytest.approx(expected)


def test_what_cannot_be_continued_in_a_world_of_equal_tokens():
    """Half 000, half 111: 001 cannot be; two at once write 01, from which nothing follows."""
    p = np.zeros((2, 2, 2))
    p[0, 0, 0] = p[1, 1, 1] = 0.5
    denoise = exact_denoiser(p)
    rows = denoise((0, 1, 0), np.array([False, False, True]))
    assert rows.tolist() == [[1, 0], [0, 1], [0.5, 0.5]]
    assert any_order_bound([0, 0, 1], denoise) == math.inf
    expected = np.full((2, 2, 2), 0.125)  # two coins, and a third where they differ
    expected[0, 0], expected[1, 1] = [0.25, 0], [0, 0.25]
    np.testing.assert_allclose(parallel_commits(p, [[0, 1], [2]]), expected)


def test_a_set_that_never_comes_has_no_part_in_the_bound():
    """01 cannot be, but one step reads the two marginals only: 2 log 2."""
    denoise = exact_denoiser(np.diag([0.5, 0.5]))
    assert absorbing_bound([0, 1], denoise, [1, 0]) == pytest.approx(2 * math.log(2))
    assert absorbing_bound([0, 1], denoise, [1, 0.5, 0]) == math.inf


def test_a_world_of_one_place_is_one_distribution():
    p = np.array([0.2, 0.3, 0.5])
    np.testing.assert_allclose(exact_denoiser(p)((0,), np.array([True])), [p], rtol=1e-15)
    np.testing.assert_allclose(parallel_commits(p, [[0]]), p, rtol=1e-15)


def test_the_loss_by_hand():
    """Two classes alike: log 2 for each hidden token, over the level."""
    logits, targets = np.zeros((2, 3, 2)), np.array([[0, -100, 1], [-100, -100, 0]])
    loss, _ = masked_diffusion_loss(logits, targets, np.array([0.5, 0.25]))
    np.testing.assert_allclose(loss, [4 * math.log(2), 4 * math.log(2)], rtol=1e-12)


def test_at_level_one_each_hidden_token_counts_once():
    """Odds of 1 : 3, and token 0 and then token 1 are hidden: log 4 and log 4/3."""
    logits, targets = np.array([[[0.0, math.log(3)]] * 2]), np.array([[0, 1]])
    loss, _ = masked_diffusion_loss(logits, targets, np.ones(1))
    np.testing.assert_allclose(loss, math.log(4) + math.log(4 / 3), rtol=1e-14)
    alone, _ = masked_diffusion_loss(np.ones((1, 2, 1)), np.array([[0, -100]]), np.ones(1))
    assert alone.tolist() == [0]


@pytest.mark.parametrize("target", [-1, 5, -7], ids=str)
def test_a_target_that_is_no_class_is_refused(rng, target):
    """NumPy would take -1 for the last class."""
    logits, targets = rng.normal(size=(1, 2, 5)), np.array([[target, -100]])
    with pytest.raises(InputError, match=rf"target {target} at \[0, 0\] is outside 0\.\.4"):
        masked_diffusion_loss(logits, targets, np.ones(1))
    with pytest.raises(InputTypeError, match="targets must be integers, got float64"):
        masked_diffusion_loss(logits, np.array([[1.0, -100.0]]), np.ones(1))


def test_backward_matches_central_differences(rng):
    logits, targets = rng.normal(size=(2, 4, 5)), rng.integers(0, 5, (2, 4))
    targets[rng.random((2, 4)) < 0.4] = -100
    levels, dy = np.array([0.3, 0.9]), rng.normal(size=2)

    def forward(z):
        return masked_diffusion_loss(z, targets, levels)[0]

    found = masked_diffusion_loss_backward(
        dy, masked_diffusion_loss(logits, targets, levels)[1]
    )
    (expected,) = numerical_vjp(forward, (logits,), dy)
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-8)
    assert not found[targets == -100].any()


def test_what_is_no_world_no_schedule_or_no_level_is_refused(rng):
    with pytest.raises(InputError, match=r"sum to 1, they sum to 4"):
        exact_denoiser(np.ones((2, 2)))
    for shape in [(2, 3), ()]:
        with pytest.raises(InputError, match=rf"{re.escape(str(shape))} must be a table"):
            exact_denoiser(np.full(shape, 1 / math.prod(shape)))
    for p in ([1.5, -0.5], [0.75, 0.75]):
        with pytest.raises(InputError, match=r"\(2,\) must be a table"):
            exact_denoiser(np.array(p))
    for alphas in ([1, 0.5], [0.9, 0], [1, 0.5, 0.5, 0], [1]):
        with pytest.raises(InputError, match="must fall from 1 to 0"):
            absorbing_bound((0, 1, 1), wrong_denoiser(rng), alphas)
    with pytest.raises(InputError, match=r"each place 0\.\.2 once"):
        parallel_commits(world(rng), [[0, 1], [1, 2]])
    for level in (0.0, 1.5):
        with pytest.raises(InputError, match="0 < level <= 1"):
            masked_diffusion_loss(np.zeros((1, 1, 2)), np.zeros((1, 1), int), np.array([level]))
    with pytest.raises(InputError, match=r"targets \(1, 2\)"):
        masked_diffusion_loss(np.zeros((1, 1, 2)), np.zeros((1, 2), int), np.array([0.5]))
    with pytest.raises(InputError, match=r"levels \(2,\) do not fit"):
        masked_diffusion_loss(np.zeros((1, 1, 2)), np.zeros((1, 1), int), np.array([0.5, 1]))
