"""The project's grader: the solution passes, and each planted fault is named in a sentence."""

import numpy as np
import pytest

from lab.estimation import project, project_solution

SHARES, STEP = project_solution.responsibilities, project_solution.em_step


def shares(prior=True, scale=True, root=False, axis=1, top=True, end=True):
    """The E step with one of its lines changed."""

    def responsibilities(x, weights, means, stds):
        widths = np.sqrt(stds) if root else stds
        logs = (np.log(weights) if prior else 0) - ((x[:, None] - means) / widths) ** 2 / 2
        logs = logs - (np.log(widths) if scale else 0)
        joint = np.exp(logs - (logs.max(1, keepdims=True) if top else 0))
        plain = np.exp(logs) / np.sqrt(2 * np.pi)
        return joint / joint.sum(axis, keepdims=True) if end else plain

    return responsibilities


E_FAULTS = {
    r"give the shape \(2, 6\), not \(6, 2\)": lambda x, *t: SHARES(x, *t).T,
    "they are the prior": shares(prior=False),
    "the factor 1 / σ of the density is missing": shares(scale=False),
    "divides by their square": shares(root=True),
    "normalize over the components": shares(axis=0, top=False),
    "each row must sum to 1": shares(end=False),
    "both densities underflow": shares(top=False),
    "the point -3 belongs to the first component with": lambda x, *t: SHARES(x, *t) ** 2,
    "raised ZeroDivisionError in line [0-9]+ of <lambda>": lambda *a: 1 / 0,
}


@pytest.mark.parametrize("sentence", E_FAULTS)
def test_a_fault_of_the_e_step_is_named(sentence):
    report = project.grade(E_FAULTS[sentence], STEP)
    assert not report.passed
    assert len(report.faults) == 1
    with pytest.raises(AssertionError, match=sentence):
        raise AssertionError(" ".join(report.faults))


def step(weights_by_n=True, hard=False, means_by_mass=True, root=True, new=True):
    """The M step with one of its lines changed."""

    def em_step(x, weights, means, stds):
        share = SHARES(x, weights, means, stds)
        mass = share.sum(0)
        whole = np.array([x[share.argmax(1) == k].mean() for k in range(len(means))])
        mu = whole if hard else share.T @ x / (mass if means_by_mass else len(x))
        center = mu if new else means
        var = (share * (x[:, None] - center) ** 2).sum(0) / mass
        return mass / (len(x) if weights_by_n else 1), mu, np.sqrt(var) if root else var

    return em_step


def in_place(x, weights, means, stds):
    found = STEP(x, weights, means, stds)
    weights[:], means[:], stds[:] = found
    return tuple(part.copy() for part in found)


def with_a_memory(x, *theta):
    """Right on six points; on more it moves the means too far."""
    weights, means, stds = STEP(x, *theta)
    return weights, means if len(x) < 10 else means + 0.5, stds


M_FAULTS = {
    "must return three arrays": lambda x, *t: STEP(x, *t)[:2],
    "weights: they sum to N": step(weights_by_n=False),
    "means: each point goes to one component whole": step(hard=True),
    "means: the sum is divided by N": step(means_by_mass=False),
    "stds: these are variances": step(root=False),
    "stds: the deviations must be taken from the new means": step(new=False),
    "changes its arguments in place": in_place,
    "a step of EM never lowers it": with_a_memory,
    "a parameter is off by": lambda x, *t: STEP(x, *t) if len(x) < 2000 else t,
}


@pytest.mark.parametrize("sentence", M_FAULTS)
def test_a_fault_of_the_m_step_is_named(sentence):
    report = project.grade(SHARES, M_FAULTS[sentence])
    assert not report.passed
    assert len(report.faults) == 1
    assert sentence in " ".join(report.faults)


def test_the_solution_passes():
    report = project.grade(SHARES, STEP)
    assert report.passed, report
    assert repr(report).endswith("6 of 6 tests passed")


def test_what_is_not_written_yet_is_said():
    def stub(*args):
        raise NotImplementedError

    report = project.grade(stub, stub)
    assert report.faults == ["something is not written yet: NotImplementedError was raised."]
    assert repr(report).count("(not run yet)") == 5


def test_a_step_keeps_the_mean_of_the_data():
    """Weights times means is the mean of all points, whatever the responsibilities are."""
    weights, means, _ = STEP(project.X, *project.START)
    assert weights @ means == pytest.approx(project.X.mean())


def test_the_likelihood_is_that_of_one_normal_if_both_are_equal():
    same = (np.array([0.3, 0.7]), np.zeros(2), np.ones(2))
    expected = -(project.X**2).mean() / 2 - np.log(2 * np.pi) / 2
    assert project.log_likelihood(project.X, *same) == pytest.approx(expected)
