import math

import numpy as np
import pytest
import torch
from align.exact.toy_worlds import ended, moved, other, plain, standard
from scipy.optimize import minimize

from mathlm import reference
from mathlm.align.exact import divergence, expectation, tilted_optimum
from mathlm.errors import InputError

BETAS = pytest.mark.parametrize("beta", [0.05, 0.5, 3.0])


def test_two_completions_by_hand():
    logp = torch.tensor([[0.25, 0.75]]).log()
    best = tilted_optimum(logp, torch.tensor([[math.log(3.0), 0.0]]), 1)
    assert best.logp.exp().tolist() == [pytest.approx([0.5, 0.5])]  # 3/4 to 3/4, Z = 3/2
    assert best.value.item() == pytest.approx(math.log(1.5))


@BETAS
def test_the_value_is_beta_log_z(beta):
    world = standard()
    Z = (np.exp(world.logp_ref.numpy()) * np.exp(world.rewards.numpy() / beta)).sum(-1)
    assert np.allclose(world.optimum(beta).value, beta * np.log(Z), atol=1e-12, rtol=0)


@BETAS
@pytest.mark.parametrize("make", [plain, ended, standard])
def test_any_policy_falls_short_by_beta_times_its_divergence_from_the_optimum(make, beta):
    world = make()
    best = world.optimum(beta)
    for logp in (world.logp_ref, other(world), world.log_probabilities(moved(world)).detach()):
        short = best.value - world.objective(logp, beta)
        assert torch.allclose(short, beta * world.kl(logp, best.logp), atol=1e-10, rtol=0)


def test_no_policy_found_by_ascent_is_better():
    world, beta = plain(), 0.3
    logp_ref, r = world.logp_ref[0].numpy(), world.rewards[0].numpy()

    def loss(z):
        p = np.exp(z - np.logaddexp.reduce(z))
        return -(p @ r - beta * p @ (np.log(p) - logp_ref))

    found = minimize(loss, np.zeros(9), tol=1e-14)
    assert -found.fun == pytest.approx(world.optimum(beta).value[0].item(), abs=1e-8)


def test_without_a_price_only_the_best_are_left_as_the_reference_weighs_them():
    logp = torch.tensor([[0.2, 0.3, 0.5]]).log()
    best = tilted_optimum(logp, torch.tensor([[1.0, 1.0, 0.0]]), 0)
    assert torch.allclose(best.logp.exp(), torch.tensor([[0.4, 0.6, 0.0]]))
    assert best.value.item() == best.reward.item() == pytest.approx(1.0)
    assert best.kl.item() == pytest.approx(math.log(2))  # half of the reference's mass


def test_an_infinite_price_leaves_the_reference():
    world = plain()
    best = world.optimum(math.inf)
    assert torch.allclose(best.logp, world.logp_ref, atol=1e-12)
    assert torch.allclose(best.value, world.expectation(world.logp_ref, world.rewards))


@pytest.mark.parametrize(("near", "limit"), [(1e-8, 0), (1e9, math.inf)])
def test_the_limits_are_approached(near, limit):
    world = plain()
    close, at = world.optimum(near), world.optimum(limit)
    assert torch.allclose(close.reward, at.reward, atol=1e-6)
    assert torch.allclose(close.kl, at.kl, atol=1e-6)


@pytest.mark.parametrize("beta", [1e4, 1e6, 1e8])
def test_at_a_large_price_the_value_is_near_what_the_reference_earns(beta):
    """β log Z = E[r] + Var(r) / 2β + …, by its cumulants; β times a rounding error is not."""
    world = plain()
    logp, r = world.logp_ref, world.rewards
    mean = expectation(logp, r)
    expected = mean + expectation(logp, (r - mean[:, None]).square()) / (2 * beta)
    assert torch.allclose(tilted_optimum(logp, r, beta).value, expected, atol=1e-9, rtol=0)
    single = tilted_optimum(logp.float(), r.float(), beta).value
    assert torch.allclose(single.double(), expected, atol=1e-6, rtol=0)


def test_the_value_has_no_step_where_its_formula_changes():
    world, edge = plain(), 1000 * float(np.ptp(plain().rewards.numpy()))
    below, above = (world.optimum(edge * x).value for x in (1 - 1e-9, 1 + 1e-9))
    assert torch.allclose(below, above, atol=1e-11, rtol=0)


def test_what_the_reference_never_says_counts_at_no_price():
    logp, r = torch.tensor([[0.25, 0.75, 0.0]]).log(), torch.tensor([[1.0, 3.0, 1e30]])
    assert tilted_optimum(logp, r, 1e8).value.item() == pytest.approx(2.5, abs=1e-6)


def test_what_the_reference_never_says_the_optimum_never_says():
    logp = torch.tensor([[0.5, 0.5, 0.0]]).log()
    rewards = torch.tensor([[0.0, 1.0, 100.0]])
    for beta in (0, 0.1, 1.0, math.inf):
        best = tilted_optimum(logp, rewards, beta)
        assert best.logp[0, 2] == -math.inf
        assert best.reward.isfinite().all()
        assert best.kl.isfinite().all()


def test_a_policy_off_the_reference_is_infinitely_far():
    logp = torch.tensor([[0.5, 0.0]]).log()
    assert divergence(torch.tensor([[0.5, 0.5]]).log(), logp).item() == math.inf


def test_a_policy_is_infinitely_far_however_seldom_it_leaves_the_reference():
    """exp(-120) is 0 in 32 bits."""
    logp = torch.tensor([[0.0, -120.0], [0.5, 0.5]], dtype=torch.float32)
    logp[1].log_()
    other = torch.tensor([[0.0, -math.inf], [0.5, 0.5]], dtype=torch.float32)
    other[1].log_()
    assert divergence(logp, other).tolist() == [math.inf, 0.0]
    assert divergence(other, logp).tolist() == [0.0, 0.0]


def test_divergence_and_mean_are_those_of_the_witness():
    world = standard()
    p, q = other(world, 1), other(world, 2)
    witness = reference.kl_divergence(p.exp().numpy(), q.exp().numpy())
    assert np.allclose(world.kl(p, q), witness, atol=1e-12, rtol=0)
    mean = (p.exp() * world.rewards).sum(-1)
    assert torch.allclose(expectation(p, world.rewards), mean, atol=1e-12)


@pytest.mark.parametrize("beta", [-1, math.nan])
def test_a_price_below_0_is_refused(beta):
    with pytest.raises(InputError, match="beta"):
        plain().optimum(beta)


def test_an_infinite_reward_is_refused():
    world = plain()
    with pytest.raises(InputError, match="finite"):
        tilted_optimum(world.logp_ref, world.rewards.log(), 1)
