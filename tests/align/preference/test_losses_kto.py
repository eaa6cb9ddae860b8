"""Unpaired answers: the reference point, its sign, and what has a gradient."""

import math

import pytest
import torch

from mathlm.align import kto_loss, mismatched_kl
from mathlm.errors import InputError, InputTypeError

GOOD = torch.tensor([True, False])


def test_at_the_reference_point_each_loss_is_half_its_weight():
    reward = torch.full((2,), 0.1 * 3)
    assert kto_loss(reward, GOOD, 3.0, 0.1, 2, 5).tolist() == pytest.approx([1, 2.5])


def test_without_weights_a_gain_counts_as_much_as_a_loss():
    assert kto_loss(torch.zeros(2), GOOD, 0.0, 0.1).tolist() == [0.5, 0.5]  # 1 - σ(0)


def test_the_estimate_takes_the_precision_and_the_place_of_the_rewards():
    single = torch.tensor(0.3, dtype=torch.float32)
    assert kto_loss(single, torch.tensor(True), 0.0, 0.1).dtype == torch.float32
    with torch.device("meta"):  # where numbers go that are not told a place
        found = kto_loss(single, GOOD[0], 0.0, 0.1)
    assert found.item() == pytest.approx(1 / (1 + math.exp(0.3)), rel=1e-6)


def test_a_good_answer_is_pulled_up_and_a_bad_one_down():
    """By hand: dℓ/dr = ∓λ σ(x) σ(-x), steepest at the reference point."""
    reward = torch.tensor([0.7, 0.7], requires_grad=True)
    kto_loss(reward, GOOD, 2.0, 0.1, 1, 3).sum().backward()
    x = 0.7 - 0.2
    slope = math.exp(-x) / (1 + math.exp(-x)) ** 2
    assert reward.grad.tolist() == pytest.approx([-slope, 3 * slope], rel=1e-12)


def test_no_gradient_passes_through_the_reference_point():
    kl = torch.tensor(1.0, requires_grad=True)
    loss = kto_loss(torch.zeros(2, requires_grad=True), GOOD, kl, 0.1).sum()
    loss.backward()
    assert kl.grad is None


def test_an_estimate_below_zero_counts_as_zero():
    reward = torch.tensor([0.3, -0.3])
    assert torch.equal(kto_loss(reward, GOOD, -5.0, 0.1), kto_loss(reward, GOOD, 0.0, 0.1))


def test_the_estimate_is_a_mean_clamped_at_zero_without_gradient():
    logp = torch.tensor([-1.0, -2.0], requires_grad=True)
    found = mismatched_kl(logp, torch.tensor([-2.0, -4.0]))
    assert found.item() == 1.5
    assert not found.requires_grad
    assert mismatched_kl(torch.tensor([-4.0]), torch.tensor([-1.0])).item() == 0


def test_there_is_no_estimate_from_nothing():
    with pytest.raises(InputError, match="there are no texts"):
        mismatched_kl(torch.zeros(0), torch.zeros(0))


@pytest.mark.parametrize("name", ["desirable", "undesirable"])
def test_weights_are_not_negative(name):
    with pytest.raises(InputError, match=f"{name}_weight=-1 must be at least 0"):
        kto_loss(torch.zeros(2), GOOD, 0.0, 0.1, **{f"{name}_weight": -1})


@pytest.mark.usefixtures("unchecked")
def test_shapes_that_differ_are_named():
    with pytest.raises(InputError, match=r"reward \(3,\), desirable \(2,\)"):
        kto_loss(torch.zeros(3), GOOD, 0.0, 0.1)
    with pytest.raises(InputError, match=r"kl has shape \(2,\), expected \(\)"):
        kto_loss(torch.zeros(2), GOOD, torch.zeros(2), 0.1)
    with pytest.raises(InputError, match=r"logp \(3,\), logp_ref \(1,\)"):
        mismatched_kl(torch.zeros(3), torch.zeros(1))


@pytest.mark.usefixtures("unchecked")
def test_labels_are_true_or_false():
    with pytest.raises(InputTypeError, match="desirable must be bool, got int64"):
        kto_loss(torch.zeros(2), torch.tensor([1, 0]), 0.0, 0.1)


@pytest.mark.parametrize("kl", [math.nan, math.inf])
def test_an_estimate_that_is_no_number_is_refused(kl):
    with pytest.raises(InputError, match=f"kl={kl} must be finite"):
        kto_loss(torch.zeros(2), GOOD, kl, 0.1)
