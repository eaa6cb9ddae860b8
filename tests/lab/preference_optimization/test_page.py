"""What the page says where a number alone would mislead."""

import re
from pathlib import Path

import nbformat

PAGE = Path(__file__).parents[3] / "book" / "24-preference-optimization.ipynb"
PROSE = [
    cell.source
    for cell in nbformat.read(PAGE, as_version=4).cells
    if cell.cell_type == "markdown"
]
TRAINED, FROZEN = 2 + 2 + 4 + 4 + 4, 2  # [bytes/parameter], Adam in mixed precision


def paragraphs():
    return "\n\n".join(PROSE).split("\n\n")


def test_the_run_on_the_expected_loss_is_said_to_have_infinitely_many_comparisons():
    (said,) = [p for p in paragraphs() if "keeps its promise" in p]
    assert "infinitely many comparisons" in said
    assert "must not be compared" in said


def test_the_optimum_is_derived_on_another_page_and_linked():
    text = "\n".join(PROSE)
    assert "{eq}`eq-policy-optimum`" in text
    assert "{eq}`eq-policy-gap`" in text
    assert not re.search(r"\$\$ \(eq-pref-(optimum|lack)\)", text)


def test_the_table_of_memory_adds_up():
    rows = re.findall(
        r"^\|(.*)\|$", "\n".join(p for p in PROSE if "bytes per parameter" in p), re.M
    )
    named = {"none": 0, "policy": 1, "reference": 1, "policy, value model": 2}
    named["reference, reward model"] = 2
    found = [[cell.strip() for cell in row.split("|")] for row in rows][2:]
    sizes = [row for row in found if len(row) == 6 and row[3].isdigit()]
    assert len(sizes) == 7
    for _, trained, frozen, each, seven, _ in sizes:
        assert int(each) == TRAINED * named[trained] + FROZEN * named[frozen]
        assert seven == f"{7 * int(each)} GB"
