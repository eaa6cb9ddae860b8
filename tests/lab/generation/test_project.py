"""The project's grader: the solution passes, and each planted fault is named in a sentence."""

import inspect

import numpy as np
import pytest

from lab.generation import project, project_solution

SOURCE = inspect.getsource(project_solution.nucleus_sample)
FAULTS = {
    "the token that reaches P is left out": ("before < P", "(before + largest < P) | (P == 1)"),
    "and P = 0.8 the shares are": ("-p, axis=1", "p, axis=1"),
    "the best token alone has 0.95": ("before < P", "before + largest < max(P, 0.9)"),
    "Sort with kind='stable'": (
        'np.argsort(-p, axis=1, kind="stable")',
        'np.argsort(p, axis=1, kind="stable")[:, ::-1]',
    ),
    "drawn from their own": (
        "z = logits / temperature",
        "z = 0 * logits + logits[0] / temperature",
    ),
    "above* u": ("ends > u", "ends >= u"),
    "temperature is not used": ("logits / temperature", "logits"),
    "logits of ±1000 overflow": ("z - z.max(axis=1, keepdims=True)", "z"),
    "in place": ("z = logits / temperature", "z = logits; z /= temperature; z += 1"),
    "integers, one a row": ("axis=1)\n", "axis=1)[:1]\n"),
}


def planted(old, new):
    """The solution with the last occurrence of a piece of its text changed."""
    assert old in SOURCE
    head, _, tail = SOURCE.rpartition(old)
    space = {"np": np, "ndarray": np.ndarray}
    exec(head + new + tail, space)
    return space["nucleus_sample"]


def test_the_solution_passes():
    report = project.grade(project_solution.nucleus_sample)
    assert report.passed, report


@pytest.mark.parametrize("sentence", FAULTS)
def test_a_planted_fault_is_named(sentence):
    report = project.grade(planted(*FAULTS[sentence]))
    assert any(sentence in fault for fault in report.faults), report


def test_the_nucleus_by_its_definition_is_that_of_the_printed_example():
    found = project.right(np.array([0.5, 0.2, 0.15, 0.1, 0.05]), 0.8)
    np.testing.assert_allclose(found, np.array([0.5, 0.2, 0.15, 0, 0]) / 0.85)
