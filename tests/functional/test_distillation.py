"""Distillation by hand, by its limits, against the NumPy half and against trl."""

import math
import os

import numpy as np
import pytest
import torch
from torch.testing import assert_close

from mathlm import reference as ref
from mathlm.errors import InputError
from mathlm.functional import (
    distillation_loss,
    jensen_shannon_distillation_loss,
    reverse_distillation_loss,
)

LOSSES = [distillation_loss, reverse_distillation_loss, jensen_shannon_distillation_loss]
every = pytest.mark.parametrize("loss", LOSSES, ids=lambda f: f.__name__)


def logits(*shape):
    return torch.randn(2, *shape, dtype=torch.float64) * 2


def numpy_kl(a, b, temperature=1.0):
    p, q = (ref.softmax(x.detach().numpy(), temperature) for x in (a, b))
    return torch.from_numpy(np.asarray(ref.kl_divergence(p, q)))


def test_two_tokens_by_hand():
    """p = (1/4, 3/4), q = (1/2, 1/2): KL(p, q) = log 2 - H(p), KL(q, p) = log 2/√3."""
    student, teacher = torch.zeros(2), torch.tensor([0.0, math.log(3)])
    entropy = math.log(4) - 0.75 * math.log(3)
    assert_close(distillation_loss(student, teacher), torch.tensor(math.log(2) - entropy))
    expected = torch.tensor(math.log(2 / math.sqrt(3)))
    assert_close(reverse_distillation_loss(student, teacher), expected)


@pytest.mark.parametrize("temperature", [0.5, 1, 3.0])
def test_both_directions_are_those_of_the_numpy_half(temperature):
    student, teacher = logits(3, 4, 7)
    forward, reverse = (loss(student, teacher, temperature) for loss in LOSSES[:2])
    square = temperature**2
    assert_close(forward, square * numpy_kl(teacher, student, temperature))
    assert_close(reverse, square * numpy_kl(student, teacher, temperature))


def test_half_a_mixture_is_the_jensen_shannon_divergence():
    student, teacher = logits(5, 7)
    p, q = (ref.softmax(x.numpy()) for x in (teacher, student))
    expected = torch.from_numpy(np.asarray(ref.js_divergence(p, q)))
    assert_close(jensen_shannon_distillation_loss(student, teacher), expected)


def test_the_ends_of_the_mixture_are_the_two_directions():
    student, teacher = logits(5, 7)
    near = 1e-7
    for mixture, kl in (
        (near, distillation_loss(student, teacher)),
        (1 - near, reverse_distillation_loss(student, teacher)),
    ):
        found = jensen_shannon_distillation_loss(student, teacher, mixture)
        assert_close(found / near, kl, rtol=1e-4, atol=1e-6)


def test_the_gradient_of_the_forward_loss_is_the_difference_of_probabilities():
    student, teacher = logits(5, 7)
    student.requires_grad_()
    for temperature in (1.0, 4.0):
        q, p = ((x / temperature).softmax(-1) for x in (student, teacher))
        loss = distillation_loss(student, teacher, temperature).sum()
        (found,) = torch.autograd.grad(loss, student)
        assert_close(found, temperature * (q - p))
    loss = distillation_loss(student, teacher, 1e4).sum()
    (found,) = torch.autograd.grad(loss, student)
    centered = (student - teacher) - (student - teacher).mean(-1, keepdim=True)
    assert_close(found, centered / 7, rtol=0, atol=1e-3)


@pytest.mark.parametrize("temperature", [0.5, 1.0, 3.0])
def test_the_gradient_of_the_reverse_loss_is_weighted_by_the_student(temperature):
    """∂ℓ/∂s = τ q (log q/p - KL(q ‖ p)), by hand from the two softmaxes."""
    student, teacher = logits(5, 7)
    student.requires_grad_()
    q, p = ((x.detach() / temperature).softmax(-1) for x in (student, teacher))
    ratio = (q / p).log()
    loss = reverse_distillation_loss(student, teacher, temperature).sum()
    (found,) = torch.autograd.grad(loss, student)
    mean = (q * ratio).sum(-1, keepdim=True)
    assert_close(found, temperature * q * (ratio - mean))


@every
def test_gradients_by_differences_and_none_for_the_teacher(loss):
    student, teacher = (x.requires_grad_() for x in logits(2, 4))
    assert torch.autograd.gradcheck(lambda s: loss(s, teacher, 0.7), student)
    loss(student, teacher).sum().backward()
    assert teacher.grad is None


@every
def test_the_same_distribution_costs_nothing(loss):
    student, _ = logits(5, 7)
    assert_close(loss(student, student + 3), torch.zeros(5, dtype=torch.float64))


def test_a_token_that_the_teacher_excludes():
    """Forward: no term, no NaN in the gradient. Reverse: infinite. Mixture: finite."""
    teacher = torch.tensor([0.0, 0.0, -math.inf])
    student = torch.zeros(3).requires_grad_()
    forward = distillation_loss(student, teacher)
    assert_close(forward, torch.tensor(math.log(3 / 2)))
    forward.backward()
    assert_close(student.grad, torch.tensor([-1, -1, 2]) / 6)
    assert reverse_distillation_loss(student, teacher) == math.inf
    between = jensen_shannon_distillation_loss(student, teacher)
    assert 0 < between < math.log(2)


def test_a_token_that_both_exclude_changes_nothing():
    student, teacher = logits(5, 6)
    with_one = [torch.cat((x, torch.full((5, 1), -math.inf)), -1) for x in (student, teacher)]
    with_one[0].requires_grad_()
    for loss in LOSSES:
        found = loss(*with_one)
        assert_close(found, loss(student, teacher))
        (gradient,) = torch.autograd.grad(found.sum(), with_one[0])
        assert gradient.isfinite().all()


@every
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_half_precision_is_taken_in_single(loss, dtype):
    student, teacher = (x.to(dtype) for x in logits(5, 7))
    found = loss(student, teacher)
    assert found.dtype == torch.float32
    assert_close(found, loss(student.float(), teacher.float()))


@pytest.mark.slow
@pytest.mark.parametrize(("mixture", "loss"), [(0, LOSSES[0]), (1, LOSSES[1]), (0.3, None)])
def test_the_losses_are_trls(mixture, loss, monkeypatch):
    """Its sum over tokens is divided by the number of rows; τ² is not in it."""
    monkeypatch.setenv(
        "TRL_EXPERIMENTAL_SILENCE", os.environ.get("TRL_EXPERIMENTAL_SILENCE", "1")
    )
    gkd = pytest.importorskip("trl.experimental.gkd.gkd_trainer")
    student, teacher = logits(3, 4, 7)
    theirs = gkd.GKDTrainer.generalized_jsd_loss(
        student, teacher, beta=mixture, temperature=1.7
    )
    if loss is None:
        ours = jensen_shannon_distillation_loss(student, teacher, mixture, 1.7)
    else:
        ours = loss(student, teacher, 1.7) / 1.7**2
    assert_close(ours.sum() / 3, theirs)


@every
def test_other_vocabularies_are_refused(loss, unchecked):
    with pytest.raises(InputError, match=r"student has logits \(2, 5\), the teacher \(2, 6\)"):
        loss(torch.zeros(2, 5), torch.zeros(2, 6))


@pytest.mark.parametrize("mixture", [0, 1])
def test_a_mixture_of_one_is_refused(mixture):
    with pytest.raises(InputError, match=f"mixture={mixture} compares a distribution with"):
        jensen_shannon_distillation_loss(torch.zeros(5), torch.zeros(5), mixture)
    with pytest.raises(InputError, match=r"temperature=0 must be a positive"):
        distillation_loss(torch.zeros(5), torch.zeros(5), 0)
