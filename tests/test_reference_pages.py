"""The index of equations and the page of figures, which tools make from the notebooks."""

import base64
import io
import json
import re

import figures_page
import index_page
import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output
from PIL import Image

TABLE = """## In the package

| equation | function | test |
| --- | --- | --- |
| {eq}`eq-a` | `reference.softmax`, `optim.Adam.step` | `tests/x.py::test_y` |
| {eq}`eq-b` | `softmax` with a mask | `z.py` |
"""


def figure(alt, color="red"):
    """A cell that has drawn something 720 wide."""
    out = io.BytesIO()
    Image.new("RGB", (720, 300), color).save(out, "PNG")
    data = {"image/png": base64.b64encode(out.getvalue()).decode()}
    cell = new_code_cell("draw()", outputs=[new_output("display_data", data=data)])
    cell.metadata["mystnb"] = {"image": {"alt": alt}}
    return cell


@pytest.fixture
def chapter():
    """A chapter with two figures."""
    cells = [new_markdown_cell("# Lines"), figure("a < b"), figure("c"), new_code_cell("1")]
    return new_notebook(cells=cells)


def test_an_equation_stands_beside_its_number_unless_it_is_long(tmp_path, monkeypatch):
    short = "$$\n|x| = \\max(x, -x).\n$$ (eq-size)"
    long = f"$$\n{'x + ' * 60}x\n$$ (eq-long)"
    cells = [{"cell_type": "markdown", "source": [text]} for text in (short, long)]
    (tmp_path / "01-a.ipynb").write_text(json.dumps({"cells": cells}), encoding="utf-8")
    monkeypatch.setattr(index_page, "BOOK", tmp_path)
    known = index_page.formulas()
    assert known["eq-size"] == r"|x| = \max(x, -x)"
    beside = r"{eq}`eq-size` $\displaystyle \vert x\vert  = \max(x, -x)$"
    found = index_page.shown("{eq}`eq-size`, {eq}`eq-long`, {eq}`eq-none`", known)
    assert found == f"{beside}, {{eq}}`eq-long`, {{eq}}`eq-none`"
    assert index_page.in_table(r"\|x\|") == r"$\displaystyle \Vert x\Vert $"


def test_a_row_of_a_table_leads_to_equations_and_documented_functions(tmp_path):
    path = tmp_path / "01-x.ipynb"
    nbformat.write(new_notebook(cells=[new_markdown_cell(TABLE)]), path)
    first, second = index_page.rows(path)
    known = {"mathlm.reference.softmax", "mathlm.optim.Adam"}
    assert first[0] == "{eq}`eq-a`"
    assert index_page.linked(first[1], known) == (
        "{py:obj}`reference.softmax <mathlm.reference.softmax>`, "
        "{py:obj}`optim.Adam.step <mathlm.optim.Adam>`"
    )
    assert index_page.linked(second[1], known) == "`softmax` with a mask"
    assert index_page.test_path(first[2]) == "`x.py::test_y`"


def test_what_the_pages_of_the_api_document_is_known():
    known = index_page.documented()
    assert {
        "mathlm.models.GPT",
        "mathlm.reference.softmax",
        "mathlm.scaling.PUBLISHED",
    } <= known


def test_every_figure_is_on_the_page_with_its_text_and_its_place(chapter, tmp_path):
    part = figures_page.part(chapter, "01-lines", tmp_path)
    assert part.startswith("## [Lines](01-lines.ipynb)\n")
    assert '<a href="01-lines.html#figure-1" title="a &lt; b">' in part
    assert part.count("<img ") == 2
    assert chapter.cells[0].source == '# Lines\n\n<span id="figure-1"></span>'
    assert chapter.cells[2].source == '<span id="figure-2"></span>'
    code = [cell.source for cell in chapter.cells if cell.cell_type == "code"]
    assert code == ["draw()", "draw()", "1"]


def test_pictures_on_the_page_are_small_and_made_once(chapter, tmp_path):
    part = figures_page.part(chapter, "01-lines", tmp_path)
    (file,) = figures_page.pictures(part, tmp_path)  # both figures are the same picture
    image = Image.open(file)
    assert image.size == (360, 150)
    assert image.convert("RGBA").getpixel((180, 75)) == (255, 0, 0, 255)
    file.write_bytes(b"kept")
    figures_page.part(chapter, "01-lines", tmp_path)
    assert file.read_bytes() == b"kept"


def glossary():
    """The terms of the glossary, in small letters."""
    text = (index_page.BOOK / "glossary.md").read_text(encoding="utf-8")
    entries = text.split(":sorted:\n\n", 1)[1].split("\n:::", 1)[0]
    return {entry.split("\n")[0].lower() for entry in entries.split("\n\n")}


def linked_terms():
    """The terms that a chapter leads to, in small letters."""
    pages = [*index_page.BOOK.glob("[0-9][0-9]-*.ipynb")]
    prose = "\n".join(text for page in pages for text in index_page.markdown(page))
    found = re.findall(r"\{term\}`(?:[^`<]*<)?([^`>]+)>?`", prose)
    return {term.replace("\n", " ").lower() for term in found}


def test_every_term_of_the_glossary_is_linked_from_a_chapter():
    terms = glossary()
    assert len(terms) > 390
    assert terms - linked_terms() == set()
