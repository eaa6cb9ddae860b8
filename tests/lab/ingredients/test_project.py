"""The project's grader: the solution passes, and each planted fault is named in a sentence."""

import inspect

import pytest

from lab.ingredients import project, project_solution

SOURCE = inspect.getsource(project_solution)


def planted(old, new):
    """The solution with one piece of its text changed."""
    assert SOURCE.count(old) == 1, old
    space = {}
    exec(SOURCE.replace(old, new), space)
    return space["compare"]


PAIRS = "pairs = [runs[seed] - base[seed] for seed in sorted(runs.keys() & base.keys())]"
ERROR = "stdev(pairs) / math.sqrt(len(pairs))"
FAULTS = {
    "each arm has a step size of its own": (
        "runs = tables[arm][best[arm]]",
        "best[arm] = best[baseline]; runs = tables[arm][best[arm]]",
    ),
    "at the step size of the baseline": (
        "runs = tables[arm][best[arm]]",
        "runs = tables[arm][best[baseline]]",
    ),
    "at the step size of the arm": (PAIRS, "base = tables[baseline][best[arm]]; " + PAIRS),
    "is that of two samples": (
        ERROR,
        "math.sqrt((stdev(runs.values()) ** 2 + stdev(base.values()) ** 2) / 3)",
    ),
    "divide by the root of the pairs": (ERROR, "stdev(pairs)"),
    "divides by two": (
        ERROR,
        "(sum((x - mean(pairs)) ** 2 for x in pairs) / 3) ** 0.5 / 3**0.5",
    ),
    "match runs by seed": (
        PAIRS,
        "pairs = [a - b for a, b in zip(runs.values(), sorted(base.values()))]",
    ),
    "has no pair": (PAIRS, "pairs = [runs[s] - base.get(s, 0.0) for s in sorted(runs)]"),
    "take the best mean": ("mean(table[lr].values())", "min(table[lr].values())"),
    "diverged (NaN) is chosen": (
        "math.inf if math.isnan(loss) else loss",
        "3.0 if math.isnan(loss) else loss",
    ),
    "it may lie beyond": ("best in (rates[0], rates[-1])", "False"),
    "is the first of the grid": ("best in (rates[0], rates[-1])", "best == rates[-1]"),
    "the baseline's best step size": (
        "best = {arm: best_of(table) for arm, table in tables.items()}",
        "best = {arm: best_of(table) for arm, table in tables.items() if arm != baseline}; "
        "first = tables[baseline]; "
        "best[baseline] = min(first, key=lambda lr: mean(first[lr].values()))",
    ),
    "as if they were three": ("len(pairs) < 3", "False"),
    "count pairs": ("len(pairs) < 3", "len(runs) < 3"),
    "one entry for each arm but": ("        if arm == baseline:\n            continue\n", ""),
}


def test_the_solution_passes():
    report = project.grade(project_solution.compare)
    assert report.passed, report


@pytest.mark.parametrize("sentence", FAULTS)
def test_a_planted_fault_is_named(sentence):
    report = project.grade(planted(*FAULTS[sentence]))
    assert any(sentence in fault for fault in report.faults), report
