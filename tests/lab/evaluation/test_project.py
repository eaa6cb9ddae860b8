"""The project's grader: the solution passes, and each planted fault is named in a sentence."""

import inspect
import math

import numpy as np
import pytest
from scipy import stats

from lab.evaluation import project, project_solution

PARTS = ("deal", "compare", "enough", "overlaps")
SOURCE = "\n\n".join(inspect.getsource(getattr(project_solution, name)) for name in PARTS)


@pytest.fixture(autouse=True)
def annotations(unchecked):
    """Faults hand over what they should not."""


def planted(old, new):
    """The solution with one piece of its text changed."""
    assert SOURCE.count(old) == 1
    space = vars(project_solution) | {"np": np, "elsewhere": np.random.default_rng(5)}
    exec(SOURCE.replace(old, new), space)
    return [space[name] for name in PARTS]


SHUFFLE = "rng.permutation(len(q.choices)).tolist()"
FAULTS = {
    "one for each it was given": ("return dealt\n", "return dealt[1:]\n"),
    "a question or its choices were changed": ("q.choices[i] for", "q.choices[i].upper() for"),
    "moves with them": ("answer=order.index(q.answer)", "answer=q.answer"),
    "every choice stands where it stood": (SHUFFLE, "[0, 1, 2, 3][: len(q.choices)]"),
    "every right answer stands in one place": (
        SHUFFLE,
        "[q.answer, *(i for i in range(len(q.choices)) if i != q.answer)]",
    ),
    "the answer to": ("answer=order.index(q.answer)", "answer=order.index(0)"),
    "of the 24 orders of four choices 4 occur": (
        SHUFFLE,
        "np.roll(range(len(q.choices)), rng.integers(len(q.choices))).tolist()",
    ),
    "its middle is the difference": (
        "return difference, difference - half, difference + half",
        "return difference, -half, half",
    ),
    "change their signs": ("difference = (b - c) / n", "difference = abs(b - c) / n"),
    "the smaller of the two counts": ("range(min(b, c) + 1)", "range(c + 1)"),
    "d without a difference and": ("disagreement - difference**2", "disagreement"),
    "a run that begins later": (
        "runs(words, n) & known[n]",
        "{tuple(words[:n])} & known[n]",
    ),
    "a word that is part of another": (
        "bool(runs(words, n) & known[n])",
        "any(' '.join(w) in ' '.join(read) for w in runs(words, n))",
    ),
    "where length is 3": ("[min(length, len", "[min(8, len"),
    "at the four places": (
        SHUFFLE,
        "sorted(range(len(q.choices)), key=lambda i: rng.random() + 0.5 * (i == q.answer))",
    ),
    "the wrong answers keep their order": (
        SHUFFLE,
        "(lambda k, wrong: [*wrong[:k], q.answer, *wrong[k:]])("
        "int(rng.integers(len(q.choices))),"
        " [i for i in range(len(q.choices)) if i != q.answer])",
    ),
    "the same rng gives two results": (
        SHUFFLE,
        "elsewhere.permutation(len(q.choices)).tolist()",
    ),
    "must return (difference, low, high, p)": (
        "return difference, difference - half",
        "return difference - half",
    ),
    "the sign is wrong": ("(b - c) / n", "(c - b) / n"),
    "15 less 5 of 100": ("(b - c) / n", "(b - c) / n / 2"),
    "two separate sets": (
        "math.sqrt(((b + c) / n - difference**2) / n)",
        "math.sqrt((first.var() + second.var()) / n)",
    ),
    "not divided by the root of n": ("- difference**2) / n)", "- difference**2))"),
    "divided by n, not by its root": ("- difference**2) / n)", "- difference**2) / n / n)"),
    "one standard error to each side": ("half = 1.96 *", "half ="),
    "by hand it is": ("half = 1.96 *", "half = 2.576 *"),
    "p is one-sided": ("2 * tail)", "tail)"),
    "this split alone": ("range(min(b, c) + 1)", "[min(b, c)]"),
    "p is one less": ("min(1.0, 2 * tail)", "1 - 2 * tail"),
    "the exact sign test gives": ("range(min(b, c) + 1)", "range(min(b, c))"),
    "the questions on which both agree": (
        "min(1.0, 2 * tail)",
        "min(1.0, 2 * tail * n / n if n == 100 else 2 * tail / n)",
    ),
    "where neither model is ahead": ("min(1.0, 2 * tail)", "2 * tail"),
    "a whole number of questions": ("math.ceil((reach", "float((reach"),
    "Add the second quantile": ("0.8416", "0"),
    "80 % was asked for": ("1.96 * math.sqrt(without)", "2.576 * math.sqrt(without)"),
    "words in a row: an overlap is missed": ("bool(runs(words, n) & known[n])", "False"),
    "case and commas": ('r"\\w+", one.lower()', 'r"\\w+", one'),
    "words out of order": (
        "bool(runs(words, n) & known[n])",
        "len(set(words) & set(read)) >= min(n, 8)",
    ),
    "a question of fewer words": ("[min(length, len(words)) for", "[length for"),
    "one entry for each question": (
        "zip(asked, sizes, strict=True)]",
        "zip(asked, sizes, strict=True)][1:]",
    ),
    "a run that is broken: an overlap is reported": ("[min(length, len", "[min(5, len"),
    "a short question that is not there: an overlap is reported": (
        "[min(length, len(words)) for",
        "[length if len(words) >= length else 2 for",
    ),
    "no run of three where length is 3: an overlap is reported": (
        "[min(length, len",
        "[min(length if length > 3 else 2, len",
    ),
}


def test_the_solution_passes():
    report = project.grade(*(getattr(project_solution, name) for name in PARTS))
    assert report.passed, report


@pytest.mark.parametrize("sentence", FAULTS)
def test_a_planted_fault_is_named(sentence):
    report = project.grade(*planted(*FAULTS[sentence]))
    assert any(sentence in fault for fault in report.faults), report


def test_the_power_is_that_of_a_trinomial():
    """n = 2: both questions to one model is a difference of 2 > 1.96 sqrt(0.6), chance p²."""
    p, q = 0.2, 0.1
    expected = p**2 + q**2 + 2 * p * (1 - p - q) * 0  # |b - c| = 1 is not above 1.518
    assert project.power(2, 0.1, 0.3) == pytest.approx(expected)


def test_the_solution_compares_as_scipy_does():
    first, second = project.rows(31, 9, 17, 43)
    difference, low, high, p = project_solution.compare(first, second)
    assert p == pytest.approx(stats.binomtest(9, 26).pvalue)
    se = (first.astype(float) - second).std() / math.sqrt(100)
    assert (high - low) / 2 == pytest.approx(1.96 * se)
    assert difference == pytest.approx(np.mean(first) - np.mean(second))


def test_a_count_of_numpy_is_a_whole_number():
    functions = {name: getattr(project_solution, name) for name in PARTS}
    functions["enough"] = lambda *a: np.int64(project_solution.enough(*a))
    report = project.grade(*functions.values())
    assert report.passed, report
