"""The project's grader: the solution passes, and each planted fault is named."""

import inspect

import numpy as np
import pytest

from lab.explanations import project
from lab.explanations import project_solution as right


def planted(function, old, new):
    """A function of the solution with one piece of its text changed."""
    source = inspect.getsource(function)
    assert source.count(old) == 1
    space = {
        "np": np,
        "ndarray": np.ndarray,
        "coverage": right.coverage,
        "needed": right.needed,
    }
    exec(source.replace(old, new), space)
    return space[function.__name__]


HEART = "-np.expm1(k * np.log1p(-p)).mean()"
FAULTS = {
    "average over them last": ("coverage", HEART, "1 - (1 - p.mean()) ** k"),
    "one is enough": ("coverage", HEART, "(p**k).mean()"),
    "(1 + 3/4 + 0) / 3": ("coverage", HEART, "(1 - p).mean()"),
    "it is one number": ("coverage", "float(-np.expm1(k * np.log1p(-p)).mean())", "p"),
    "take log1p": ("coverage", HEART, "1 - ((1 - p) ** k).mean()"),
    "round up": ("needed", "return float(high)", "return float(low)"),
    "need 9 answers": ("needed", "return float(high)", "return float(2 * high)"),
    "one is needed": ("needed", "low, high = 0, 1\n", "low, high = 1, 2\n"),
    "no number of answers": ("needed", 'return float("inf")', "return 1e9"),
    "never reach it": ("needed", "(p > 0).mean() <= target", "(p > 0).mean() < target"),
    "with one answer": ("needed", " and (p == 1).mean() < target", ""),
    "costs infinitely much": ("cheapest", "np.argmin(costs)", "np.argmax(costs)"),
    "paid too, once": ("cheapest", 'm["training"] + questions', "questions"),
    "training + questions": ("cheapest", "float(min(costs))", "float(max(costs[:2]))"),
}


def test_the_solution_passes():
    report = project.grade(right.coverage, right.needed, right.cheapest)
    assert report.passed, report


@pytest.mark.parametrize("sentence", FAULTS)
def test_a_planted_fault_is_named(sentence):
    name, old, new = FAULTS[sentence]
    parts = {n: getattr(right, n) for n in ("coverage", "needed", "cheapest")}
    parts[name] = planted(parts[name], old, new)
    report = project.grade(**parts)
    assert any(sentence in fault for fault in report.faults), report


@pytest.mark.parametrize(
    ("p", "target", "answers"),
    [
        ([0.5, 0.0], 0.5, np.inf),
        ([0.5], 1.0, np.inf),
        ([1.0, 0.5, 0.0], 2 / 3, np.inf),
        ([1.0, 0.0], 0.5, 1),
        ([1.0, 0.5], 0.5, 1),
        ([0.5, 0.0], 0.49, 6),
    ],
)
def test_a_coverage_that_is_only_approached_is_never_reached(p, target, answers):
    assert right.needed(np.array(p), target) == answers
