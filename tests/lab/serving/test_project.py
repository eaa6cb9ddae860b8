"""The project's grader: the solution passes, and each planted fault is named in a sentence."""

import inspect
from collections.abc import Sequence

import pytest

from lab.serving import project, project_solution

SOURCE = inspect.getsource(project_solution.PageTables)
FAULTS = {
    "need 2 pages, not 1": ("-(-len(tokens) // size)", "(len(tokens) // size or 1)"),
    "in pages of 4 need": ("% self.page_size == 0:", "% self.page_size == 1:"),
    "sequences that have ended": ("self.unused.append(page)", "pass"),
    "a page that is not full is shared": (
        "        need =",
        "        shared = shared and self.tables[next(iter(self.tables))][:]\n        need =",
    ),
    "its keys depend on all tokens before them": (
        "page = self.known.get(tuple(tokens[:end]))",
        "ends = {k[-size:]: p for k, p in self.known.items()}\n"
        "            page = ends.get(tuple(tokens[end - size : end]))",
    ),
    "the first 8 tokens are in two full pages": ("page is None", "page is None or end > size"),
    "filled by append is not found": (
        "self.tokens[name].append(token)\n        self._note(name)",
        "self.tokens[name].append(token)",
    ),
    "After the first of two sequences": ("self.count[page] == 0", "self.count[page] >= 0"),
    "given back are found all the same": (
        "self.known = {key: p for key, p in self.known.items() if p != page}",
        "pass",
    ),
    "start must raise MemoryError": (
        'raise MemoryError(f"{need} pages are needed and {len(self.unused)} are free")',
        "self.unused.extend(range(need))",
    ),
    "append must raise MemoryError": (
        'raise MemoryError("a page is needed and none is free")', "pass",
    ),
}  # fmt: skip


def planted(old, new):
    """The solution with one piece of its text changed."""
    assert SOURCE.count(old) == 1
    space = {"Sequence": Sequence}
    exec(SOURCE.replace(old, new), space)
    return space["PageTables"]


def test_the_solution_passes():
    assert project.grade(project_solution.PageTables).passed


@pytest.mark.parametrize("sentence", FAULTS)
def test_a_planted_fault_is_named(sentence):
    report = project.grade(planted(*FAULTS[sentence]))
    assert any(sentence in fault for fault in report.faults), report
