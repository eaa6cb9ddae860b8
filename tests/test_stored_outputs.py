"""What a page showed when it ran against what it stores."""

import copy

import nbformat
import pytest
import stored_outputs
from nbformat.v4 import new_code_cell, new_notebook, new_output

PRINTED = new_output("stream", name="stdout", text="1.5\n")
VALUE = new_output("execute_result", data={"text/plain": "<f at 0x7f12ab34cd56>"})
HTML = new_output("display_data", data={"text/html": "<b>", "image/png": "iVBOR"})


def page(*outputs, tags=()):
    """A page of one code cell with these outputs."""
    cell = new_code_cell("f()", outputs=copy.deepcopy(list(outputs)))
    cell.metadata["tags"] = list(tags)
    return new_notebook(cells=[cell])


def test_the_same_outputs_do_not_differ():
    run = page(PRINTED, VALUE, HTML)
    injected = new_code_cell('device = "cpu"')
    injected.metadata["tags"] = ["injected-parameters"]
    run.cells.insert(0, injected)
    assert stored_outputs.differences(page(PRINTED, VALUE, HTML), run) == []


def test_addresses_and_pictures_and_the_parts_of_a_stream_are_no_difference():
    stored = page(
        PRINTED,
        new_output("execute_result", data={"text/plain": "<f at 0xADDR>"}),
        new_output("display_data", data={"text/html": "<b>"}),
    )
    parts = [new_output("stream", name="stdout", text=text) for text in ("1.", "5\n")]
    assert stored_outputs.differences(stored, page(*parts, VALUE, HTML)) == []


@pytest.mark.parametrize(
    "other",
    [
        new_output("stream", name="stdout", text="1.6\n"),
        new_output("stream", name="stderr", text="1.5\n"),
        new_output("execute_result", data={"text/plain": "1.5\n"}),
        new_output("error", ename="ValueError", evalue="x", traceback=[]),
        None,
    ],
    ids=["value", "stream", "kind", "error", "nothing"],
)
def test_another_output_is_named_with_both_texts(other):
    run = page(*filter(None, [other]))
    found = " ".join(stored_outputs.differences(page(PRINTED), run))
    assert "code cell 1: stdout is" in found
    assert r"stored is '1.5\n'" in found


def test_an_output_that_is_not_stored_is_a_difference():
    (found,) = stored_outputs.differences(page(), page(PRINTED))
    assert found == r"code cell 1: stdout is '1.5\n', stored is None"


def test_cells_whose_values_depend_on_chance_are_not_compared():
    tagged = page(PRINTED, tags=["nbval-ignore-output"])
    assert stored_outputs.differences(tagged, page()) == []


def test_a_page_that_did_not_run_is_a_difference(tmp_path, monkeypatch):
    monkeypatch.setattr(stored_outputs, "result", lambda name, device: tmp_path / name)
    nbformat.write(page(), tmp_path / "01-x.ipynb")
    (found,) = stored_outputs.compare(tmp_path / "01-x.ipynb")
    assert found.startswith("has not run")
