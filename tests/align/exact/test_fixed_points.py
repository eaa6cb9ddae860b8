"""Fixed points against the gradient of the losses themselves, and against hand calculation."""

import math

import pytest
import torch

from mathlm.align import kl_k2, kl_k3
from mathlm.align.exact import fixed_points, standard_world
from mathlm.align.exact.fixed_points import (
    at_own_spread,
    forward_tilt,
    reverse_tilt,
    token_tilted,
)
from mathlm.errors import InputError


def world():
    return standard_world(vocabulary=4, length=3, prompts=2)


def expected_gradient(world, logp, beta, estimate, spread):
    """∇ of the expected loss in the logits of every prefix, by autograd; texts are fixed."""
    tree = world.prefixes
    total = tree.log_sums(logp)
    table = (tree.after(total, logp) - total[..., None]).requires_grad_(True)
    tokens = tree.along(table.log_softmax(-1))
    log_sums = tree.log_sums(world.logp_ref)
    ref = tree.along(tree.after(log_sums, world.logp_ref) - log_sums[..., None])
    A = world.rewards - world.expectation(logp, world.rewards)[:, None]
    if spread:
        A = A / world.expectation(logp, A.square()).sqrt()[:, None]
    loss = (beta * estimate(tokens, ref) - A[..., None] * tokens).sum(-1)
    (gradient,) = torch.autograd.grad((logp.exp() * loss).sum(), table)
    return gradient.abs().max()


def test_tilts_of_two_choices_by_hand():
    """π_ref = (½, ½), q = (0, 1), β = 1: e/(1 + e), and λ of λ² - 2λ + ½ = 0."""
    logp_ref, q = torch.tensor([0.5, 0.5]).log(), torch.tensor([0.0, 1.0])
    assert forward_tilt(logp_ref, q, 1)[1].exp() == pytest.approx(math.e / (1 + math.e))
    lam = 1 + math.sqrt(0.5)
    expected = torch.tensor([0.5 / lam, 0.5 / (lam - 1)])
    torch.testing.assert_close(reverse_tilt(logp_ref, q, 1).exp(), expected)


@pytest.mark.parametrize("rare", [-5.0, -20.0, -30.0])
def test_the_best_choice_may_be_one_that_the_reference_seldom_makes(rare):
    """a = π_ref, q = 0 and 1, β = 1: (1 - a)/ν + a/(ν - 1) = 1, so (ν - 1)² = a."""
    logp_ref = torch.tensor([math.log1p(-math.exp(rare)), rare])
    second = reverse_tilt(logp_ref, torch.tensor([0.0, 1.0]), 1)[1]
    assert second.item() == pytest.approx(rare / 2, abs=1e-8)


@pytest.mark.parametrize(("dtype", "rare"), [(torch.float32, -40.0), (torch.float64, -200.0)])
def test_a_best_choice_that_the_reference_hardly_makes_is_refused(dtype, rare):
    logp_ref, q = torch.tensor([[0.0, rare], [0.0, 1.0]], dtype=dtype)
    with pytest.raises(
        InputError, match=rf"too seldom for {dtype}, .* log π_ref .* {rare:.4g}"
    ):
        reverse_tilt(logp_ref, q, 1)


@pytest.mark.parametrize("beta", [1e-3, 0.5, 100.0])
def test_a_reverse_tilt_sums_to_one(beta):
    w = world()
    found = reverse_tilt(w.logp_ref, w.rewards, beta).logsumexp(-1)
    torch.testing.assert_close(found, torch.zeros(2), rtol=0, atol=1e-9)


@pytest.mark.parametrize(
    ("tilt", "estimate"), [(forward_tilt, kl_k2), (reverse_tilt, kl_k3)], ids=["k2", "k3"]
)
def test_the_loss_with_this_estimate_has_no_gradient_there(tilt, estimate):
    w = world()
    found = token_tilted(w, w.rewards, 0.5, tilt)
    assert expected_gradient(w, found, 0.5, estimate, spread=False) < 1e-10
    assert expected_gradient(w, w.logp_ref, 0.5, estimate, spread=False) > 1e-2


def test_the_published_group_loss_has_no_gradient_there():
    w = world()
    found = at_own_spread(
        lambda r: token_tilted(w, r, 0.5, reverse_tilt), w.rewards, w.logp_ref
    )
    assert expected_gradient(w, found, 0.5, kl_k3, spread=True) < 1e-9


def test_fixed_points_stand_in_a_world_with_an_end():
    w = standard_world(vocabulary=3, length=3, prompts=2, end=0)
    found = token_tilted(w, w.rewards, 0.5, reverse_tilt)
    assert expected_gradient(w, found, 0.5, kl_k3, spread=False) < 1e-10


def test_a_price_that_is_high_leaves_the_reference():
    w = world()
    for tilt in (forward_tilt, reverse_tilt):
        assert w.kl(token_tilted(w, w.rewards, 1e4, tilt)).max() < 1e-7


def test_a_spread_that_vanishes_is_an_error():
    w = world()
    with pytest.raises(InputError, match="the spread of prompt 0 vanishes"):
        at_own_spread(lambda r: w.logp_ref, torch.ones(2, 64), w.logp_ref)


def test_a_search_that_does_not_settle_is_an_error(monkeypatch):
    monkeypatch.setattr(fixed_points, "ROUNDS", 1)
    w = world()
    with pytest.raises(InputError, match="not settled after 1 rounds"):
        at_own_spread(lambda r: forward_tilt(w.logp_ref, r, 5), w.rewards, w.logp_ref)


def test_prices_of_nothing_are_refused():
    for tilt in (forward_tilt, reverse_tilt):
        with pytest.raises(InputError, match="beta=0 must be a positive, finite number"):
            tilt(torch.zeros(2), torch.zeros(2), 0)
