"""The book as it is built: the staged copy, a page that failed, one chapter, one at a time."""

import errno
import os
import shutil
import subprocess
import sys
from types import SimpleNamespace

import make_book as tool
import nbformat
import notebooks
import pytest
import running
import staged
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

import mathlm
from mathlm import reference


def page(title="# Lines\n\nText."):
    """Three cells, the second of which will fail."""
    cells = [new_markdown_cell(title)]
    for number in (1, 2, 3):
        cells += [new_code_cell(f"f({number})"), new_markdown_cell(f"After {number}.")]
    return new_notebook(cells=cells)


@pytest.fixture
def book(tmp_path, monkeypatch):
    """A book of two pages and a style, and what their runs left: the second one failed."""
    root = tmp_path / "root"
    (root / "book" / "_static").mkdir(parents=True)
    monkeypatch.setattr(staged, "ROOT", root)
    monkeypatch.setattr(staged, "BOOK", root / "book")
    monkeypatch.setattr(running, "BUILD", tmp_path / "build")
    (root / "book" / "_static" / "custom.css").write_text("a {}")
    (root / "book" / "figures.md").write_text("# Figures\n")
    for name in ("_config.yml", "_toc.yml"):
        (root / name).write_text("")
    for name in ("01-x", "02-y"):
        nbformat.write(page(), root / "book" / f"{name}.ipynb")
        leave(name, shown=3 if name == "01-x" else 1)
    return root / "book"


def leave(name, shown):
    """The result of a run that showed ``shown`` cells; the next one raised."""
    nb = page()
    code = [cell for cell in nb.cells if cell.cell_type == "code"]
    for cell in code[:shown]:
        cell.outputs = [new_output("stream", name="stdout", text="seen\n")]
    for cell in code[shown : shown + 1]:
        cell.outputs = [new_output("error", ename="ValueError", evalue="a < b", traceback=[])]
    output = running.result(name, "cpu")
    output.parent.mkdir(parents=True, exist_ok=True)
    nbformat.write(nb, output)
    if shown == len(code):
        output.with_suffix(".key").touch()


def stage(book):
    to = book.parents[1] / "staged"
    staged.stage(sorted(book.glob("*.ipynb")), "cpu", to)
    return to


def times(folder):
    return {path: path.stat().st_mtime_ns for path in folder.rglob("*") if path.is_file()}


# --- the staged copy ------------------------------------------------------------------------


@pytest.mark.parametrize(
    "source", ['check("VOM-1-2", 1)', "remark(\n    'VOM-1-2', kind=None)"]
)
def test_a_cell_of_claims_has_their_addresses_before_it(source):
    nb = new_notebook(cells=[new_markdown_cell("Text."), new_code_cell(source)])
    staged.place_claims(nb)
    assert nb.cells[0].source == 'Text.\n\n<div id="claim-VOM-1-2"></div>'


def shown_code(text):
    """The HTML that the stager makes of what a cell printed."""
    cell = new_code_cell("show(f)")
    cell.outputs = [new_output("execute_result", data={"text/plain": text})]
    staged.show_code(new_notebook(cells=[cell]))
    return cell.outputs[0].data.get("text/html")


def test_code_that_a_page_shows_leads_to_its_line_its_equation_and_its_test(monkeypatch):
    monkeypatch.setattr(staged, "repository", lambda: "https://github.com/ada/notes")
    shown = mathlm.show(reference.layer_norm)
    html = shown_code(repr(shown))
    path, label, test = shown.places
    line = (notebooks.ROOT / path).read_text("utf-8").split("def layer_norm(")[0].count("\n")
    start = "https://github.com/ada/notes/blob/HEAD"
    assert f'href="{start}/{path}#L{line + 1}"' in html
    assert f'href="12-transformer-block.html#equation-{label}"' in html
    assert f'href="{start}/{test}"' in html
    assert '<span class="k">return</span>' in html


def test_code_leads_to_its_equation_alone_while_the_repository_has_no_address(monkeypatch):
    monkeypatch.setattr(staged, "repository", lambda: "https://github.com/example/notes")
    shown = mathlm.show(reference.layer_norm)
    path, label, _ = shown.places
    html = shown_code(repr(shown))
    assert html.count("href=") == 1
    assert f'href="12-transformer-block.html#equation-{label}"' in html
    assert f"<code>{path}</code>" in html


@pytest.mark.parametrize(
    ("source", "tags", "title"),
    [
        ("import os\nfrom math import pi\nplt.style()", ["hide-input"], "Imports"),
        ("import os\nplot.f()", ["hide-input"], None),
        ("import os", [], None),
        ("%pip x", ["hide-input"], None),
    ],
)
def test_a_folded_cell_of_imports_says_so(source, tags, title):
    cell = new_code_cell(source, metadata={"tags": tags})
    staged.title_imports(new_notebook(cells=[cell]))
    assert cell.metadata.get("mystnb", {}).get("code_prompt_show") == title


@pytest.mark.parametrize("text", ["3", "def f():\n    return 1\n\n# a comment", "a\n\n# b.py"])
def test_another_output_stays_as_it_is(text):
    assert shown_code(text) is None


def test_a_page_that_failed_says_so_below_its_title_and_leads_to_the_cell(book):
    nb = nbformat.read(stage(book) / "book" / "02-y.ipynb", as_version=4)
    top = nb.cells[0].source
    assert top.startswith('# Lines\n\n<div class="admonition error">\n')
    assert '<a href="#failed-cell">Cell 2</a>, <code>f(2)</code>' in top
    assert "<code>ValueError: a &lt; b</code>" in top
    assert "make chapter N=02-y" in top
    assert top.endswith("\n\nText.")
    assert nb.cells[2].source == 'After 1.\n\n<span id="failed-cell"></span>'
    shown = [cell.outputs for cell in nb.cells if cell.cell_type == "code"]
    assert [len(outputs) for outputs in shown] == [1, 1, 0]


def test_a_page_that_ran_says_nothing(book):
    text = (stage(book) / "book" / "01-x.ipynb").read_text()
    assert "admonition" not in text
    assert text.count("seen") == 3


def test_a_page_that_was_changed_while_it_ran_is_told_in_a_sentence(book):
    changed = page()
    changed.cells.append(new_code_cell("f(4)"))
    nbformat.write(changed, book / "01-x.ipynb")
    with pytest.raises(
        SystemExit, match=r"01-x\.ipynb was changed while it ran: give the same"
    ):
        stage(book)


def test_a_page_that_left_nothing_says_that(book):
    running.result("01-x", "cpu").unlink()
    running.result("01-x", "cpu").with_suffix(".key").unlink()
    nb = nbformat.read(stage(book) / "book" / "01-x.ipynb", as_version=4)
    assert "<p>It left no outputs. To repeat this page:" in nb.cells[0].source


def test_what_did_not_change_is_not_touched(book):
    before = times(stage(book))
    assert len(before) == 6
    assert times(stage(book)) == before
    nb = page("# Lines\n\nAnother sentence.")
    nbformat.write(nb, book / "01-x.ipynb")
    after = times(stage(book))
    assert {path.name for path in after if after[path] != before[path]} == {"01-x.ipynb"}


def test_what_the_book_no_longer_holds_is_gone(book):
    stage(book)
    (book / "02-y.ipynb").unlink()
    (book / "_static" / "custom.css").unlink()
    names = {path.name for path in times(stage(book))}
    assert names == {"01-x.ipynb", "figures.md", "_config.yml", "_toc.yml"}


# --- when Sphinx may go on from what it remembers -------------------------------------------


@pytest.fixture
def place(tmp_path):
    """A site that was built to its end without a warning."""
    place = tool.Place(tmp_path)
    (place.staged / "book" / "_ext").mkdir(parents=True)
    (place.staged / "book" / "_ext" / "x.py").touch()
    place.memory.parent.mkdir(parents=True)
    place.memory.touch()
    place.clean.touch()
    os.utime(place.staged / "book" / "_ext" / "x.py", (0, 0))
    return place


def test_a_site_goes_on_from_a_clean_build(place):
    assert not tool.is_outdated(place)


@pytest.mark.parametrize("lost", ["memory", "clean"])
def test_a_build_that_did_not_end_well_is_begun_anew(place, lost):
    getattr(place, lost).unlink()
    assert tool.is_outdated(place)


def test_another_extension_begins_the_build_anew(place):
    os.utime(place.staged / "book" / "_ext" / "x.py", (2**32, 2**32))
    assert tool.is_outdated(place)


def test_a_text_that_changed_after_a_site_was_built_is_named(book):
    """Not a style, which no page refers to, and not a page that runs."""
    (book / "glossary.md").write_text("# Glossary\n")
    to = stage(book)
    assert staged.changed_texts(to) == []
    (book / "_static" / "custom.css").write_text("b {}")
    nbformat.write(page("# Other"), book / "01-x.ipynb")
    assert staged.changed_texts(to) == []
    (book / "glossary.md").write_text("# Words\n")
    (book / "new.md").touch()
    (book.parent / "_toc.yml").write_text("root: x")
    assert sorted(staged.changed_texts(to)) == ["_toc.yml", "glossary.md", "new.md"]


@pytest.mark.parametrize(
    ("built", "changed", "expected"),
    [(True, [], "whole"), (True, ["glossary.md"], "alone"), (False, [], "alone")],
)
def test_a_chapter_goes_into_the_book_only_if_that_is_as_it_is_now(
    tmp_path, monkeypatch, capsys, place, built, changed, expected
):
    whole, alone = place if built else tool.Place(tmp_path / "a"), tool.Place(tmp_path / "b")
    monkeypatch.setattr(tool, "WHOLE", whole)
    monkeypatch.setattr(tool, "ALONE", alone)
    monkeypatch.setattr(tool, "changed_texts", lambda folder: changed)
    assert tool.place_of_chapter() is {"whole": whole, "alone": alone}[expected]
    said = "the site was built before glossary.md changed: make book builds it anew\n"
    assert capsys.readouterr().out == (said if changed else "")


# --- chapters, and what is said -------------------------------------------------------------


def test_a_chapter_is_all_its_pages_and_a_page_is_itself():
    def names(chapter):
        return [path.stem for path in tool.pages_of(chapter)]

    assert names("7") == names("07") == ["07-sequences"]
    assert names("20") == ["20-fast-generation", "20-generation", "20-serving"]
    assert names("19-pretraining") == ["19-pretraining"]


@pytest.mark.parametrize("chapter", ["99", "", "attention"])
def test_a_chapter_that_is_not_there_is_told_with_those_that_are(chapter):
    with pytest.raises(
        SystemExit, match=rf"^no chapter is called '{chapter}': say N=10, or .*"
    ):
        tool.pages_of(chapter)


def test_each_failure_is_told_with_the_command_that_repeats_the_page(capsys):
    stop = running.Failure(30, "assert x > 8", "AssertionError")
    tool.report([running.Run("07-sequences", 4.0, stop)], "cpu")
    assert capsys.readouterr().out == (
        "failed: 07-sequences, cell 30, assert x > 8: AssertionError\n"
        "  make chapter N=07-sequences\n"
    )
    tool.report([running.Run("07-sequences", 4.0, stop)], "cuda")
    assert "make chapter N=07-sequences DEVICE=cuda\n" in capsys.readouterr().out


@pytest.mark.parametrize(("failed", "good", "status"), [(0, 1, 0), (1, 1, 1), (0, 0, 1)])
def test_the_whole_book_is_built_and_the_status_says_whether_all_is_well(
    monkeypatch, capsys, failed, good, status
):
    runs = [running.Run("07-x", 4.0, running.Failure(1, "x", "E"))] * failed
    done = []
    monkeypatch.setattr(tool, "execute", lambda *args: runs)
    monkeypatch.setattr(tool, "stage", lambda *args: done.append("staged"))
    monkeypatch.setattr(tool, "build", lambda *args, **how: done.append("built") or bool(good))
    monkeypatch.setattr(tool, "site_check", SimpleNamespace(main=lambda argv: 0))
    assert tool.make_book("cpu", 2) == status
    assert done == ["staged", "built"]
    assert capsys.readouterr().out.count("make chapter N=07-x") == failed


SPHINX = """import sys
from pathlib import Path
import make_book, notebooks, running
running.BUILD = Path(sys.argv[1])
make_book.ALONE = make_book.Place(running.BUILD)
sys.exit(not make_book.by_itself([notebooks.BOOK / "04-notation.ipynb"], "cpu"))
"""


@pytest.mark.slow
def test_sphinx_shows_a_failure_in_its_place_and_does_not_call_it_a_warning(tmp_path):
    path = notebooks.BOOK / "04-notation.ipynb"
    nb = nbformat.read(path, as_version=4)
    code = [cell for cell in nb.cells if cell.cell_type == "code"]
    trace = ["\x1b[31mValueError\x1b[39m: a planted fault"]
    for cell in code[6:]:
        cell.outputs = []
    code[6].outputs = [new_output("error", ename="ValueError", evalue="1 < 2", traceback=trace)]
    (output := tmp_path / "executed" / "cpu" / path.name).parent.mkdir(parents=True)
    nbformat.write(nb, output)
    command = [sys.executable, "-c", SPHINX, tmp_path]
    tools = {**os.environ, "PYTHONPATH": str(notebooks.ROOT / "tools")}
    run = subprocess.run(command, env=tools, capture_output=True, text=True)
    assert (run.returncode, run.stderr) == (0, "")
    html = (tmp_path / "site/_build/html/book/04-notation.html").read_text()
    top, place = html.index("did not run to its end"), html.index('id="failed-cell"')
    assert html.index("<h1>") < top < html.index("After this page you can") < place
    assert "<code>ValueError: 1 &lt; 2</code>" in html[top:place]
    assert html[place:].count("cell_output ") == 1
    assert "a planted fault" in html[place:]


# --- bad input ------------------------------------------------------------------------------

HOLD = """import fcntl, os, sys, time
file = open(sys.argv[1], "w")
fcntl.flock(file, fcntl.LOCK_EX)
print(os.getpid(), end="", file=file, flush=True)
print("held", flush=True)
time.sleep(60)
"""


def test_a_second_build_names_the_first_and_takes_over_when_that_was_killed(tmp_path):
    command = [sys.executable, "-c", HOLD, tmp_path / "lock"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as first:
        assert first.stdout.readline() == "held\n"
        said = rf"^process {first.pid} builds the book in .* already: wait until it ends, or"
        with pytest.raises(SystemExit, match=said), tool.alone(tmp_path):
            pass
        first.kill()
        first.wait()
        with tool.alone(tmp_path):
            assert (tmp_path / "lock").read_text() == str(os.getpid())


def test_a_disk_that_is_too_full_is_told_before_anything_runs(tmp_path, monkeypatch):
    monkeypatch.setattr(shutil, "disk_usage", lambda path: SimpleNamespace(free=5_000_000))
    with pytest.raises(
        SystemExit, match="has 5 MB free, and the book takes 1000: make room there"
    ):
        tool.require_room(tmp_path)


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EACCES, errno.EROFS])
def test_what_the_system_refuses_is_told_in_one_sentence(monkeypatch, code):
    def refuse(argv):
        raise OSError(code, os.strerror(code), "/there/_build")

    monkeypatch.setattr(tool, "main", refuse)
    with pytest.raises(SystemExit, match="'/there/_build': mend that, then run this again"):
        tool.spoken_main([])


def test_another_error_keeps_its_traceback(monkeypatch):
    monkeypatch.setattr(tool, "main", lambda argv: os.stat("/there/is/no/such"))
    with pytest.raises(FileNotFoundError):
        tool.spoken_main([])


def test_an_interrupted_build_says_how_to_go_on(monkeypatch):
    def interrupt(argv):
        raise KeyboardInterrupt

    monkeypatch.setattr(tool, "main", interrupt)
    with pytest.raises(SystemExit, match="stopped: the same command goes on"):
        tool.spoken_main([])


def test_addresses_of_pages_can_be_opened_from_folders_with_blanks_and_umlauts(tmp_path):
    place = tool.Place(tmp_path / "Bücher und mehr")
    assert place.address("index").endswith(
        "/B%C3%BCcher%20und%20mehr/site/_build/html/index.html"
    )
