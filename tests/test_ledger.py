"""The ledger as it is collected from the notebooks."""

import json
import re

import claims as tool
import claims_page
import claims_sources
import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook
from staged import place_claims

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


@pytest.mark.slow
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
    page = claims_page.pages(ledger, {"01-a": "Norms"})["claims-vom-1.md"]
    link = '<a href="01-a.html#claim-VOM-1.4-4">Norms</a>'
    assert f"**VOM-1.4-4** · {link}\\\nPrinted 4.0, right: 5.0\n\nWhy.\n" in page


def test_a_correction_without_its_note_is_a_fault(tmp_path):
    _, found = tool.collect([write(tmp_path, "01-a.ipynb", WRONG)])
    assert found == ["01-a: VOM-1.4-4 has no note 'Correction: VOM-1.4-4' and no why="]


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


# --- what a call says of its claim ----------------------------------------------------------

TOLD = 'check("OPT-2-1", x, printed=1, corrected=2, claim="It is 1.", kind="wrong", severity=4'


def test_a_reason_in_the_call_is_the_note_of_a_page_without_a_box(tmp_path):
    ledger, found = tool.collect([write(tmp_path, "01-a.ipynb", f'{TOLD}, why="It is $2$.")')])
    assert found == []
    assert ledger[0]["note"] == "It is $2$."
    assert (ledger[0]["claim"], ledger[0]["kind"], ledger[0]["severity"]) == (
        "It is 1.",
        "wrong",
        "4",
    )


def test_a_remark_tells_its_claim_too(tmp_path):
    code = 'remark("OPT-2-1", corrected="No.", claim="Yes.", why="Because.", severity=2)'
    ledger, found = tool.collect([write(tmp_path, "01-a.ipynb", code)])
    assert found == []
    assert (ledger[0]["verdict"], ledger[0]["claim"]) == ("remarked", "Yes.")


@pytest.mark.parametrize(
    ("code", "typed"),
    [
        ('check("OPT-2-1", 0.076, printed=0.076)', True),
        ('claims.check("OPT-2-1", 2 * [1, 0.5], printed=0.076)', True),
        ('check("OPT-2-1", x, printed=0.076)', False),
        ('check("OPT-2-1", [len(a), 2], printed=[1, 2])', False),
        ('remark("OPT-2-1", corrected="No.")', False),
    ],
)
def test_a_value_typed_on_both_sides_is_noticed(code, typed):
    (call,) = tool.calls(code)
    assert tool.is_typed(call) is typed


# --- the pages ------------------------------------------------------------------------------


def claim(id, verdict="corrected", **told):
    given = {"printed": "1", "corrected": "2", "note": "Why."}
    if verdict == "verified":
        given = {"printed": "1"}
    return {"id": id, "chapter": "01-a", "verdict": verdict, **given, **told}


def pages(*ledger):
    return claims_page.pages(list(ledger), {"01-a": "Norms & more"})


def test_the_worst_errors_come_first_in_two_sentences():
    told = {"claim": "It is $1$.", "why": "It is 2. Always."}
    page = pages(
        claim("OPT-1-1", severity="4", kind="imprecise", **told),
        claim("OPT-1-2", severity="4", kind="wrong", claim="B."),
        claim("OPT-1-5", severity="5", kind="wrong"),  # without a sentence: in the table alone
        claim("OPT-1-3", severity="5", kind="rounding", claim="C."),
        claim("OPT-1-4"),
    )["claims.md"].split("## All corrections")[0]
    assert re.findall(r"^(\d)\. .*?>(OPT-1-\d)<", page, re.M) == [
        ("1", "OPT-1-3"),
        ("2", "OPT-1-2"),
        ("3", "OPT-1-1"),
    ]
    assert "3. *It is $1$.* It is 2. (<a" in page
    assert "1. *C.* Right is 2. (<a" in page


def test_what_a_rule_implies_is_said_to_be_implied():
    implied = {"implied": "8", "severity": "3", "claim": "C."}
    entry = {k: v for k, v in claim("OPT-1-1", **implied).items() if k != "printed"}
    made = pages(entry)
    assert "implied 8, right 2" in made["claims.md"]
    assert "Implied 8, right: 2" in made["claims-opt.md"]


def test_thirty_errors_are_enough():
    page = pages(*(claim(f"OPT-1-{i}", severity="3", claim="C.") for i in range(40)))[
        "claims.md"
    ]
    assert len(re.findall(r"^\d+\. ", page, re.M)) == 30


def test_the_table_has_every_correction_once_with_its_address_and_nothing_verified():
    page = pages(
        claim("VOM-9.8-1", kind="wrong", severity="5", claim="a < b"),
        claim("OPT-1-1", "remarked", note="Why."),
        claim("OPT-1-2", "verified"),
    )["claims.md"]
    assert re.findall(r'<tr id="([^"]+)">', page) == ["OPT-1-1", "VOM-9.8-1"]
    row = (
        '<tr id="VOM-9.8-1"><td><a href="claims-vom-1.html#VOM-9.8-1">VOM-9.8-1</a></td>'
        "<td>a &lt; b printed 1, right 2</td><td>wrong</td><td>5</td>"
        '<td><a href="01-a.html#claim-VOM-9.8-1">Norms &amp; more</a></td></tr>'
    )
    assert row in page
    assert "OPT-1-2" not in page


def test_what_is_verified_is_folded_with_its_statement():
    page = pages(claim("OPT-1-2", "verified", claim="Weights sum to 1."))["claims-opt.md"]
    assert ":::{dropdown} 1 verified\n" in page
    assert (
        '<a id="OPT-1-2" href="01-a.html#claim-OPT-1-2">OPT-1-2</a> | Weights sum to 1.' in page
    )


def test_the_longest_source_has_two_pages():
    names = [f"{s}-1-1" for s in ("OPT", "VOM", "AIM", "MFP")] + [
        "VOM-8-1",
        "VOM-9-1",
        "VOM-G-1",
    ]
    found = pages(*map(claim, names))
    assert list(found) == [
        "claims.md",
        *(f"claims-{s}.md" for s in ("opt", "vom-1", "vom-2", "aim", "mfp")),
    ]
    assert "# VOM 1 to 10: Vectors" in found["claims-vom-1.md"]
    assert "VOM-G-1" in found["claims-vom-2.md"]
    assert "[VOM 11 to the end](claims-vom-2.md)" in found["claims.md"]


def test_claims_of_one_note_stand_together_above_it():
    page = pages(claim("OPT-1-1"), claim("OPT-1-2"), claim("OPT-1-3", note="B"))[
        "claims-opt.md"
    ]
    assert page.count("Why.") == 1
    assert (
        page.index("OPT-1-2") < page.index("Why.") < page.index("OPT-1-3") < page.index("\nB\n")
    )


def test_every_id_has_one_address_on_the_pages_of_its_source():
    text = "\n".join(p.read_text("utf-8") for p in tool.BOOK.glob("claims-*.md"))
    ledger = json.loads((tool.BOOK / "claims.json").read_text("utf-8"))
    assert sorted(re.findall(r'id="([^"]+)"', text)) == sorted(c["id"] for c in ledger)


# --- against the sources --------------------------------------------------------------------


def lost(tmp_path, id, printed, text):
    (tmp_path / f"{id[:3]}.txt").write_text(text, encoding="utf-8")
    claims_sources.values.cache_clear()
    return claims_sources.lost([{"id": id, "chapter": "01-a", "printed": printed}], tmp_path)


@pytest.mark.parametrize(
    ("printed", "text"),
    [
        ("0.97", "gives 0.97."),
        ("[50257, 3]", "50,257 tokens in 3 sets"),
        ("-0.25", "it is −0.25 there"),
        ("8.8e13", "$8.8 \\times 10^{13}$"),
        ("0.12", "about 12% lower"),
        ("175 * 10**9", "10 to the 9, 175"),
        ("175000000000.0", "175 billion parameters"),
        ("True", ""),
        ("king", ""),
    ],
)
def test_a_number_is_found_as_a_source_may_write_it(tmp_path, printed, text):
    assert lost(tmp_path, "VOM-1.4-1", printed, text) == []


def test_a_number_of_another_section_is_told(tmp_path):
    text = "1.4 Norms . . . 3\n\n## 1.4 Norms\nis 5\n### 1.4.1 More\nis 6\n## 1.5 Rank\nis 7\n"
    assert lost(tmp_path, "VOM-1.4-1", "6", text) == []
    assert lost(tmp_path, "VOM-1.4-1", "7", text) == ["VOM-1.4-1 (01-a): 7 not in section 1.4"]
    assert lost(tmp_path, "VOM-1.4-1", "8", text) == [
        "VOM-1.4-1 (01-a): 8 not in section 1.4 nor elsewhere in the source"
    ]


def test_a_topic_ends_where_the_next_begins(tmp_path):
    text = "1\nSoftmax\nis 0.5\n2\nDot\nis 0.7\n"
    assert lost(tmp_path, "OPT-1-1", "0.5", text) == []
    assert lost(tmp_path, "OPT-1-1", "0.7", text) == ["OPT-1-1 (01-a): 0.7 not in section 1"]


def test_a_source_that_is_not_at_hand_is_passed_over(tmp_path):
    assert claims_sources.lost([claim("AIM-1-1")], tmp_path) == []


def test_claims_in_a_cell_that_follows_another_cell_have_their_places():
    claims = 'check("VOM-1.1-2", 1, printed=1)\nremark("OPT-1-2", corrected="x")'
    nb = new_notebook(
        cells=[new_markdown_cell("# T"), new_code_cell("1"), new_code_cell(claims)]
    )
    place_claims(nb)
    nbformat.validate(nb)
    places = '<div id="claim-VOM-1.1-2"></div><div id="claim-OPT-1-2"></div>'
    assert [cell.source for cell in nb.cells] == ["# T", "1", places, claims]
