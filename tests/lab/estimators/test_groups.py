"""Exact weights, moments and ends of group estimators, against sums written another way."""

import itertools
import math

import numpy as np
import pytest
import torch

from lab.estimators import groups
from mathlm.align import group_advantages

P = torch.tensor([0.03, 0.2, 0.5, 0.9], dtype=torch.float64)
FORMULAS = {  # w(p) in closed form for N = 4, derived by hand from the gaps at k = 0 ... 3
    "REINFORCE": lambda p: 1 + 0 * p,
    "RLOO": lambda p: 1 + 0 * p,
    "Dr. GRPO": lambda p: 0.75 + 0 * p,
    "GRPO": lambda p: (
        (1 - p) ** 3 * math.sqrt(3)
        + 3 * p * (1 - p) ** 2 * (1 + 1 / math.sqrt(3))
        + 3 * p**2 * (1 - p) * (1 / math.sqrt(3) + 1)
        + p**3 * math.sqrt(3)
    ),
    "MaxRL": lambda p: 1 + (1 - p) + (1 - p) ** 2,
}


@pytest.mark.parametrize("name", FORMULAS)
def test_the_weight_of_four_answers_is_its_closed_form(name):
    """GRPO's 1e-4 in the division moves it by 3e-4 at most."""
    found = groups.difficulty_weight(groups.ADVANTAGES[name], P, 4)
    torch.testing.assert_close(found, FORMULAS[name](P), rtol=0, atol=5e-4)


def listed_gradient(advantage, pi, reward, N):
    """Mean and variance over all groups in plain NumPy loops."""
    mean, square = np.zeros(len(pi)), np.zeros(len(pi))
    for group in itertools.product(range(len(pi)), repeat=N):
        r = np.array([reward[y] for y in group])
        g = sum(a * (np.eye(len(pi))[y] - pi) for a, y in zip(advantage(r), group, strict=True))
        chance = np.prod([pi[y] for y in group])
        mean += chance * g / N
        square += chance * (g / N) ** 2
    return mean, square - mean**2


NUMPY = {
    "REINFORCE": lambda r: r,
    "RLOO": lambda r: [x - (r.sum() - x) / (len(r) - 1) for x in r],
    "Dr. GRPO": lambda r: r - r.mean(),
    "GRPO": lambda r: (r - r.mean()) / (r.std() + 1e-4),
    "MaxRL": lambda r: (r / r.mean() - 1) if r.any() else 0 * r,
}


@pytest.mark.parametrize("name", NUMPY)
def test_moments_and_weight_are_those_of_a_listing_in_numpy(name):
    pi, reward = np.array([0.1, 0.25, 0.65]), np.array([1.0, 1.0, 0.0])
    mean, variance = listed_gradient(NUMPY[name], pi, reward, 3)
    logp, r = torch.tensor(pi).log(), torch.tensor(reward)
    found = groups.gradient_moments(groups.ADVANTAGES[name], logp, r, 3)
    np.testing.assert_allclose(found.mean, mean, atol=1e-12)
    np.testing.assert_allclose(found.variance, variance, atol=1e-12)
    p = torch.tensor(0.35)
    slope = pi * (reward - 0.35)
    w = float(groups.difficulty_weight(groups.ADVANTAGES[name], p, 3))
    np.testing.assert_allclose(mean, w * slope, atol=1e-12)


@pytest.mark.parametrize("N", [1, 2, 3, 6])
def test_the_mean_score_of_successes_climbs_n_terms_of_the_logarithm(N):
    p = P.clone().requires_grad_(True)
    (slope,) = torch.autograd.grad(groups.log_series(p, N).sum(), p)
    found = groups.difficulty_weight(groups.successes_alone, P, N)
    torch.testing.assert_close(found, slope, rtol=1e-12, atol=0)


def test_the_series_goes_to_the_logarithm():
    torch.testing.assert_close(groups.log_series(P, 2000), P.log(), rtol=1e-12, atol=0)


def test_a_flow_of_weight_1_takes_the_time_of_its_integral():
    """∫ dp / (p (1 - p))² = 2 logit p + (2p - 1) / (p (1 - p))."""

    def integral(p):
        return 2 * math.log(p / (1 - p)) + (2 * p - 1) / (p * (1 - p))

    p, time = groups.success_curve(torch.ones_like, 0.1, 0.9)
    assert math.isclose(time[-1], integral(0.9) - integral(0.1), rel_tol=1e-5)
    assert math.isclose(p[0], 0.1)
    assert math.isclose(p[-1], 0.9)


@pytest.mark.parametrize("name", ["RLOO", "GRPO", "MaxRL"])
def test_gradient_steps_with_a_penalty_stay_where_the_end_was_calculated(name):
    """Ascent on the listed gradient of two answers, less β KL by autograd."""
    A, ref, beta = groups.ADVANTAGES[name], torch.tensor([0.1, 0.9]), 0.5
    z = ref.log()
    for _ in range(4000):
        z = z.detach().requires_grad_(True)
        logp = z.log_softmax(0)
        (charge,) = torch.autograd.grad((logp.exp() * (logp - ref.log())).sum(), z)
        pull = groups.gradient_moments(A, logp.detach(), torch.tensor([1.0, 0.0]), 3).mean
        z = z + 0.5 * (pull - beta * charge)
    end = groups.end_with_penalty(lambda p: groups.difficulty_weight(A, p, 3), 0.1, beta)
    assert abs(float(z.detach().softmax(0)[0]) - end) < 1e-6


def test_a_weight_that_grows_without_bound_runs_away():
    def limit(p):
        return 1 / (p * (1 - p)).sqrt()

    assert groups.end_with_penalty(limit, 0.5, 0.5) == 1.0
    assert groups.end_with_penalty(limit, 0.5, 100.0) < 0.51


def test_one_answer_for_all_is_shared_as_the_stationary_equation_says():
    """N = 3: 0.5 (2 - p) = 0.3 (1 + p) gives 7/8; with log p the shares themselves."""
    shares = (0.5, 0.3, 0.2)
    found = groups.shared_answer(lambda p: 1 + (1 - p), shares, steps=4000)
    torch.testing.assert_close(found, torch.tensor([0.875, 0.125, 0.0]), rtol=0, atol=1e-6)
    found = groups.shared_answer(lambda p: 1 / p, shares)
    torch.testing.assert_close(found, torch.tensor(shares), rtol=0, atol=1e-9)


def test_mixed_groups_divide_the_weight_by_their_chance():
    """The mean of GRPO's gradient over the groups that are neither all right nor all wrong."""
    pi, reward, N = np.array([0.2, 0.8]), np.array([1.0, 0.0]), 4
    mean, _ = listed_gradient(NUMPY["GRPO"], pi, reward, N)
    kept = 1 - 0.2**N - 0.8**N
    w = float(groups.difficulty_weight(group_advantages, torch.tensor(0.2), N))
    assert math.isclose(mean[0] / kept / 0.16, w / kept, rel_tol=1e-12)
