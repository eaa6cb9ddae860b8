"""Pages as Colab runs them: with nothing but what their first cells install."""

import colab as tool
import nbformat
import pytest
from notebooks import code_cells, notebooks


@pytest.fixture
def commands(monkeypatch):
    """The commands that the tool would have run, in place of running them."""
    ran = []

    def call(command, **options):
        ran.append([str(part) for part in command])
        failed = "12-transformer-block.ipynb" in ran[-1][3] and "papermill" in ran[-1]
        return tool.subprocess.CompletedProcess(command, failed, "", "KeyError: 'no data'")

    monkeypatch.setattr(tool.subprocess, "run", call)
    return ran


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setattr(tool, "FOLDER", tmp_path)
    return tmp_path


def test_chapters_are_chosen_by_number_and_all_if_none_is_named():
    assert [path.stem for path in tool.chosen(["12", "20"])] == [
        "12-depth",
        "12-transformer-block",
        "20-fast-generation",
        "20-generation",
        "20-serving",
    ]
    assert tool.chosen([]) == notebooks()
    with pytest.raises(SystemExit, match=r"^no chapter is numbered 99; write 07, 13, 27$"):
        tool.chosen(["99"])


def test_the_first_cell_stays_but_for_the_two_names(folder):
    path = tool.chosen(["13"])[0]
    as_read = nbformat.read(path, as_version=4)
    before = [cell.source for cell in code_cells(as_read)]
    after = [cell.source for cell in code_cells(tool.as_on_colab(as_read))]
    assert after[1:] == before[1:]
    assert f"git clone -q --depth 1 {tool.ROOT.as_uri()} {folder}/" in after[0]
    assert tool.address() not in after[0]
    assert "/content" not in after[0].replace(str(folder), "")
    assert before[0].count("%pip install") == after[0].count("%pip install") == 2


def test_a_page_runs_without_the_data_of_the_page_before(commands, folder, capsys):
    assert tool.run(tool.chosen(["13"])[0])
    assert commands[0][1:5] == ["-m", "pip", "uninstall", "-y"]
    assert commands[1][1:3] == ["-m", "papermill"]
    assert capsys.readouterr().out == "13-multi-head-attention: ran\n"


def test_a_page_that_raises_is_shown_and_the_others_still_run(
    commands, folder, capsys, monkeypatch
):
    monkeypatch.setattr(tool, "set_up", lambda: None)
    assert tool.main(["12", "13"]) == 1
    said = capsys.readouterr().out
    assert "12-transformer-block: failed:\nKeyError: 'no data'\n" in said
    assert said.endswith("13-multi-head-attention: ran\n")


def test_a_step_of_the_set_up_that_fails_ends_with_what_it_said(folder):
    with pytest.raises(SystemExit, match=r"^python3 -c 1/0 failed:\n(?s:.)*ZeroDivisionError"):
        tool.call("python3", "-c", "1/0")
