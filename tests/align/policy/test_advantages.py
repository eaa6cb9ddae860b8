"""Advantages against the sum over all later steps, and groups by hand."""

import math

import pytest
import torch
from torch.testing import assert_close

from mathlm.align import (
    centred_advantages,
    gae,
    group_advantages,
    leave_one_out_advantages,
    returns,
    rewards_with_kl,
)
from mathlm.errors import InputError

NAN = float("nan")


def by_definition(rewards, values, gamma, lam, last_value):
    """A_t = Σ_k (γλ)^k δ_{t+k}, every sum on its own; one row of numbers."""
    T, V = len(rewards), [*values, last_value]
    delta = [rewards[t] + gamma * V[t + 1] - V[t] for t in range(T)]
    return [sum((gamma * lam) ** (k - t) * delta[k] for k in range(t, T)) for t in range(T)]


@pytest.mark.parametrize("gamma", [0.0, 0.9, 1.0])
@pytest.mark.parametrize("lam", [0.0, 0.95, 1.0])
@pytest.mark.parametrize("last_value", [0.0, 0.7])
def test_it_is_the_sum_over_all_later_steps(gamma, lam, last_value):
    rewards, values = torch.randn(2, 3, 8)
    found = gae(rewards, values, gamma, lam, last_value)
    rows = zip(rewards.tolist(), values.tolist(), strict=True)
    expected = [by_definition(r, v, gamma, lam, last_value) for r, v in rows]
    assert_close(found, torch.tensor(expected), rtol=0, atol=1e-12)


def test_a_mask_with_prompt_hole_and_padding_skips_what_it_leaves_out():
    """The same numbers as of the tokens that count, alone."""
    rewards, values = torch.randn(2, 2, 9)
    rows = [[2, 3, 4, 6], [0, 1, 2, 3, 4, 5, 6, 7, 8]]
    mask = torch.zeros(2, 9, dtype=torch.bool)
    for b, places in enumerate(rows):
        mask[b, places] = True
    found = gae(rewards, values, 0.9, 0.8, torch.tensor([0.3, -0.4]), mask)
    for b, (places, last) in enumerate(zip(rows, (0.3, -0.4), strict=True)):
        r, v = rewards[b, places].tolist(), values[b, places].tolist()
        expected = torch.tensor(by_definition(r, v, 0.9, 0.8, last))
        assert_close(found[b, places], expected, rtol=0, atol=1e-12)
    assert (found[~mask] == 0).all()


def test_a_text_that_was_cut_takes_the_value_of_where_it_broke_off():
    """r = 1 at the one token, V = 0.5, γ = 0.9: 1 - 0.5 if it ended, 0.9 · 2 more if cut."""
    one, value = torch.ones(2, 1), torch.full((2, 1), 0.5)
    found = gae(one, value, 0.9, 1.0, torch.tensor([0.0, 2.0]))
    assert_close(found, torch.tensor([[0.5], [2.3]]), rtol=0, atol=1e-15)


def test_rewards_and_values_at_padding_do_not_leak_into_the_advantages():
    """The worked example of trl's issue 7024: 2.5, where a leak gives 6.5."""
    rewards = torch.tensor([[1.5, 1.0, 2.0, 2.0]])
    mask = torch.tensor([[True, True, False, False]])
    expected = torch.tensor([[2.5, 1.0, 0.0, 0.0]])
    assert torch.equal(gae(rewards, torch.zeros(1, 4), 1, 1, mask=mask), expected)
    assert torch.equal(returns(rewards, mask=mask), expected)
    poisoned = rewards.masked_fill(~mask, 1e6)
    assert torch.equal(gae(poisoned, poisoned * ~mask, 1, 0, mask=mask)[0, 2:], torch.zeros(2))


@pytest.mark.parametrize("poison", [1e6, NAN, float("inf")])
def test_what_the_mask_leaves_out_changes_no_bit(poison):
    mask = torch.tensor([[False, True, True, False], [True, True, False, False]])
    rewards, values, logp = torch.randn(3, 2, 4)
    bad_rewards, bad_values, bad_logp = (
        x.masked_fill(~mask, poison) for x in (rewards, values, logp)
    )
    first = gae(rewards, values, 0.9, 0.9, mask=mask)
    assert torch.equal(gae(bad_rewards, bad_values, 0.9, 0.9, mask=mask), first)
    final = torch.ones(2)
    paid = rewards_with_kl(final, logp, torch.zeros(2, 4), mask, 0.5)
    assert torch.equal(rewards_with_kl(final, bad_logp, torch.zeros(2, 4), mask, 0.5), paid)


def test_without_places_there_are_no_advantages():
    assert gae(torch.zeros(2, 0), torch.zeros(2, 0), 1, 1).shape == (2, 0)


def test_the_last_value_takes_the_precision_of_the_others():
    numbers = torch.zeros(2, 3, dtype=torch.float32)
    assert gae(numbers, numbers, 1, 1, torch.ones(2)).dtype == torch.float32


def test_returns_by_hand():
    """1 + 2/2 + 4/4 + 8/8 and its ends: what follows is discounted once more each token."""
    found = returns(torch.tensor([[1.0, 2.0, 4.0]]), 0.5, 8.0)
    assert found.tolist() == [[4.0, 6.0, 8.0]]


def test_the_divergence_is_paid_with_each_token_and_the_reward_with_the_last():
    mask = torch.tensor([[False, True, True, False], [True, True, True, True]])
    logp, logp_ref = torch.randn(2, 2, 4)
    found = rewards_with_kl(torch.tensor([2.0, -3.0]), logp, logp_ref, mask, 0.5)
    expected = torch.where(mask, 0.5 * (logp_ref - logp), 0.0)
    expected[0, 2] += 2
    expected[1, 3] -= 3
    assert_close(found, expected, rtol=0, atol=1e-15)


def test_no_gradient_passes_through_a_reward():
    logp = torch.randn(1, 3).requires_grad_()
    mask = torch.ones(1, 3, dtype=torch.bool)
    for rewards in (torch.ones(1), torch.ones(1, requires_grad=True)):
        found = rewards_with_kl(rewards, logp, torch.zeros(1, 3), mask, 1)
        assert not found.requires_grad


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"gamma": 1.5}, "gamma=1.5 is outside 0..1"),
        ({"lam": -0.1}, "lam=-0.1 is outside 0..1"),
        ({"rewards": torch.tensor([[0.0, NAN]])}, "reward of row 0, position 1 is nan"),
        ({"values": torch.tensor([[math.inf, 0]])}, "value of row 0, position 0 is inf"),
        ({"last_value": torch.tensor([NAN])}, "last value of row 0 is nan"),
        ({"last_value": NAN}, "last_value=nan must be a finite number"),
        ({"last_value": -math.inf}, "last_value=-inf must be a finite number"),
        ({"values": torch.zeros(1, 1)}, r"rewards \(1, 2\), values \(1, 1\)"),
        ({"mask": torch.ones(1, 1) > 0}, r"rewards \(1, 2\), values \(1, 2\), mask \(1, 1\)"),
        ({"last_value": torch.zeros(2)}, r"last_value has shape \(2,\), expected \(1,\)"),
    ],
)
def test_bad_numbers_are_refused(change, message, unchecked):
    usual = {"rewards": torch.zeros(1, 2), "values": torch.zeros(1, 2), "gamma": 1, "lam": 1}
    with pytest.raises(InputError, match=message):
        gae(**(usual | change))


def test_rewards_that_cannot_be_placed_are_refused():
    zeros, mask = torch.zeros(2, 2), torch.tensor([[True, True], [False, False]])
    with pytest.raises(InputError, match="text 1 has no token to carry its reward"):
        rewards_with_kl(torch.zeros(2), zeros, zeros, mask, 1)
    with pytest.raises(InputError, match="reward of sample 1 is nan"):
        rewards_with_kl(torch.tensor([0, NAN]), zeros, zeros, mask, 1)
    with pytest.raises(InputError, match="beta=-1 must be at least 0 and finite"):
        rewards_with_kl(torch.zeros(2), zeros, zeros, mask, -1)


@pytest.mark.parametrize("odd", ["logp", "logp_ref", "mask"])
def test_what_tells_the_divergence_has_one_shape(odd, unchecked):
    shapes = {name: (2, 1) if name == odd else (2, 3) for name in ("logp", "logp_ref", "mask")}
    given = {name: torch.zeros(shape) for name, shape in shapes.items()}
    given["mask"] = given["mask"] == 0
    with pytest.raises(InputError) as error:
        rewards_with_kl(torch.zeros(2), **given, beta=1)
    for name, shape in shapes.items():
        assert f"{name} {shape}" in str(error.value)


GROUPS = {
    "group": group_advantages,
    "centred": centred_advantages,
    "leave one out": leave_one_out_advantages,
}
ways = pytest.mark.parametrize("way", GROUPS.values(), ids=GROUPS.keys())


def test_groups_by_hand():
    """Rewards 0, 3, 6: mean 3, spread √6; the others' means are 4.5, 3 and 1.5."""
    rewards = torch.tensor([[0.0, 3.0, 6.0]])
    assert centred_advantages(rewards).tolist() == [[-3, 0, 3]]
    assert leave_one_out_advantages(rewards).tolist() == [[-4.5, 0, 4.5]]
    spread = math.sqrt(6) + 1e-4
    expected = torch.tensor([[-3 / spread, 0, 3 / spread]])
    assert_close(group_advantages(rewards), expected, rtol=0, atol=1e-15)


def test_the_spread_of_a_sample_is_torchs_default():
    """Rewards 0, 3, 6: the spread of a sample is 3."""
    rewards = torch.tensor([[0.0, 3.0, 6.0]])
    expected = (rewards - 3) / (rewards.std(1, keepdim=True) + 1e-6)
    assert_close(
        group_advantages(rewards, correction=1, eps=1e-6), expected, rtol=1e-14, atol=0
    )
    assert_close(group_advantages(rewards, 1)[0, 2], torch.tensor(3 / (3 + 1e-4)))


def test_a_spread_that_is_none_is_an_error():
    rewards = torch.tensor([[0.0, 3.0]])
    with pytest.raises(InputError, match=r"correction=2 must be 0 \(1/N\) or 1"):
        group_advantages(rewards, correction=2)
    with pytest.raises(InputError, match=r"eps=0\.0 must be a positive"):
        group_advantages(rewards, eps=0.0)


@ways
def test_groups_do_not_see_each_other(way):
    rewards = torch.randn(4, 5)
    alone = torch.cat([way(row[None]) for row in rewards])
    assert torch.equal(way(rewards), alone)
    assert_close(way(rewards + torch.arange(4.0)[:, None]), alone, rtol=0, atol=1e-11)


@ways
@pytest.mark.parametrize("reward", [0.1, 1 / 3, -1e10, 1e-300])
@pytest.mark.parametrize("samples", [2, 3, 7])
def test_equal_rewards_give_exactly_zero(way, reward, samples):
    """Also where the mean of equal numbers is another number, in the last digit."""
    for dtype in (torch.float32, torch.float64):
        rewards = torch.full((2, samples), reward, dtype=dtype)
        assert torch.equal(way(rewards), torch.zeros(2, samples, dtype=dtype))


def test_noise_far_below_eps_is_not_blown_up():
    """Noise of 1e-9 gives 1e-5 at most; a spread of 1e-4 counts by half, one of 1 in full."""
    noise = 1 + 1e-9 * torch.tensor([[1.0, -1.0, 1.0, -1.0]])
    assert group_advantages(noise).abs().max() < 1.01e-5
    signs = torch.tensor([[1.0, -1.0]])
    assert_close(group_advantages(1e-4 * signs), signs / 2)
    assert_close(group_advantages(signs), signs / 1.0001)


@ways
def test_a_group_of_one_is_refused(way):
    with pytest.raises(InputError, match="groups have 1 sample: an advantage is relative to"):
        way(torch.ones(3, 1))


@ways
@pytest.mark.parametrize("bad", [NAN, math.inf, -math.inf])
def test_a_reward_that_is_no_number_is_named_and_poisons_nothing(way, bad):
    rewards = torch.zeros(2, 3)
    rewards[1, 2] = bad
    with pytest.raises(InputError, match=f"reward of group 1, sample 2 is {bad}; it must be"):
        way(rewards)


def test_the_leave_one_out_baseline_leaves_the_gradient_unbiased():
    """E[Σ A_i ∇log p(y_i)]/N = ∇E[r], by enumeration of all pairs of 4 outcomes."""
    z, r = torch.randn(2, 4)
    z.requires_grad_()
    logp = z.log_softmax(0)
    exact = torch.autograd.grad((logp.exp() * r).sum(), z, retain_graph=True)[0]
    pairs = torch.cartesian_prod(torch.arange(4), torch.arange(4))
    weight = logp[pairs].sum(1).exp().detach()
    for way, share in ((leave_one_out_advantages, 1.0), (centred_advantages, 0.5)):
        estimate = (way(r[pairs]) * logp[pairs]).mean(1)
        found = torch.autograd.grad((weight * estimate).sum(), z, retain_graph=True)[0]
        assert_close(found, share * exact, rtol=0, atol=1e-12)
