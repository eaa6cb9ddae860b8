"""The project of chapter 6: its solution passes, and planted faults are named in sentences."""

import numpy as np
import pytest

from lab.optimization import project
from lab.optimization.project import ADAM_FAULTS, MUON_FAULTS, grade
from lab.optimization.project_solution import adam, muon, orthogonalize


def test_the_solution_passes_every_test():
    report = grade(adam, muon)
    assert report.passed, str(report)
    assert str(report).endswith("15 of 15 tests passed")


def test_without_muon_part_1_is_tested_alone():
    report = grade(adam)
    assert report.passed
    assert "call grade(adam, muon)" in repr(report)


def test_the_package_passes():
    from mathlm import reference as ref

    ours = lambda theta, g, state, **numbers: ref.adam_step(theta, g, state, **numbers)  # noqa: E731
    theirs = lambda theta, g, state, **numbers: ref.muon_step(theta, g, state, **numbers)  # noqa: E731
    assert grade(ours, theirs).passed


def test_a_stub_is_told_what_is_missing():
    def stub(theta, g, state, lr, betas, eps):
        raise NotImplementedError

    report = grade(stub)
    assert [r.passed for r in report.results] == [False] * 6
    assert "NotImplementedError was raised" in str(report)


def adam_with(fault):
    """A step of Adam with one of the known faults: the last point of its path so far."""

    def step(theta, g, state, lr, betas, eps):
        start, gradients = state or (theta, ())
        gradients = (*gradients, g)
        project.BETAS, kept = betas, project.BETAS
        try:
            end = project._adam(np.array(gradients), start, lr, fault)[-1]
        finally:
            project.BETAS = kept
        return end, (start, gradients)

    return step


def muon_with(fault):
    def step(theta, g, state, lr, beta, weight_decay):
        start, gradients = state or (theta, ())
        gradients = (*gradients, g)
        end = project._muon(np.array(gradients), start, lr, beta, weight_decay, fault)[-1]
        return end, (start, gradients)

    return step


def test_the_copies_to_plant_faults_in_are_right():
    report = grade(adam_with(""), muon_with(""))
    assert report.passed, str(report)


@pytest.mark.parametrize("fault", ADAM_FAULTS)
def test_a_planted_fault_of_adam_is_named(fault):
    assert f"adam: {ADAM_FAULTS[fault]}" in grade(adam_with(fault)).faults


@pytest.mark.parametrize("fault", MUON_FAULTS)
def test_a_planted_fault_of_muon_is_named(fault):
    found = grade(adam, muon_with(fault)).faults
    assert any(text.endswith(MUON_FAULTS[fault]) for text in found), found


def in_place(theta, g, state, lr, betas, eps):
    moved, state = adam(theta, g, state, lr, betas, eps)
    theta[...] = moved
    return theta, state


def one_clock_for_all():
    clock = {"t": 0}

    def step(theta, g, state, lr, betas, eps):
        old = {"m": 0.0, "v": 0.0} if state is None else state
        moved, new = adam(theta, g, {**old, "t": clock["t"]}, lr, betas, eps)
        clock["t"] += 1
        return moved, new

    return step


def one_memory_for_all():
    memory = {}

    def step(theta, g, state, lr, betas, eps):
        moved, new = adam(theta, g, memory or None, lr, betas, eps)
        memory.update(new)
        return moved, new

    return step


def changes_its_state(theta, g, state, lr, betas, eps):
    state = {"t": 0, "m": 0.0, "v": 0.0} if state is None else state
    moved, new = adam(theta, g, state, lr, betas, eps)
    state.update(new)
    return moved, state


def counts_from_zero(theta, g, state, lr, betas, eps):
    state = state or {"t": 0, "m": 0.0, "v": 0.0}
    moved, new = adam(theta, g, {**state, "t": state["t"] - 1}, lr, betas, eps)
    return moved, {**new, "t": state["t"] + 1}


def forgets_the_state(theta, g, state, lr, betas, eps):
    return adam(theta, g, state, lr, betas, eps)[0]


def half_as_fast(theta, g, state, lr, betas, eps):
    return adam(theta, g, state, 0.5 * lr, betas, eps)


@pytest.mark.parametrize(
    ("step", "sentence"),
    [
        (in_place, "changes its arguments in place"),
        (one_clock_for_all(), "A second parameter changes"),
        (one_memory_for_all(), "keep them in the state alone"),
        (changes_its_state, "changes the state that it was handed"),
        (counts_from_zero, "t counts from 1"),
        (forgets_the_state, "return two things"),
        (half_as_fast, r"moves the entries by [0.5, 0.5, 0.5]"),
        (half_as_fast, "none of the usual slips"),
    ],
)
def test_what_both_must_satisfy_is_said_in_a_sentence(step, sentence):
    assert sentence in str(grade(step))


def transposed_products(theta, g, state, lr, beta, weight_decay):
    X = g / np.linalg.norm(g)
    for _ in range(5):
        X = 1.5 * X - 0.5 * X @ X @ X.T if len(X) == len(X.T) else orthogonalize(X)
    return theta - lr * X, state


def not_normalized(theta, g, state, lr, beta, weight_decay):
    return theta - lr * g, state


@pytest.mark.parametrize(
    ("step", "sentence"),
    [
        (transposed_products, "singular directions"),
        (not_normalized, "1000 times as large"),
        (not_normalized, "between 0.65 and 1.25"),
    ],
)
def test_a_step_that_is_no_orthogonalization_is_named(step, sentence):
    assert sentence in str(grade(adam, step))
