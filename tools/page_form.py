"""The form of a page that a machine can hold: ``tools/notebooks.py check`` asks for it.

A guide has the form of a chapter, but neither exercises nor a project.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

import nbformat
from claims import calls, is_typed

Notebook = nbformat.NotebookNode

LINES, COLUMNS, MISTAKES = 12, 88, 3
LEDGER = "remove-cell"  # the tag of the cells that hold claims
HIDDEN = {LEDGER, "remove-input", "hide-input", "parameters", "colab"}
CHECKS = re.compile(r"^# checks$", re.MULTILINE)
MISTAKE = re.compile(r"^:{3,}\{\w+\} *A common mistake: \S", re.MULTILINE)
CORRECTION = re.compile(r"^:{3,}\{\w+\} *(Correction\b.*)$", re.MULTILINE)
EXERCISE = re.compile(r"^:{3,}\{exercise(?:-start)?\} *(.*)$", re.MULTILINE)
TITLE = re.compile(r".+ \(\d+ minutes, level [123], objectives? \d+(?:(?:, | and )\d+)*\)")


def faults(nb: Notebook, guide: bool = False) -> list[str]:
    """One sentence for each rule of the form that the page breaks."""
    code = [cell for cell in nb.cells if cell.cell_type == "code"]
    found = [f"cell [{n}] {said}" for n, c in enumerate(code, 1) for said in _of_cell(c)]
    prose = "\n\n".join(cell.source for cell in nb.cells if cell.cell_type == "markdown")
    return found + list(_of_imports(code)) + list(_of_prose(prose, guide))


def _tags(cell: Notebook) -> set[str]:
    return set(cell.metadata.get("tags", []))


def _tree(source: str) -> ast.Module:
    return ast.parse(re.sub(r"^(\s*)[%!](?:.*\\\n)*.*$", r"\1pass", source, flags=re.MULTILINE))


def _of_cell(cell: Notebook) -> Iterator[str]:
    """What is wrong with one code cell."""
    shown = CHECKS.split(cell.source)[0].rstrip()
    if not HIDDEN & _tags(cell):
        if (lines := shown.count("\n") + 1) > LINES:
            yield f"shows {lines} lines, more than {LINES}: checks fold below '# checks'"
        if (widest := max(map(len, cell.source.split("\n")))) > COLUMNS:
            yield f"has a line of {widest} columns, more than {COLUMNS}"
    for call in calls(cell.source):
        name = (
            call.args[0].value if call.args and isinstance(call.args[0], ast.Constant) else ""
        )
        if LEDGER not in _tags(cell):
            yield f"holds the claim {name}: claims stand in cells tagged {LEDGER}"
        if is_typed(call):
            yield f"types the value of {name} on both sides: compute it, or make it a remark"


def _of_imports(code: list[Notebook]) -> Iterator[str]:
    """Imports stand once, in the first cell that a reader can open."""
    places = []
    for n, cell in enumerate(code, 1):
        nodes = list(ast.walk(_tree(cell.source)))
        names = [
            a for x in nodes if isinstance(x, ast.Import | ast.ImportFrom) for a in x.names
        ]
        if names and not {LEDGER, "colab"} & _tags(cell):
            places.append(n)
        if any(a.asname == "F" and a.name != "torch.nn.functional" for a in names):
            yield f"cell [{n}] calls F what is not torch.nn.functional"
    if len(places) > 1:
        yield f"imports in the cells {places}: once, at the top"


def _of_prose(prose: str, guide: bool) -> Iterator[str]:
    """Boxes and exercises."""
    if (boxes := len(MISTAKE.findall(prose))) > MISTAKES:
        yield f"has {boxes} boxes 'A common mistake: ...', more than {MISTAKES}"
    for title in CORRECTION.findall(prose):
        yield f"has the box {title!r}: its reason is why= of the claim, on the page of claims"
    titles = EXERCISE.findall(prose)
    for title in titles:
        if not TITLE.fullmatch(title.strip()):
            yield f"titles an exercise {title!r}, not 'Name (10 minutes, level 1, objective 2)'"
    if not guide and not any(title.startswith("Project: ") for title in titles):
        yield "has no exercise titled 'Project: ...'"


__all__ = ["faults"]
