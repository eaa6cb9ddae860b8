"""Two rewards of one answer: pulls and ends against a listing in plain NumPy."""

import itertools

import numpy as np
import pytest
import torch

from lab.estimators import rewards

KINDS = ((0, 0), (0, 1), (1, 0), (1, 1))


def normalized(r):
    return (r - r.mean()) / (r.std() + 1e-4)


NUMPY = {
    "normalized sum (GRPO)": lambda a, b: normalized(a + b),
    "sum of normalized (GDPO)": lambda a, b: normalized(a) + normalized(b),
}


def listed(name, chance, scales, N):
    """Expected gradient in the four logits, group by group."""
    total = np.zeros(4)
    for group in itertools.product(range(4), repeat=N):
        earned = np.array([KINDS[y] for y in group]) * scales
        A = NUMPY[name](*earned.T)
        g = sum(a * (np.eye(4)[y] - chance) for a, y in zip(A, group, strict=True)) / N
        total += np.prod(chance[list(group)]) * g
    return total


@pytest.mark.parametrize("scales", [(1, 1), (1, 10)])
@pytest.mark.parametrize("name", NUMPY)
def test_the_rise_of_each_rate_is_that_of_a_listing(name, scales):
    """In natural coordinates dz/dt = g/π: each rate rises by Σ_y r(y) g(y)."""
    chance = np.array([0.1, 0.5, 0.3, 0.1])
    g = listed(name, chance, scales, 3)
    found = rewards.pulls(rewards.COMBINED[name], torch.tensor(chance), scales, samples=3)
    np.testing.assert_allclose(found, g @ np.array(KINDS), atol=1e-12)


@pytest.mark.parametrize("name", NUMPY)
def test_at_the_end_the_penalty_balances_the_listed_gradient(name):
    """The gradient of β KL in the logits is β π (u - Σ π u) with u the log-ratio."""
    chance, beta = np.array([0.02, 0.6, 0.36, 0.02]), 1.0
    z, combine = torch.tensor(chance).log(), rewards.COMBINED[name]
    for _ in range(300):
        mean = rewards.expected_advantage(combine, z.exp(), (1, 10))
        z = (z + 0.2 * (mean - beta * (z - torch.tensor(chance).log()))).log_softmax(0)
    pi, u = z.exp().numpy(), z.numpy() - np.log(chance)
    np.testing.assert_allclose(
        listed(name, pi, (1, 10), 4), beta * pi * (u - pi @ u), atol=1e-9
    )
    end = rewards.end_of_two(combine, torch.tensor(chance), (1, 10), beta, steps=300)
    np.testing.assert_allclose(end, pi @ np.array(KINDS), atol=1e-12)


def test_a_small_reward_is_driven_down_by_the_sum_and_not_apart():
    kinds = torch.tensor([0.02, 0.6, 0.36, 0.02])
    summed, apart = (rewards.pulls(c, kinds, (1, 10)) for c in rewards.COMBINED.values())
    assert summed[0] < 0 < apart[0]


def test_rewards_that_contradict_each_other_cancel_in_both_orders():
    r = torch.tensor([[1.0, 0, 0, 1]])
    for combine in rewards.COMBINED.values():
        assert combine(torch.stack([r, 1 - r])).abs().max() < 1e-12
