"""Advantages for rewards of 0 and 1, and for several rewards: by hand and by enumeration."""

import itertools
import math

import pytest
import torch
from torch.testing import assert_close

from mathlm.align import gdpo_advantages, group_advantages, maxrl_advantages
from mathlm.errors import InputError

NAN = math.nan


def test_success_by_hand():
    """Means 1/2, 1/4, 0 and 1."""
    rewards = torch.tensor([[1.0, 0, 0, 1], [1, 0, 0, 0], [0, 0, 0, 0], [1, 1, 1, 1]])
    expected = [[1, -1, -1, 1], [3, -1, -1, -1], [0, 0, 0, 0], [0, 0, 0, 0]]
    assert maxrl_advantages(rewards).tolist() == expected


@pytest.mark.parametrize("N", [2, 3, 4])
def test_the_expected_gradient_is_that_of_the_series_of_log_p(N):
    """By enumeration of all groups of N of 4 outcomes, of which the first two succeed.

    Its terms -(1 - p)^k/k, k = 1 ... N - 1, are summed as they stand, and differentiated.
    """
    z = torch.randn(4).requires_grad_()
    logp, r = z.log_softmax(0), torch.tensor([1.0, 1, 0, 0])
    p = (logp.exp() * r).sum()
    series = -sum((1 - p) ** k / k for k in range(1, N))
    exact = torch.autograd.grad(series, z, retain_graph=True)[0]
    groups = torch.tensor(list(itertools.product(range(4), repeat=N)))
    weight = logp[groups].sum(1).exp().detach()
    estimate = (maxrl_advantages(r[groups]) * logp[groups]).mean(1)
    found = torch.autograd.grad((weight * estimate).sum(), z)[0]
    assert_close(found, exact, rtol=0, atol=1e-12)


def test_a_reward_between_0_and_1_is_no_success():
    rewards = torch.tensor([[0.0, 1.0], [1.0, 0.5]])
    with pytest.raises(InputError, match=r"group 1, sample 1 is 0\.5: the likelihood"):
        maxrl_advantages(rewards)


def test_two_rewards_count_twice_where_one_sum_cannot_tell():
    """Totals 0, 1 and 0, 2 have the same group advantages ±1; the parts give ±1 and ±2.

    Their mean is 0 and their spread √(5/2), but for the ε = 1e-4 of both divisions.
    """
    first, second = torch.tensor([[[0.0, 1], [0, 1]], [[0, 0], [0, 1]]])
    assert_close(
        group_advantages(first + second), torch.tensor([[-1.0, 1], [-1, 1]]), rtol=0, atol=3e-4
    )
    found = gdpo_advantages(torch.stack([first, second]))
    expected = torch.tensor([[-1.0, 1], [-2, 2]]) / math.sqrt(2.5)
    assert_close(found, expected, rtol=0, atol=3e-4)


def test_a_reward_of_small_range_counts_as_much_as_a_large_one():
    """Format of 0 or 1 against a score in hundreds; a weight restores what is wanted."""
    form, score = torch.tensor([[[0.0, 1, 1, 0]], [[0.0, 100, 200, 300]]])
    both = gdpo_advantages(torch.stack([form, score]))
    assert_close(both, gdpo_advantages(torch.stack([form, score / 100])), rtol=0, atol=1e-3)
    alone = gdpo_advantages(torch.stack([form, score]), torch.tensor([0.0, 2.0]))
    assert_close(alone, gdpo_advantages(score[None]), rtol=0, atol=1e-3)


def test_a_large_eps_lets_a_small_spread_count_less():
    """ε = 1/2: spreads of 1/2 and 50 give advantages of 1/2 and 50/50.5, in all four pairs."""
    form, score = torch.tensor([[[0.0, 1, 0, 1]], [[0.0, 0, 100, 100]]])
    found = gdpo_advantages(torch.stack([form, score]), eps=0.5)
    a, b = 1 / 2, 50 / 50.5
    expected = torch.tensor([[-a - b, a - b, b - a, a + b]]) / (math.sqrt(a * a + b * b) + 1e-4)
    assert_close(found, expected, rtol=0, atol=1e-12)


def test_weights_take_the_precision_of_the_rewards():
    rewards = torch.zeros(2, 1, 3, dtype=torch.float32)
    assert gdpo_advantages(rewards, torch.ones(2)).dtype == torch.float32


def test_equal_rewards_give_exactly_zero():
    assert torch.equal(gdpo_advantages(torch.full((3, 2, 4), 0.1)), torch.zeros(2, 4))


@pytest.mark.parametrize(
    ("rewards", "weights", "message"),
    [
        (torch.zeros(2, 3), None, r"shape \(2, 3\) and weights None: expected"),
        (torch.zeros(2, 1, 3), torch.ones(3), r"\(2, 1, 3\) and weights \(3,\)"),
        (torch.zeros(2, 3, 1), None, "groups have 1 sample"),
        (torch.full((1, 1, 2), NAN), None, "reward of group 0, sample 0 is nan"),
    ],
)
def test_rewards_of_another_form_are_refused(rewards, weights, message, unchecked):
    with pytest.raises(InputError, match=message):
        gdpo_advantages(rewards, weights)
