"""The form of a page that declares it, and a fault of each kind."""

import nbclient
import nbformat
import notebooks
import page_form as tool
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

EXERCISES = """:::{exercise} By hand (10 minutes, level 1, objective 2)
:label: a
:::

::::{exercise-start} Project: a layer (90 minutes, level 3, objectives 1 and 2)
::::
"""


def code(source, *tags):
    return new_code_cell(source, metadata={"tags": list(tags)})


def page(*cells, prose=EXERCISES):
    """A page in the form, and these cells."""
    start = [
        new_markdown_cell("# T"),
        code("import os", "colab"),
        code('device = "cpu"', "parameters"),
        code("import numpy as np\nimport torch.nn.functional as F", "hide-input"),
        code("from mathlm.claims import check", "remove-cell"),
    ]
    return new_notebook(cells=[*start, *cells, new_markdown_cell(prose)])


LINES = "\n".join(f"print({i})" for i in range(12))


@pytest.mark.parametrize(
    "cell",
    [
        code(f"{LINES}\n\n# checks\nassert np.ones(3).all()\nassert True"),
        code('check("OPT-2-1", x, printed=0.97, claim="It is 0.97.")', "remove-cell"),
        code("plot.figure(" + "1, " * 40 + "2)", "hide-input"),
        code("%pip install x"),
        code("%run -m mathlm sft --data x.jsonl \\\n    --out runs/x"),
    ],
)
def test_a_page_in_the_form_has_no_fault(cell):
    assert tool.faults(page(cell)) == []


@pytest.mark.parametrize(
    ("cell", "fault"),
    [
        (code(f"{LINES}\n1"), "cell [5] shows 13 lines, more than 12"),
        (code(f"{LINES}\n1  # checks\nassert 1"), "cell [5] shows 14 lines"),
        (code("x = " + "1 + " * 22 + "1"), "cell [5] has a line of 93 columns, more than 88"),
        (code("x = 1\n\n# checks\nassert " + "x + " * 22 + "1"), "has a line of 96 columns"),
        (
            code('check("OPT-2-1", x, printed=1)'),
            "cell [5] holds the claim OPT-2-1: claims stand in cells tagged remove-cell",
        ),
        (
            code('remark("OPT-2-1", corrected="a")', "hide-input"),
            "cell [5] holds the claim OPT-2-1",
        ),
        (
            code('check("OPT-2-1", 0.5, printed=0.5)', "remove-cell"),
            "cell [5] types the value of OPT-2-1 on both sides",
        ),
        (code("import math"), "imports in the cells [3, 5]: once, at the top"),
        (
            code("def f():\n    from math import pi\n    return pi"),
            "imports in the cells [3, 5]",
        ),
        (
            code("from mathlm import functional as F", "remove-cell"),
            "cell [5] calls F what is not torch.nn.functional",
        ),
    ],
)
def test_each_fault_of_a_cell_is_found(cell, fault):
    (said,) = tool.faults(page(cell))
    assert fault in said


BOX = ":::{admonition} A common mistake: bits with exp\n:::\n\n"


@pytest.mark.parametrize(
    ("prose", "fault"),
    [
        (BOX * 4 + EXERCISES, "has 4 boxes 'A common mistake: ...', more than 3"),
        (
            f":::{{admonition}} Correction: VOM-1.4-4\n:::\n\n{EXERCISES}",
            "has the box 'Correction: VOM-1.4-4': its reason is why= of the claim",
        ),
        (
            EXERCISES.replace("level 1", "difficulty 1"),
            "titles an exercise 'By hand (10 minutes, difficulty 1, objective 2)', not 'Name",
        ),
        (EXERCISES.replace("level 1", "level 4"), "titles an exercise 'By hand"),
        (EXERCISES.replace("Project: ", ""), "has no exercise titled 'Project: ...'"),
    ],
)
def test_each_fault_of_the_prose_is_found(prose, fault):
    (said,) = tool.faults(page(prose=prose))
    assert fault in said


def test_three_mistakes_are_allowed():
    assert tool.faults(page(prose=BOX * 3 + EXERCISES)) == []


def test_the_form_is_asked_of_chapters_and_no_project_of_guides(tmp_path):
    for name, projects in {"01-x": 1, "guide-x": 0}.items():
        path = tmp_path / f"{name}.ipynb"
        nb = page(prose=BOX * 4)
        path.write_text(notebooks.normalise(nb, name), encoding="utf-8")
        found = notebooks.faults(path)
        assert any("has 4 boxes" in fault for fault in found)
        assert sum("Project" in fault for fault in found) == projects


TEMPLATE = notebooks.BOOK / "lab" / "template.ipynb"


def test_the_template_is_in_the_form_and_is_no_page():
    assert tool.faults(nbformat.read(TEMPLATE, 4)) == []
    assert TEMPLATE not in notebooks.notebooks()


@pytest.mark.slow
def test_the_template_runs(monkeypatch):
    for name, value in notebooks.quiet_environment().items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("PYTHONPATH", str(notebooks.ROOT))
    nb = nbformat.read(TEMPLATE, 4)
    nbclient.NotebookClient(nb, timeout=60, kernel_name="python3").execute()
    assert "0.665" in str(nb.cells)
