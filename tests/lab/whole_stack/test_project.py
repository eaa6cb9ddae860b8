"""The project's grader: the solution passes, and each planted fault is named."""

import inspect
import math
import random
from collections import Counter

import pytest

from lab.whole_stack import project, project_solution
from mathlm.text import corpus

SOURCE = inspect.getsource(project_solution.Counts) + inspect.getsource(project_solution.Mine)


def planted(old, new):
    """The solution with one piece of its text changed."""
    assert SOURCE.count(old) == 1
    space = {"math": math, "random": random, "Counter": Counter}
    exec(SOURCE.replace(old, new), space)
    return space["Mine"]()


FAULTS = {
    "there is no method fit": ("def fit(", "def learn("),
    "keeps 'Menu'": ("len(plain) >= 20", "len(plain) >= 2"),
    "differ in blanks and capitals only": ('" ".join(text.split()).lower()', "text"),
    "drops or changes": ("kept.setdefault(plain, text)", "kept.setdefault(plain, plain)"),
    "draws the line elsewhere": ("len(plain) >= 20", "len(plain) >= 19"),
    "a run of blanks being one": ("len(plain) >= 20", "len(text) >= 20"),
    "20 characters stay": ("len(plain) >= 20", "len(plain) > 20"),
    "puts a text on both sides": ("order[count:], order", "order, order"),
    "loses texts": ("order[count:], order", "order[count + 1 :], order"),
    "of 20 texts for a share": ("round(share * len(order))", "round(share * len(order)) + 1"),
    "with the same seed": ("random.Random(seed)", "random.Random()"),
    "does not depend on the seed": ("random.Random(seed)", "random.Random(0)"),
    "returns 10 numbers for 11 bytes": (
        "for i in range(len(data))]",
        "for i in range(1, len(data))]",
    ),
    "probability 0": ("math.log(self.probability(data[:i][-2:], data[i]))", "-math.inf"),
    "not 1": ("+ self.weight)", "+ 2 * self.weight)"),
    "sees the future": (
        "data[:i][-2:], data[i]",
        "data[-2:] if i == 0 else data[:i][-2:], data[i]",
    ),
    "nothing was learned": ("return p\n", "return 1 / 256\n"),
    "gives nats": (" / math.log(2)", ""),
    "of the whole text": (" / len(data)", ""),
    "does not ask the model": ("return -sum(model", "return 1.0 or -sum(model"),
    "is negative": ("return -sum(model", "return sum(model"),
}


def test_the_solution_passes():
    assert project.grade(project_solution.Mine()).passed


@pytest.mark.parametrize("sentence", FAULTS)
def test_a_planted_fault_is_named(sentence):
    report = project.grade(planted(*FAULTS[sentence]))
    assert any(sentence in fault for fault in report.faults), report


def test_a_run_compares_with_counts_and_a_compressor():
    texts = corpus.split("shakespeare")[0][:60_000].split("\n\n")
    found = project.run(project_solution.Mine(), texts)
    assert set(found) == {"mine", "5-gram", "xz"}
    assert 2 < found["5-gram"] < found["mine"] < 5
