"""The grader of the project: the solution passes, and each planted fault has its sentence."""

import re

import pytest
import torch

from lab.estimators import project_solution as solution
from lab.estimators.project import grade
from mathlm.align import (
    centred_advantages,
    group_advantages,
    leave_one_out_advantages,
    maxrl_advantages,
)

PASS, LIKELIHOOD, LOSS = (
    solution.pass_at_k_advantages,
    solution.maximum_likelihood_advantages,
    solution.cut_weight_loss,
)


def matches(report, sentence):
    """Whether a fault of a report says so."""
    return any(re.search(sentence, said) for said in report.faults)


def test_the_solution_passes_all_parts():
    report = grade(PASS, LIKELIHOOD, LOSS)
    assert report.passed and len(report.results) == 11


def in_place(r, k):
    r += 1
    return PASS(r - 1, k)


def with_itself(r, k):
    """Wrong answers among all N, the answer itself included."""
    N = r.shape[1]
    return k * r * ((N - r.sum(1, keepdim=True)) / N) ** (k - 1)


FAULTY_PASS = {
    "this is the gradient of the mean reward, pass@1": lambda r, k: leave_one_out_advantages(r),
    "is the factor k lost": lambda r, k: PASS(r, k) / k,
    "the first N - 1 terms of log p": lambda r, k: maxrl_advantages(r),
    "the first N terms of log p": lambda r, k: LIKELIHOOD(r),
    "right direction at every p, and is 3 times": lambda r, k: 3 * PASS(r, k),
    "right direction at every p, and is -1 times": lambda r, k: -PASS(r, k),
    "is not that of the objective: at p = ": with_itself,
    "a division by 0": lambda r, k: PASS(r, k) / r.std(1, keepdim=True),
    "depend on the other groups": lambda r, k: PASS(r, k) + r.mean(),
    "changes the rewards in place": in_place,
    r"shape \(4, 4\), got \(4,\)": lambda r, k: r.mean(1),
    "something is not written yet": lambda r, k: (_ for _ in ()).throw(NotImplementedError),
}


@pytest.mark.parametrize("sentence", FAULTY_PASS)
def test_a_fault_of_pass_at_k_is_named(sentence):
    report = grade(FAULTY_PASS[sentence])
    assert matches(report, sentence), report


def test_an_answer_that_changes_nothing_has_no_advantage_over_a_wrong_one():
    """Unbiased only on average over others: noise that depends on one's own reward."""

    def noisy(r, k):
        return PASS(r, k) + (r * (r.sum(1, keepdim=True) - 1) - 3 * r.mean()) * 0 + extra(r)

    def extra(r):
        """Mean 0 gap: +1 with two others right, less three of the mean of others... on N = 4."""
        others = r.sum(1, keepdim=True) - r
        kernel = torch.tensor([0.0, 1.0, -2.0, 3.0])  # Σ C(3,k) p^k q^(3-k) kernel is not 0
        return r * kernel.to(r)[others.long()]

    assert not grade(noisy).passed


def nan_if_failed(r):
    return r / r.mean(1, keepdim=True) - 1


FAULTY_LIKELIHOOD = {
    "the first N - 1 terms of log p, one less": maxrl_advantages,
    r"the mean reward\.$": leave_one_out_advantages,
    r"times \(N - 1\)/N": centred_advantages,
    "the group in which no answer is right gives .*a division by 0": nan_if_failed,
    "not that of the objective: at p = ": group_advantages,
    "without a baseline the estimate is unbiased and noisy": lambda r: LIKELIHOOD(r) + 1,
    "is 2 times as long": lambda r: 2 * LIKELIHOOD(r),
}


@pytest.mark.parametrize("sentence", FAULTY_LIKELIHOOD)
def test_a_fault_of_the_likelihood_is_named(sentence):
    report = grade(PASS, FAULTY_LIKELIHOOD[sentence])
    assert matches(report, sentence), report


def cut(logp, old, high):
    return (logp - old.detach()).exp().clamp(max=1 + high)


FAULTY_LOSSES = {
    "wrong sign": lambda l, o, A, h: -LOSS(l, o, A, h),
    "not cut at 1": lambda l, o, A, h: LOSS(l, o, A, 1e9),
    "there is no weight": lambda l, o, A, h: -A.detach() * l,
    "lost their gradient": lambda l, o, A, h: -A.detach() * cut(l, o, h),
    "a gradient of its own": lambda l, o, A, h: -A.detach() * cut(l, o, h) * l,
    "should be 1": lambda l, o, A, h: LOSS(l, o, A, h - 1),
    "cut below 1 too": lambda l, o, A, h: -A.detach() * cut(l, o, h).clamp(min=1).detach() * l,
    "upside down": lambda l, o, A, h: (
        -A.detach() * (o - l).exp().clamp(max=1 + h).detach() * l
    ),
    "a gradient reaches the advantages": lambda l, o, A, h: -cut(l, o, h).detach() * A * l,
    "a gradient reaches logp_old": lambda l, o, A, h: LOSS(l, o, A, h) + o,
    "no gradient reaches logp": lambda l, o, A, h: LOSS(l.detach(), o, A, h),
    r"shape \(7,\), got \(\)": lambda l, o, A, h: LOSS(l, o, A, h).mean(),
    "values differ from align.cispo_loss": lambda l, o, A, h: LOSS(l, o, A, h) + 1,
    "the weights at ratios": lambda l, o, A, h: 1.5 * LOSS(l, o, A, h),
}


@pytest.mark.parametrize("sentence", FAULTY_LOSSES)
def test_a_fault_of_the_loss_is_named(sentence):
    report = grade(PASS, LIKELIHOOD, FAULTY_LOSSES[sentence])
    assert matches(report, sentence), report


def test_later_parts_wait_for_earlier_ones():
    report = grade(lambda r, k: PASS(r, k) / k, LIKELIHOOD, LOSS)
    assert "· likelihood: its form (not run yet)" in repr(report)
    assert "Not tested yet: loss." in repr(grade(PASS, LIKELIHOOD))
