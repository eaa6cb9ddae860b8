"""The ledger as it is collected from the notebooks."""

import json

import claims as tool
import pytest

NOTE = ":::{admonition} Correction: VOM-1.4-4\n:class: attention\nWhy.\n:::\n"
WRONG = 'check("VOM-1.4-4", 5.0, printed=4.0, corrected=5.0)'


def write(folder, name, code, prose="# A title\n"):
    cells = [
        {"cell_type": "markdown", "source": prose},
        {"cell_type": "code", "source": code},
    ]
    path = folder / name
    path.write_text(json.dumps({"cells": cells}), encoding="utf-8")
    return path


def test_committed_ledger_is_what_the_notebooks_say():
    assert tool.main(["check"]) == 0


def test_claims_are_read_without_running_the_code(tmp_path):
    path = write(tmp_path, "01-a.ipynb", '%pip x\ncheck("OPT-2-1", boom(), printed=0.97)')
    ledger, found = tool.collect([path])
    expected = {"id": "OPT-2-1", "chapter": "01-a", "verdict": "verified", "printed": "0.97"}
    assert (ledger, found) == ([expected], [])


def test_a_correction_with_its_note_is_in_the_ledger(tmp_path):
    ledger, found = tool.collect([write(tmp_path, "01-a.ipynb", WRONG, NOTE)])
    assert found == []
    assert ledger[0]["verdict"] == "corrected"
    page = tool.page(ledger, {"01-a": "Norms"})
    assert "- **VOM-1.4-4** ([Norms](01-a.ipynb)): printed 4.0, right: 5.0\n\n  Why.\n" in page


def test_a_correction_without_its_note_is_a_fault(tmp_path):
    _, found = tool.collect([write(tmp_path, "01-a.ipynb", WRONG)])
    assert found == ["01-a: VOM-1.4-4 has no note 'Correction: VOM-1.4-4'"]


def test_a_note_without_its_correction_is_a_fault(tmp_path):
    _, found = tool.collect([write(tmp_path, "01-a.ipynb", "1", NOTE)])
    assert found == ["01-a: the note on VOM-1.4-4 corrects a claim that no cell checks"]


def test_an_id_used_twice_is_a_fault(tmp_path):
    paths = [write(tmp_path, f"0{i}-a.ipynb", 'check("OPT-2-1", 1, printed=1)') for i in (1, 2)]
    _, found = tool.collect(paths)
    assert found == ["OPT-2-1 is used in 01-a and 02-a: twice"]


@pytest.mark.parametrize(
    ("id", "fault"),
    [
        ("VOM-99.1-1", "01-a: VOM-99.1-1: VOM has no section 99.1"),
        ("OPT-11-1", "01-a: OPT-11-1: OPT has no section 11"),
        ("XYZ-1-1", "01-a: 'XYZ-1-1' is not SOURCE-section-number"),
    ],
)
def test_an_unknown_claim_is_a_fault(tmp_path, id, fault):
    _, found = tool.collect([write(tmp_path, "01-a.ipynb", f'check("{id}", 1, printed=1)')])
    assert found == [fault]


def test_an_id_that_is_computed_is_an_error(tmp_path):
    path = write(tmp_path, "01-a.ipynb", "check(name, 1, printed=1)")
    with pytest.raises(tool.LedgerError, match="needs its id as a literal string"):
        tool.collect([path])


def test_a_printed_number_that_loses_a_zero_needs_its_tolerance(tmp_path):
    path = write(tmp_path, "01-a.ipynb", 'check("OPT-2-1", x, printed=[0.5, 0.50])')
    _, found = tool.collect([path])
    assert found == ["01-a: 0.50 is read without its last zero: give tol="]
    path = write(tmp_path, "01-a.ipynb", 'check("OPT-2-1", x, printed=0.50, tol=0.005)')
    assert tool.collect([path])[1] == []
