"""The project's grader: the solution passes, and each planted fault is named in a sentence."""

import inspect

import numpy as np
import pytest

from lab.state_space import project, project_solution

SOURCE = inspect.getsource(project_solution.delta_chunks)


def planted(old, new):
    """The solution with one piece of its text changed."""
    assert SOURCE.count(old) == 1
    space = {"np": np, "ndarray": np.ndarray}
    exec(SOURCE.replace(old, new), space)
    return space["delta_chunks"]


FAULTS = {
    "as if nothing were there": ("np.tril(b * (K @ K.T) * L, -1)", "0"),
    "y is off by up to": ("np.tril(b * (K @ K.T) * L, -1)", "np.tril(b * (K @ K.T) * L)"),
    "β is left out": (", beta[:, None]))", ", 1 + 0 * beta[:, None]))"),
    "every chunk starts from 0": (
        "        gap =",
        "        state = 0 * state if i else state\n        gap =",
    ),
    "nothing decays": ("np.cumsum(log_decay[i : i + chunk])", "np.zeros(len(Q))"),
    "y is right and the last state is not": (
        "    return np.concatenate(outputs), state",
        "    return np.concatenate(outputs), 2 * state",
    ),
    "the first state is not used": ("outputs = []", "outputs, state = [], 0 * state"),
    "exponential of a difference of logarithms": (
        "L = np.exp(np.where(np.tri(len(Q), dtype=bool), gap, -np.inf))",
        "L = np.exp(gap) * np.tri(len(Q))",
    ),
    "only pairs within a chunk": ("outputs = []", "outputs, _ = [], np.ones((len(q), len(q)))"),
    "your code changes its argument v in place": ("outputs = []", "outputs, v[0] = [], 0"),
    "return the pair": ("return np.concatenate(outputs), state", "return outputs"),
    "y has shape": ("np.concatenate(outputs), state", "np.concatenate(outputs)[1:], state"),
}


def test_the_solution_passes():
    assert project.grade(project_solution.delta_chunks).passed


@pytest.mark.parametrize("sentence", FAULTS)
def test_a_planted_fault_is_named(sentence):
    report = project.grade(planted(*FAULTS[sentence]))
    assert any(sentence in fault for fault in report.faults), report


def test_reading_before_writing_and_decay_after_the_error_are_named():
    def changed(**what):
        def rule(q, k, v, beta, log_decay, chunk, state):
            return project.recurrence((q, k, v, beta, log_decay, state), **what)

        return project.grade(rule).faults[0]

    assert "does not read what it writes itself" in changed(late=True)
    assert "before the state decays" in changed(before=False)
