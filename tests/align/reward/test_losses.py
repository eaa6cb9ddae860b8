"""What comparisons cost: known values, large differences, ties, and where zero lies."""

import math
import re

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from mathlm.align import (
    bradley_terry_loss,
    centring_penalty,
    davidson_log_probabilities,
    rao_kupper_log_probabilities,
)
from mathlm.errors import InputError

REWARDS = st.floats(-20, 20)


def at(x):
    return torch.tensor(x, requires_grad=True)


def test_odds_of_nine_to_one_cost_log_ten_ninths():
    """The odds are exp(r - r') = 9, so the probability of the choice is 0.9."""
    loss = bradley_terry_loss(at([math.log(9.0), 0.0]), at([0.0, math.log(9.0)]))
    expected = torch.tensor([-math.log(0.9), -math.log(0.1)])
    torch.testing.assert_close(loss, expected, rtol=1e-14, atol=0)


def test_the_gradient_is_the_missing_probability():
    chosen, rejected = at([1.0, -2.0, 0.3]), at([0.5, 2.0, 0.3])
    bradley_terry_loss(chosen, rejected, margin=0.25).sum().backward()
    missing = 1 - 1 / (1 + torch.exp(-(chosen - rejected - 0.25).detach()))
    torch.testing.assert_close(chosen.grad, -missing, rtol=1e-12, atol=0)
    torch.testing.assert_close(rejected.grad, missing, rtol=1e-12, atol=0)


def test_huge_differences_have_finite_losses_and_gradients():
    chosen = at([1e4, -1e4])
    loss = bradley_terry_loss(chosen, torch.zeros(2))
    loss.sum().backward()
    assert loss.tolist() == [0.0, 1e4]
    assert chosen.grad.tolist() == [0.0, -1.0]


def test_a_surprise_of_less_than_rounding_is_still_counted():
    """Log(1 + exp(-40)) = 4.2e-18 is lost where a sigmoid is taken first."""
    loss = bradley_terry_loss(torch.tensor([40.0]), torch.tensor([0.0]))
    assert loss.item() == pytest.approx(math.exp(-40.0), rel=1e-12)


def test_half_precision_is_read_in_single():
    loss = bradley_terry_loss(torch.tensor([9.0]).bfloat16(), torch.tensor([-9.0]).bfloat16())
    assert loss.dtype == torch.float32
    assert loss.item() == pytest.approx(math.log1p(math.exp(-18.0)), rel=1e-5)


@settings(deadline=None, max_examples=50)
@given(REWARDS, REWARDS, st.floats(-5, 5))
def test_a_margin_is_a_handicap_of_the_chosen_and_a_constant_is_nothing(a, b, margin):
    a, b = torch.tensor(a), torch.tensor(b)
    with_margin = bradley_terry_loss(a, b, margin)
    torch.testing.assert_close(with_margin, bradley_terry_loss(a - margin, b))
    torch.testing.assert_close(with_margin, bradley_terry_loss(a + 7, b + 7, margin))


def test_each_pair_may_have_its_own_margin():
    a, b = torch.tensor([1.0, 1.0]), torch.tensor([0.0, 0.0])
    loss = bradley_terry_loss(a, b, margin=torch.tensor([0.0, 1.0]))
    assert loss.tolist() == pytest.approx([math.log1p(math.exp(-1.0)), math.log(2)])


@settings(deadline=None, max_examples=50)
@given(REWARDS, REWARDS, st.floats(0.01, 10))
def test_win_tie_and_loss_are_all_that_can_happen(a, b, tie):
    for model in (davidson_log_probabilities, rao_kupper_log_probabilities):
        logp = model(torch.tensor(a), torch.tensor(b), tie)
        assert logp.logsumexp(-1).item() == pytest.approx(0.0, abs=1e-12)
        turned = model(torch.tensor(b), torch.tensor(a), tie)
        torch.testing.assert_close(turned, logp.flip(-1), rtol=1e-12, atol=1e-12)


def test_davidson_as_published():
    """His (2): π_i, π_j and ν √(π_i π_j), here 4, 1 and 3 · 2, over their sum of 11."""
    logp = davidson_log_probabilities(at(math.log(4.0)), at(0.0), math.log(3.0))
    assert logp.exp().tolist() == pytest.approx([4 / 11, 6 / 11, 1 / 11], rel=1e-14)


def test_rao_and_kupper_as_published():
    """π_i/(π_i + θ π_j) with π = (4, 1), θ = 2: 4/6 and 1/9; a tie has (θ² - 1) 4/54."""
    logp = rao_kupper_log_probabilities(at(math.log(4.0)), at(0.0), math.log(2.0))
    assert logp.exp().tolist() == pytest.approx([4 / 6, 12 / 54, 1 / 9], rel=1e-14)


def test_ties_of_equals_unless_told():
    """ν = 1 makes the three alike; η = 1 leaves σ(-1) for each victory."""
    logp = davidson_log_probabilities(at(0.0), at(0.0))
    assert logp.exp().tolist() == pytest.approx([1 / 3] * 3, rel=1e-14)
    win = rao_kupper_log_probabilities(at(0.0), at(0.0))[0].exp().item()
    assert win == pytest.approx(1 / (1 + math.e), rel=1e-14)


def test_without_ties_both_are_bradley_and_terry():
    a, b = torch.tensor([0.7, -3.0]), torch.tensor([0.1, 2.0])
    expected = -bradley_terry_loss(a, b)
    rare = rao_kupper_log_probabilities(a, b, 1e-12)[:, 0]
    torch.testing.assert_close(rare, expected, rtol=1e-10, atol=0)
    never = davidson_log_probabilities(a, b, -60.0)[:, 0]
    torch.testing.assert_close(never, expected, rtol=1e-10, atol=0)


@pytest.mark.parametrize("model", [davidson_log_probabilities, rao_kupper_log_probabilities])
def test_large_differences_of_the_tie_models_stay_finite(model):
    reward, tie = at([900.0, -900.0, 0.0]), at(1.5)
    logp = model(reward, torch.zeros(3), tie)
    logp.sum().backward()
    assert logp.isfinite().all()
    assert reward.grad.isfinite().all()
    assert tie.grad.isfinite()


@pytest.mark.parametrize("model", [davidson_log_probabilities, rao_kupper_log_probabilities])
def test_the_tie_parameter_is_learned_by_its_true_gradient(model):
    reward, tie = at([0.4, -1.0]), at(0.8)
    assert torch.autograd.gradcheck(lambda r, t: model(r, torch.zeros(2), t), (reward, tie))


def test_a_margin_goes_where_the_rewards_are():
    """log(1 + exp(1 + 1)), with another device as the one where tensors are made."""
    a, b = torch.tensor([0.0]), torch.tensor([1.0])
    with torch.device("meta"):
        loss = bradley_terry_loss(a, b, margin=1.0)
    assert loss.tolist() == pytest.approx([math.log1p(math.exp(2.0))], rel=1e-14)


def test_numbers_beside_the_rewards_take_their_precision():
    zero = torch.zeros(2, dtype=torch.float32)
    tie = torch.ones(2, dtype=torch.float64)
    assert davidson_log_probabilities(zero, zero, tie).dtype == torch.float32


def test_a_threshold_of_zero_is_refused():
    with pytest.raises(InputError, match="threshold=0 must be above 0"):
        rao_kupper_log_probabilities(torch.zeros(2), torch.zeros(2), 0.0)


def test_the_penalty_is_least_when_the_rewards_of_a_pair_lie_around_zero():
    chosen, rejected = at([2.0, 3.0]), at([-2.0, 1.0])
    penalty = centring_penalty(chosen, rejected)
    penalty.sum().backward()
    assert penalty.tolist() == [0.0, 16.0]
    assert chosen.grad.tolist() == rejected.grad.tolist() == [0.0, 8.0]


def test_losses_keep_the_shape_of_the_rewards():
    a, b = torch.zeros(2, 3, 4), torch.ones(2, 3, 4)
    assert bradley_terry_loss(a, b).shape == centring_penalty(a, b).shape == (2, 3, 4)
    assert davidson_log_probabilities(a, b).shape == (2, 3, 4, 3)


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize(
    "loss",
    [
        bradley_terry_loss,
        centring_penalty,
        davidson_log_probabilities,
        rao_kupper_log_probabilities,
    ],
)
@pytest.mark.parametrize("other", [(2,), (3, 1)], ids=str)
def test_shapes_that_differ_are_named(loss, other):
    shapes = rf"reward_\w+ \(3,\), reward_\w+ {re.escape(str(other))}"
    with pytest.raises(InputError, match=f"the shapes differ: {shapes}"):
        loss(torch.zeros(3), torch.zeros(other))


@pytest.mark.parametrize(
    ("loss", "name"),
    [
        (bradley_terry_loss, "margin"),
        (davidson_log_probabilities, "log_tie"),
        (rao_kupper_log_probabilities, "threshold"),
    ],
    ids=["margin", "log_tie", "threshold"],
)
def test_one_number_or_one_for_each_pair(loss, name):
    with pytest.raises(InputError, match=rf"{name} has shape \(2,\), expected \(3,\)"):
        loss(torch.zeros(3), torch.zeros(3), torch.ones(2))
