"""Estimates of KL by exact expectation over 50 outcomes: as values, and as losses."""

import pytest
import torch
from torch.testing import assert_close

from mathlm.align import kl_k1, kl_k2, kl_k3
from mathlm.errors import InputError, InputTypeError

V = 50


@pytest.fixture
def pair():
    """Logits of a policy, and the log-probabilities of a reference, over 50 outcomes."""
    z, z_ref = torch.randn(2, V) * 1.5
    return z.requires_grad_(), z_ref.log_softmax(0)


def kl(logp, logq):
    return (logp.exp() * (logp - logq)).sum()


def expectation(estimate, z, logp_ref):
    """Σ_y π(y) k(y)."""
    logp = z.log_softmax(0)
    return (logp.exp() * estimate(logp, logp_ref)).sum()


def expected_gradient(estimate, z, logp_ref):
    """Σ_y π(y) ∇k(y): what autograd gives for a drawn y, averaged over the draws."""
    logp = z.log_softmax(0)
    loss = (logp.exp().detach() * estimate(logp, logp_ref)).sum()
    return torch.autograd.grad(loss, z)[0]


@pytest.mark.parametrize("estimate", [kl_k1, kl_k3])
def test_k1_and_k3_are_unbiased_as_values(estimate, pair):
    z, logp_ref = pair
    exact = kl(z.log_softmax(0), logp_ref)
    assert_close(expectation(estimate, z, logp_ref), exact, rtol=0, atol=1e-12)


def test_k2_is_biased_as_a_value(pair):
    z, logp_ref = pair
    exact = kl(z.log_softmax(0), logp_ref)
    assert abs(expectation(kl_k2, z, logp_ref) - exact) > 0.1 * exact


def test_k1_as_a_loss_has_no_gradient_on_average(pair):
    found = expected_gradient(kl_k1, *pair)
    assert_close(found, torch.zeros(V), rtol=0, atol=1e-12)


def test_k2_as_a_loss_has_the_gradient_of_the_divergence(pair):
    z, logp_ref = pair
    exact = torch.autograd.grad(kl(z.log_softmax(0), logp_ref), z)[0]
    assert_close(expected_gradient(kl_k2, z, logp_ref), exact, rtol=0, atol=1e-12)


def test_k3_as_a_loss_has_the_gradient_of_the_other_divergence(pair):
    z, logp_ref = pair
    other = torch.autograd.grad(kl(logp_ref, z.log_softmax(0)), z)[0]
    found = expected_gradient(kl_k3, z, logp_ref)
    assert_close(found, other, rtol=0, atol=1e-12)
    right = torch.autograd.grad(kl(z.log_softmax(0), logp_ref), z)[0]
    assert (found - right).norm() > 0.1 * right.norm()


def gradient_in_the_reward(estimate, z, logp_ref):
    """Σ_y π(y) k(y) ∇log π(y): what a policy gradient makes of k as a number."""
    logp = z.log_softmax(0)
    weight = (logp.exp() * estimate(logp, logp_ref)).detach()
    return torch.autograd.grad((weight * logp).sum(), z)[0]


def test_k1_in_the_reward_has_the_gradient_of_the_divergence(pair):
    z, logp_ref = pair
    exact = torch.autograd.grad(kl(z.log_softmax(0), logp_ref), z)[0]
    assert_close(gradient_in_the_reward(kl_k1, z, logp_ref), exact, rtol=0, atol=1e-12)


def test_k3_in_the_reward_lacks_the_gradient_of_the_other_divergence(pair):
    z, logp_ref = pair
    logp = z.log_softmax(0)
    exact = torch.autograd.grad(kl(logp, logp_ref) - kl(logp_ref, logp), z)[0]
    assert_close(gradient_in_the_reward(kl_k3, z, logp_ref), exact, rtol=0, atol=1e-12)


@pytest.mark.parametrize(
    ("estimate", "expected"),
    [(kl_k1, 0.6931471805599453), (kl_k2, 0.2402265069591007), (kl_k3, 0.1931471805599453)],
)
def test_one_half_against_one_quarter_by_hand(estimate, expected):
    """k₁ = ln 2, k₂ = (ln 2)²/2, k₃ = 1/2 - 1 + ln 2."""
    half, quarter = torch.tensor([0.5, 0.25]).log()
    assert_close(estimate(half, quarter), torch.tensor(expected), rtol=0, atol=1e-15)


def test_k3_keeps_its_digits_next_to_zero_and_is_never_negative():
    """At log r = x it is x²/2 + x³/6, of which exp(x) - 1 - x would lose all but one digit."""
    x = torch.tensor([1e-7, -1e-7])
    assert_close(kl_k3(torch.zeros(2), x), x.square() / 2 + x**3 / 6, rtol=1e-7, atol=0)
    small = torch.cat([10.0 ** torch.linspace(-30, 0, 1000), torch.zeros(1)])
    assert (kl_k3(torch.zeros(2002), torch.cat([small, -small])) >= 0).all()


@pytest.mark.parametrize("estimate", [kl_k1, kl_k2, kl_k3])
@pytest.mark.parametrize("poison", [1e6, -1e6, float("nan"), float("inf")])
def test_what_the_mask_leaves_out_changes_no_bit(estimate, poison):
    mask = torch.tensor([[True, True, False], [True, False, False]])

    def run(left_out):
        logp = torch.randn(2, 3, generator=torch.Generator().manual_seed(0))
        logp[~mask] = left_out
        logp.requires_grad_()
        value = estimate(logp, torch.zeros(2, 3), mask)
        value.sum().backward()
        return value.detach(), logp.grad

    for clean, poisoned in zip(run(0.0), run(poison), strict=True):
        assert torch.equal(clean, poisoned)
        assert (poisoned[~mask] == 0).all()


def test_other_shapes_and_other_masks_are_refused(unchecked):
    with pytest.raises(
        InputError, match=r"logp \(2, 3\), logp_ref \(2,\); they must be the sa"
    ):
        kl_k1(torch.zeros(2, 3), torch.zeros(2))
    with pytest.raises(InputTypeError, match="mask must be bool, got float64; True = counts"):
        kl_k3(torch.zeros(2), torch.zeros(2), torch.ones(2))
