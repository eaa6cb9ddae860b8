"""The best of n: by listing all draws, by sampling, and how far it is from one draw."""

import itertools
import math

import numpy as np
import pytest
import torch

from mathlm.align import (
    best_of_n_kl,
    best_of_n_kl_bound,
    best_of_n_log_probabilities,
    best_of_n_mean,
    draw_best,
)
from mathlm.errors import InputError

P = torch.tensor([0.4, 0.3, 0.2, 0.1], dtype=torch.float64)
TIED = torch.tensor([1.0, -2.0, 1.0, 0.5], dtype=torch.float64)
REWARDS = {"two equal": TIED, "distinct": TIED.cumsum(0), "all equal": 0 * TIED}


def listed(p, rewards, n):
    """The distribution, from every sequence of n draws; ties are broken evenly."""
    q = np.zeros(len(p))
    for draws in itertools.product(range(len(p)), repeat=n):
        top = max(rewards[i] for i in draws)
        best = [i for i in draws if rewards[i] == top]
        for i in best:
            q[i] += math.prod(p[j] for j in draws) / len(best)
    return q


@pytest.mark.parametrize("n", [1, 2, 5])
@pytest.mark.parametrize("rewards", REWARDS.values(), ids=REWARDS)
def test_all_sequences_of_draws_give_the_same(rewards, n):
    q = best_of_n_log_probabilities(P.log(), rewards, n).exp()
    expected = listed(P.tolist(), rewards.tolist(), n)
    np.testing.assert_allclose(q.numpy(), expected, rtol=1e-12)


def test_the_first_of_equals_has_the_same_chances():
    q = np.zeros(4)
    for draws in itertools.product(range(4), repeat=3):
        best = max(draws, key=lambda i: TIED[i].item())  # max takes the first
        q[best] += math.prod(P[j].item() for j in draws)
    ours = best_of_n_log_probabilities(P.log(), TIED, 3).exp()
    np.testing.assert_allclose(ours.numpy(), q, rtol=1e-12)


def test_rows_are_worlds_of_their_own():
    logp, rewards = torch.randn(2, 3, 7).log_softmax(-1), torch.randn(2, 3, 7)
    all_at_once = best_of_n_log_probabilities(logp, rewards, 3)
    alone = best_of_n_log_probabilities(logp[1, 2], rewards[1, 2], 3)
    torch.testing.assert_close(all_at_once[1, 2], alone)
    assert all_at_once.logsumexp(-1).abs().max() < 1e-12
    divergences = best_of_n_kl(logp, rewards, 3)
    assert divergences.shape == (2, 3)
    torch.testing.assert_close(divergences[1, 2], best_of_n_kl(logp[1, 2], rewards[1, 2], 3))


def test_the_only_outcome_is_the_best():
    assert best_of_n_log_probabilities(torch.zeros(1), torch.ones(1), 3).tolist() == [0.0]


def test_a_mean_is_as_precise_as_the_values():
    draws = torch.arange(3, dtype=torch.float32)
    assert best_of_n_mean(draws, draws, 2).dtype == torch.float32


def test_outcomes_of_vanishing_probability_keep_their_place():
    """The best outcome has probability 1e-30: the best of n has n of these, and not 0."""
    p = torch.tensor([1e-30, 1.0])
    q = best_of_n_log_probabilities(p.log(), torch.tensor([1.0, 0.0]), 8)
    assert q[0].item() == pytest.approx(math.log(8e-30), rel=1e-12)


def test_what_cannot_be_drawn_is_never_the_best():
    p = torch.tensor([0.5, 0.0, 0.5])
    q = best_of_n_log_probabilities(p.log(), torch.tensor([0.0, 9.0, 1.0]), 2)
    assert q.exp().tolist() == pytest.approx([0.25, 0.0, 0.75])
    assert best_of_n_kl(p.log(), torch.tensor([0.0, 9.0, 1.0]), 2).isfinite()


@pytest.mark.parametrize("n", [1, 4])
def test_probabilities_that_underflow_keep_their_place(n):
    """Of n draws: the best has n times its chance, the worst the nth power of it."""
    logp = torch.tensor([-800.0, 0.0, -900.0])  # exp of the outer two is 0 also in float64
    q = best_of_n_log_probabilities(logp, torch.tensor([2.0, 1.0, 0.0]), n)
    expected = [math.log(n) - 800, 0, -900 * n]
    assert q.tolist() == pytest.approx(expected, rel=1e-14, abs=1e-14)


@pytest.mark.parametrize("n", [1, 5])
@pytest.mark.parametrize("rewards", REWARDS.values(), ids=REWARDS)
def test_gradients_are_those_of_differences(rewards, n):
    scores = torch.tensor([0.3, -1.0, 0.2, 0.9], dtype=torch.float64, requires_grad=True)

    def chosen(z):
        return best_of_n_log_probabilities(z.log_softmax(-1), rewards, n)

    def divergence(z):
        return best_of_n_kl(z.log_softmax(-1), rewards, n)

    assert torch.autograd.gradcheck(chosen, scores)
    assert torch.autograd.gradcheck(divergence, scores)


def test_the_gradient_of_what_cannot_be_drawn_is_zero():
    """The KL of two is 3/4 ln 3/2 + 1/4 ln 1/2 at a fair coin: by hand, as a function of p.

    q = (p², 1 - p²), so KL = p² ln p + (1 - p²) ln (1 + p), and its slope at p = 1/2 is
    2p ln p + p - 2p ln (1 + p) + 1 - p = 1 - ln 3; a score moves p by p (1 - p) = 1/4.
    """
    logp = torch.tensor([0.5, 0.0, 0.5], dtype=torch.float64).log().requires_grad_()
    best_of_n_kl(logp, torch.tensor([0.0, 9.0, 1.0]), 2).backward()
    slope = (1 - math.log(3)) / 4
    assert logp.grad.tolist() == pytest.approx([slope, 0, -slope], abs=1e-14)


def test_the_divergence_of_two_outcomes_by_hand():
    """Best of 2 of a fair coin: (3/4, 1/4) against (1/2, 1/2)."""
    kl = best_of_n_kl(torch.full((2,), 0.5).log(), torch.tensor([1.0, 0.0]), 2)
    assert kl.item() == pytest.approx(0.75 * math.log(1.5) + 0.25 * math.log(0.5), abs=1e-14)


@pytest.mark.parametrize("n", [2, 4, 64])
def test_the_formula_is_an_upper_bound_and_a_limit(n):
    """Beirami et al. (2024), theorem 1; equality as the outcomes become small and many."""
    gaps = []
    for outcomes in (4, 64, 4096):
        logp = torch.randn(outcomes).log_softmax(0)
        kl = best_of_n_kl(logp, torch.randn(outcomes), n).item()
        assert kl <= -logp.min().item()
        gaps.append(best_of_n_kl_bound(n) - kl)
    assert min(gaps) > 0
    assert gaps == sorted(gaps, reverse=True)
    assert gaps[-1] < 0.02


def test_the_divergence_cannot_pass_the_best_outcome():
    kl = best_of_n_kl(P.log(), torch.tensor([0.0, 1.0, 2.0, 3.0]), 10_000)
    assert kl.item() == pytest.approx(math.log(10), rel=1e-12)
    assert best_of_n_kl_bound(10_000) > 8


def test_one_draw_is_no_selection():
    torch.testing.assert_close(best_of_n_log_probabilities(P.log(), TIED, 1), P.log())
    assert best_of_n_kl(P.log(), TIED, 1).abs() < 1e-15
    assert best_of_n_kl_bound(1) == 0


def test_the_mean_over_subsets_is_what_it_says():
    proxy = torch.tensor([3.0, 1.0, 2.0, 2.0, 5.0, 0.0])
    values = torch.tensor([1.0, 10.0, 4.0, 8.0, -2.0, 6.0])
    for n in range(1, 7):
        found = []
        for subset in itertools.combinations(range(6), n):
            top = max(proxy[i] for i in subset)
            best = [values[i].item() for i in subset if proxy[i] == top]
            found.append(sum(best) / len(best))
        ours = best_of_n_mean(proxy, values, n).item()
        assert ours == pytest.approx(np.mean(found), rel=1e-10)


def test_the_mean_over_subsets_is_unbiased():
    """Over all tables of 4 draws of 3 outcomes, against the exact distribution."""
    p, r = [0.5, 0.3, 0.2], torch.tensor([0.0, 1.0, 4.0])
    total = 0.0
    for draws in itertools.product(range(3), repeat=4):
        some = r[list(draws)]
        total += math.prod(p[i] for i in draws) * best_of_n_mean(some, some, 3).item()
    exact = (best_of_n_log_probabilities(torch.tensor(p).log(), r, 3).exp() * r).sum()
    assert total == pytest.approx(exact.item(), rel=1e-10)


def test_whole_numbers_have_a_mean():
    """The best of two of the draws 0, 1 and 1: in three pairs always 1; of one, 2/3."""
    draws = torch.tensor([0, 1, 1])
    for n, mean in ((1, 2 / 3), (2, 1.0)):
        found = best_of_n_mean(draws, draws, n)
        assert found.dtype == torch.float64
        assert found.item() == pytest.approx(mean, rel=1e-12)


def test_subsets_of_many_draws_do_not_overflow():
    draws = torch.arange(5000.0)
    assert best_of_n_mean(draws, draws, 2500).item() == pytest.approx(2500 * 5001 / 2501 - 1)


def test_the_best_draw_is_returned_with_all_rewards():
    best = draw_best(lambda n: ["a", "ccc", "bb", "ddd"][:n], lambda xs: list(map(len, xs)), 4)
    assert (best.item, best.reward, best.rewards) == ("ccc", 3.0, (1.0, 3.0, 2.0, 3.0))


def test_sampled_bests_are_distributed_as_the_formula_says(rng):
    """A chi-square of 3 degrees of freedom; 16.27 is passed once in a thousand."""
    p, runs = P.numpy(), 4000
    reward = [0.0, 1.0, 2.0, 3.0]
    seen = np.zeros(4)
    for _ in range(runs):
        draw = lambda n: rng.choice(4, size=n, p=p)  # noqa: E731
        seen[draw_best(draw, lambda ys: [reward[y] for y in ys], 3).item] += 1
    expected = (
        runs * best_of_n_log_probabilities(P.log(), torch.tensor(reward), 3).exp().numpy()
    )
    assert ((seen - expected) ** 2 / expected).sum() < 16.27


@pytest.mark.parametrize(
    ("outcomes", "rewards"), [((), ()), ((0,), (0,)), ((4,), (1,))], ids=str
)
def test_outcomes_that_cannot_be_compared_are_refused(outcomes, rewards, unchecked):
    with pytest.raises(InputError, match="must have one shape, with at least one outcome"):
        best_of_n_log_probabilities(torch.zeros(outcomes), torch.zeros(rewards), 2)


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_means_of_what_is_no_number_are_refused(bad):
    numbers = TIED.clone()
    numbers[2] = bad
    for proxy, values in ((numbers, TIED), (TIED, numbers)):
        with pytest.raises(InputError, match="a proxy or a value is NaN or infinite"):
            best_of_n_mean(proxy, values, 2)


def test_what_has_no_best_is_refused():
    with pytest.raises(InputError, match="n=0 must be at least 1"):
        best_of_n_log_probabilities(P.log(), TIED, 0)
    with pytest.raises(InputError, match="NaN or infinite"):
        best_of_n_kl(P.log(), TIED.clone().fill_(math.nan), 2)
    with pytest.raises(InputError, match="sum to 2"):
        best_of_n_kl((2 * P).log(), TIED, 2)
    with pytest.raises(InputError, match=r"n=5 draws or more"):
        best_of_n_mean(TIED, TIED, 5)
    with pytest.raises(InputError, match="the reward of draw 1 is nan"):
        draw_best(lambda n: "ab", lambda xs: [0.0, math.nan], 2)
    with pytest.raises(InputError, match="there are 1 draws and 1 rewards"):
        draw_best(lambda n: "a", lambda xs: [0.0], 2)
