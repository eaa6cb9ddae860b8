"""mathlm.align says what the witness says, which shares no line with it."""

import numpy as np
import pytest
import torch
from witnesses import alignment as witness

from mathlm import align


def close(found, expected):
    np.testing.assert_allclose(np.asarray(found), expected, rtol=1e-12, atol=1e-14)


def test_advantages_are_the_double_sum(rng):
    r, V = rng.normal(size=(2, 7))
    found = align.gae(torch.tensor(r[None]), torch.tensor(V[None]), 0.9, 0.8, 0.4)
    close(found[0], witness.generalized_advantages(r, V, 0.9, 0.8, 0.4))


def test_advantages_in_groups_are_those_of_the_definitions(rng):
    r = rng.normal(size=(4, 5))
    close(align.group_advantages(torch.tensor(r)), witness.group_scores(r, 1e-4))
    close(align.leave_one_out_advantages(torch.tensor(r)), witness.leave_one_out_scores(r))


def test_the_clipped_objective_and_its_gradient_are_those_by_hand(rng):
    old, A, dy = rng.normal(size=(3, 60))
    new = old + rng.uniform(-0.6, 0.6, 60)
    loss, cache = witness.clipped_objective(new, old, A, 0.2)
    logp = torch.tensor(new, requires_grad=True)
    ours = align.ppo_loss(logp, torch.tensor(old), torch.tensor(A), 0.2)
    (ours * torch.tensor(dy)).sum().backward()
    close(ours.detach(), loss)
    close(logp.grad, witness.clipped_objective_backward(dy, cache))


def test_the_loss_of_bradley_and_terry_and_its_gradients_are_those_by_hand(rng):
    rewards, dy = rng.normal(size=(2, 9)), rng.normal(size=9)
    loss, cache = witness.bradley_terry(*rewards)
    r = torch.tensor(rewards, requires_grad=True)
    ours = align.bradley_terry_loss(*r)
    (ours * torch.tensor(dy)).sum().backward()
    close(ours.detach(), loss)
    close(r.grad, np.stack(witness.bradley_terry_backward(dy, cache)))


@pytest.mark.parametrize("kind", ["k1", "k2", "k3"])
def test_estimates_of_a_divergence_are_those_of_the_definitions(rng, kind):
    p, q = rng.dirichlet(np.ones(6), size=2)
    found = getattr(align, f"kl_{kind}")(torch.tensor(p).log(), torch.tensor(q).log())
    close(found, witness.divergence_estimate(kind, p, q))


@pytest.mark.parametrize("n", [1, 2, 9])
def test_the_best_of_n_is_that_of_the_definition(rng, n):
    p, r = rng.dirichlet(np.ones(5)), np.array([0.3, -1.0, 0.3, 2.0, -1.0])
    found = align.best_of_n_log_probabilities(torch.tensor(p).log(), torch.tensor(r), n)
    close(found.exp(), witness.best_of_n(p, r, n))
    assert align.best_of_n_kl_bound(n) == pytest.approx(witness.best_of_n_divergence_bound(n))


def test_the_optimum_and_its_value_are_those_of_the_definitions(rng):
    p_ref, r = rng.dirichlet(np.ones(6)), rng.normal(size=6)
    best = align.exact.tilted_optimum(
        torch.tensor(p_ref[None]).log(), torch.tensor(r[None]), 0.7
    )
    close(best.logp[0].exp(), witness.tilted_distribution(p_ref, r, 0.7))
    close(best.value[0], witness.tilted_value(p_ref, r, 0.7))
