"""The grader of the project: the solution passes, and each planted fault has its sentence."""

import re

import pytest

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
    assert report.passed
    assert len(report.results) == 10


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
    "points the opposite way at every p": lambda r, k: -PASS(r, k),
    "is 0 at every p": lambda r, k: 0 * PASS(r, k),
    "is not that of the objective: at p = ": with_itself,
    "a division by 0": lambda r, k: PASS(r, k) / r.std(1, keepdim=True),
    "depend on the other groups": lambda r, k: PASS(r, k) + r.mean(),
    "changes the rewards in place": in_place,
    r"shape \(4, 4\), got \(4,\)": lambda r, k: r.mean(1),
    "right in groups of four and wrong in groups of six": lambda r, k: (
        PASS(r, k) * (r.shape[1] / 4) ** (k - 1)
    ),
    "something is not written yet": lambda r, k: (_ for _ in ()).throw(NotImplementedError),
}


@pytest.mark.parametrize("sentence", FAULTY_PASS)
def test_a_fault_of_pass_at_k_is_named(sentence):
    report = grade(FAULTY_PASS[sentence])
    assert matches(report, sentence), report


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
    "right in groups of four and wrong in groups of six": lambda r: (
        r / r.mean(1, keepdim=True).clamp(min=1 / 4) - 1
    ),
}


@pytest.mark.parametrize("sentence", FAULTY_LIKELIHOOD)
def test_a_fault_of_the_likelihood_is_named(sentence):
    report = grade(PASS, FAULTY_LIKELIHOOD[sentence])
    assert matches(report, sentence), report


def cut(logp, old, high):
    return (logp - old.detach()).exp().clamp(max=1 + high)


FAULTY_LOSSES = {
    "wrong sign": lambda x, o, A, h: -LOSS(x, o, A, h),
    "not cut at 1": lambda x, o, A, h: LOSS(x, o, A, 1e9),
    "there is no weight": lambda x, o, A, h: -A.detach() * x,
    "lost their gradient": lambda x, o, A, h: -A.detach() * cut(x, o, h),
    "a gradient of its own": lambda x, o, A, h: -A.detach() * cut(x, o, h) * x,
    "should be 1": lambda x, o, A, h: LOSS(x, o, A, h - 1),
    "cut below 1 too": lambda x, o, A, h: -A.detach() * cut(x, o, h).clamp(min=1).detach() * x,
    "upside down": lambda x, o, A, h: -A.detach() * (o - x).exp().clamp(max=1 + h).detach() * x,
    "a gradient reaches the advantages": lambda x, o, A, h: -cut(x, o, h).detach() * A * x,
    "a gradient reaches logp_old": lambda x, o, A, h: LOSS(x, o, A, h) + o,
    "no gradient reaches logp": lambda x, o, A, h: LOSS(x.detach(), o, A, h),
    r"shape \(7,\), got \(\)": lambda x, o, A, h: LOSS(x, o, A, h).mean(),
    "values differ from align.cispo_loss": lambda x, o, A, h: LOSS(x, o, A, h) + 1,
    r"the weights at ratios \[0.001, .* are \[0.1, ": lambda x, o, A, h: (
        -A.detach() * cut(x, o, h).clamp(min=0.1).detach() * x
    ),
    "the weights at ratios": lambda x, o, A, h: 1.5 * LOSS(x, o, A, h),
}


@pytest.mark.parametrize("sentence", FAULTY_LOSSES)
def test_a_fault_of_the_loss_is_named(sentence):
    report = grade(PASS, LIKELIHOOD, FAULTY_LOSSES[sentence])
    assert matches(report, sentence), report


def test_later_parts_wait_for_earlier_ones():
    report = grade(lambda r, k: PASS(r, k) / k, LIKELIHOOD, LOSS)
    assert "· likelihood: its form (not run yet)" in repr(report)
    assert "Not tested yet: loss." in repr(grade(PASS, LIKELIHOOD))
