"""The project's grader: the solution passes, and each planted fault is named in a sentence."""

import inspect
from itertools import combinations

import numpy as np
import pytest

from lab.training_data import project, project_solution

SOURCE = inspect.getsource(project_solution)


def planted(*changes):
    """Both functions, with pieces of their text changed."""
    text, space = SOURCE, {}
    for old, new in changes:
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    exec(text, space)
    return space["signatures"], space["near_duplicates"]


def all_pairs(sets, threshold, jaccard):
    pairs = combinations(range(len(sets)), 2)
    return [(i, j) for i, j in pairs if jaccard(i, j) >= threshold]


FAULTS = {
    "not (16, 2)": planted(("return np.array(least)", "return np.array(least).T")),
    "depends on the other sets": planted(
        (
            "(2, functions, 1), dtype=np.uint64)",
            "(2, functions, 1), dtype=np.uint64) + np.uint64(sum(sets[0]) % 97)",
        )
    ),
    "the seed changes nothing": planted(("default_rng(seed)", "default_rng(0)")),
    "are alike": planted(("a |= np.uint64(1)", "a, b = a[:1] | 1 + 0 * a, b[:1] + 0 * b")),
    "agree in": planted((".min(axis=1)", "[:, 0]")),
    "below the threshold": planted((" if jaccard(*pair) >= threshold", "")),
    "only those that agree in a whole band": (project_solution.signatures, all_pairs),
    "a document is a duplicate of itself": planted(
        ("combinations(group, 2)", "[(i, i) for i in group]")
    ),
    "with i < j, each once": planted(
        ("combinations(group, 2)", "combinations(group[::-1], 2)")
    ),
    "the numbers of the others stay": planted(
        ("zip(filled, band, strict=True)", "enumerate(band)")
    ),
}


def few_bands(sets, threshold, jaccard):
    table = project_solution.signatures([s or {0} for s in sets], 100)
    pairs = combinations(range(len(sets)), 2)
    alike = [p for p in pairs if np.array_equal(table[p[0]], table[p[1]])]
    return [p for p in alike if jaccard(*p) >= threshold]


FAULTS["are missed"] = (project_solution.signatures, few_bands)


def test_the_solution_passes():
    report = project.grade(project_solution.signatures, project_solution.near_duplicates)
    assert report.passed, report


@pytest.mark.parametrize("sentence", FAULTS)
def test_a_planted_fault_is_named(sentence):
    report = project.grade(*FAULTS[sentence])
    assert any(sentence in fault for fault in report.faults), report
