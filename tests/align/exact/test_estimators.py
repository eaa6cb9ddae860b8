"""Estimators of alignment, judged by their mean over every group of samples."""

import pytest
import torch
from align.exact.toy_worlds import other, plain

from mathlm.align import (
    centred_advantages,
    group_advantages,
    kl_k1,
    kl_k2,
    kl_k3,
    leave_one_out_advantages,
)
from mathlm.align.exact import Moments, divergence, estimator_moments, score_matrix
from mathlm.errors import InputError

V = 50


def categorical(seed):
    draws = torch.Generator().manual_seed(seed)
    return torch.randn(V, generator=draws).log_softmax(-1)


def mean_of(estimate, logp, logp_ref):
    """Exact mean of an estimate of the divergence from one sample."""
    return estimator_moments(logp, lambda y: estimate(logp[y[:, 0]], logp_ref[y[:, 0]])).mean


def true_kl(p, q):
    return divergence(p[None], q[None])[0]


@pytest.mark.parametrize("estimate", [kl_k1, kl_k3])
def test_k1_and_k3_are_unbiased(estimate):
    p, q = categorical(1), categorical(2)
    assert abs(mean_of(estimate, p, q) - true_kl(p, q)) < 1e-12


def test_k2_is_biased():
    p, q = categorical(1), categorical(2)
    assert abs(mean_of(kl_k2, p, q) - true_kl(p, q)) > 0.01


def gradient_of_loss(estimate, z, logp_ref):
    """Exact mean of the gradient that an estimate in the loss gives, in logits z."""
    logp = z.log_softmax(-1)
    each = estimate(logp, logp_ref)
    return torch.autograd.grad((logp.exp().detach() * each).sum(), z)[0]


def gradient_of(divergence_of, z):
    return torch.autograd.grad(divergence_of(z.log_softmax(-1)), z)[0]


def test_in_the_loss_k1_has_no_gradient_k2_that_of_kl_and_k3_that_of_the_other_kl():
    z, q = torch.randn(V).requires_grad_(), categorical(2)
    forward = gradient_of(lambda p: true_kl(p, q), z)
    backward = gradient_of(lambda p: true_kl(q, p), z)
    assert gradient_of_loss(kl_k1, z, q).abs().max() < 1e-12
    assert (gradient_of_loss(kl_k2, z, q) - forward).abs().max() < 1e-12
    assert (gradient_of_loss(kl_k3, z, q) - backward).abs().max() < 1e-12
    assert (forward - backward).abs().max() > 1e-3


def policy_gradient_from(advantages, logp, samples):
    """Moments of 1/N Σ A_i ∇log π(y_i) over every group."""
    rewards, scores = plain().rewards[0], score_matrix(logp)

    def estimate(groups):
        return (advantages(rewards[groups])[..., None] * scores[groups]).mean(1)

    return estimator_moments(logp, estimate, samples)


def exact_gradient(logp):
    p, r = logp.exp(), plain().rewards[0]
    return p * (r - p @ r)  # of E[r] in the logits


@pytest.mark.parametrize("baseline", [0.0, 2.5])
def test_reinforce_is_unbiased_with_any_baseline(baseline):
    logp = other(plain())[0]
    found = policy_gradient_from(lambda r: r - baseline, logp, 1)
    assert (found.mean - exact_gradient(logp)).abs().max() < 1e-12


def test_the_baseline_changes_the_variance_and_there_is_a_best_one():
    logp, r = other(plain())[0], plain().rewards[0]
    size = score_matrix(logp).square().sum(-1)
    best = float((logp.exp() * size * r).sum() / (logp.exp() * size).sum())

    def spread(b):
        return policy_gradient_from(lambda r: r - b, logp, 1).variance.sum()

    assert spread(best) < min(spread(best - 0.1), spread(best + 0.1), spread(0.0))


@pytest.mark.parametrize("samples", [2, 3, 4])
def test_the_others_of_a_group_are_an_unbiased_baseline(samples):
    logp = other(plain())[0]
    found = policy_gradient_from(leave_one_out_advantages, logp, samples)
    assert (found.mean - exact_gradient(logp)).abs().max() < 1e-12


@pytest.mark.parametrize("samples", [2, 3, 4])
def test_the_mean_of_the_group_shrinks_the_gradient_by_one_share(samples):
    logp = other(plain())[0]
    found = policy_gradient_from(centred_advantages, logp, samples)
    share = (samples - 1) / samples
    assert (found.mean - share * exact_gradient(logp)).abs().max() < 1e-12


def test_division_by_the_spread_of_the_group_turns_the_gradient():
    logp = other(plain())[0]
    found = policy_gradient_from(group_advantages, logp, 3).mean
    assert torch.cosine_similarity(found, exact_gradient(logp), dim=0) < 0.999


def test_variance_falls_with_the_number_of_samples_as_of_independent_ones():
    logp, r = other(plain())[0], plain().rewards[0]
    one, three = (estimator_moments(logp, lambda y: r[y].mean(1), n) for n in (1, 3))
    assert isinstance(one, Moments)
    assert three.variance == pytest.approx(one.variance / 3)
    assert three.mean == pytest.approx(one.mean)


def test_completions_that_never_come_are_not_asked():
    logp, seen = torch.tensor([0.5, 0.0, 0.5]).log(), []

    def estimate(groups):
        seen.append(groups)
        return groups.double().sum(1)

    assert estimator_moments(logp, estimate).mean == 1.0
    assert (seen[0] != 1).all()


def test_too_many_groups_are_refused_before_they_are_made():
    with pytest.raises(InputError, match="50 completions make 312500000 groups"):
        estimator_moments(categorical(0), lambda y: y.double().sum(1), 5)


def test_an_estimator_must_say_something_of_each_group():
    with pytest.raises(InputError, match="one value"):
        estimator_moments(categorical(0), lambda y: torch.zeros(3))
