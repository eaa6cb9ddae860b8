"""The project's grader: the solution passes, and each planted fault is named in a sentence."""

import inspect

import numpy as np
import pytest

from lab.fast_generation import project, project_solution

SOURCE = inspect.getsource(project_solution.verify)
FAULTS = {
    "it is always accepted": (
        "accept[i] * q[i, x] >= p[i, x]",
        "accept[i] * p[i, x] >= q[i, x]",
    ),
    "the draft token is accepted": (">= p[i, x]", ">= 0.9 * p[i, x]"),
    "the draft token is refused": (">= p[i, x]", ">= 2 * p[i, x]"),
    "the round ends": (
        "return [*tokens, draw(rest / rest.sum(), u)]",
        "tokens.append(draw(rest / rest.sum(), u)); continue",
    ),
    "one more token comes from the last row": (
        "return [*tokens, draw(p[-1], u)]",
        "return tokens",
    ),
    "token 2 of p[2]": ("draw(p[-1], u)", "draw(p[0], u)"),
    "must come from the residual": ("rest / rest.sum()", "p[i]"),
    "from the draft's distribution": ("rest / rest.sum()", "q[i]"),
    "at draft token i everything is that of row i": ("p[i] - q[i]", "p[0] - q[0]"),
}


def planted(old, new):
    """The solution with one piece of its text changed."""
    assert SOURCE.count(old) == 1
    space = {"np": np, "ndarray": np.ndarray, "draw": project_solution.draw}
    exec(SOURCE.replace(old, new), space)
    return space["verify"]


def test_the_solution_passes():
    report = project.grade(project_solution.verify)
    assert report.passed, report


@pytest.mark.parametrize("sentence", FAULTS)
def test_a_planted_fault_is_named(sentence):
    report = project.grade(planted(*FAULTS[sentence]))
    assert any(sentence in fault for fault in report.faults), report
