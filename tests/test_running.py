"""How pages are run: which, in what order, what a failure leaves, how long it takes."""

import json
import os
import subprocess
import sys
import time

import data_packages
import nbformat
import notebooks
import pytest
import running as tool
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

TRACEBACK = [
    "Cell In[3], line 2",
    "\x1b[32m      1\x1b[0m x = 7",
    "----> 2 assert x > \x1b[31m8\x1b[0m",
]


def page(*sources):
    """A notebook with a title, its parameter, and these cells."""
    parameters = new_code_cell('device = "cpu"', metadata={"tags": ["parameters"]})
    cells = [new_markdown_cell("# T"), parameters, *(new_code_cell(s) for s in sources)]
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    return new_notebook(cells=cells, metadata={"kernelspec": kernel})


def raised(ename="AssertionError", evalue="", traceback=()):
    return new_output("error", ename=ename, evalue=evalue, traceback=[*traceback])


@pytest.fixture
def build(tmp_path, monkeypatch):
    """A folder of its own for what pages leave, and for what is known of times and data."""
    monkeypatch.setattr(tool, "BUILD", tmp_path / "build")
    monkeypatch.setattr(tool, "ROOT", tmp_path / "root")
    monkeypatch.setattr(tool, "require_recorded", lambda page, packages: None)
    (tmp_path / "root" / "tools").mkdir(parents=True)
    return tmp_path / "build"


def saved(tmp_path, name, nb):
    nbformat.write(nb, tmp_path / f"{name}.ipynb")
    return tmp_path / f"{name}.ipynb"


# --- what must run --------------------------------------------------------------------------


def test_a_changed_code_cell_runs_again_and_changed_prose_does_not():
    nb = page("assert 1")
    key = tool.run_key(nb, "cpu", "hash")
    nb.cells[0].source = "# Another title"
    assert tool.run_key(nb, "cpu", "hash") == key
    nb.cells[-1].source = "assert 2"
    assert tool.run_key(nb, "cpu", "hash") != key
    assert tool.run_key(nb, "cpu", "other package") != tool.run_key(nb, "cpu", "hash")


def test_a_page_is_unchanged_only_with_its_result_and_its_key(build, tmp_path):
    path = saved(tmp_path, "01-x", nb := page("1"))
    output = tool.result("01-x", "cpu")
    output.parent.mkdir(parents=True)
    output.with_suffix(".key").write_text(tool.run_key(nb, "cpu", "hash"))
    assert not tool.is_unchanged(path, "cpu", "hash")
    output.touch()
    assert tool.is_unchanged(path, "cpu", "hash")
    assert not tool.is_unchanged(path, "cuda", "hash")
    assert not tool.is_unchanged(path, "cpu", "another")


# --- what a failure says --------------------------------------------------------------------


def test_a_failure_names_the_cell_the_line_and_the_error():
    nb = page("x = 7\nassert x > 8")
    nb.cells.insert(2, new_code_cell("x", metadata={"tags": ["injected-parameters"]}))
    nb.cells[3].outputs = [raised("AssertionError", "\x1b[1mno\nmore", TRACEBACK)]
    assert tool.failure(nb) == (2, "assert x > 8", "AssertionError: no")
    assert str(tool.failure(nb)) == "cell 2, assert x > 8: AssertionError: no"


def test_an_error_without_text_or_traceback_has_its_name_and_the_first_line():
    nb = page("f(1)\ng(2)")
    nb.cells[2].outputs = [raised("MemoryError")]
    assert tool.failure(nb) == (2, "f(1)", "MemoryError")
    assert tool.failure(page("1")) is None


# --- how long it takes ----------------------------------------------------------------------


def ran(name, seconds):
    return tool.Run(name, seconds, None)


def test_the_longest_pages_come_first_and_an_unknown_one_is_among_them(build):
    assert set(tool.expected(["a", "b"], "cpu").values()) == {tool.USUAL}
    (build / "executed" / "cpu").mkdir(parents=True)
    tool.keep_seconds([ran("a", 10.0), ran("b", 50.0)], "cpu")
    tool.keep_seconds([tool.Run("b", 1.0, tool.Failure(1, "x", "E"))], "cpu")
    times = tool.expected(["a", "new", "b"], "cpu")
    assert list(times.items()) == [("new", 50.0), ("b", 50.0), ("a", 10.0)]


def test_the_table_of_the_book_names_its_pages():
    table = json.loads((tool.ROOT / "tools" / "page_seconds.json").read_text())
    assert set(table) <= {path.stem for path in notebooks.notebooks()}
    assert all(seconds > 0.2 for seconds in table.values())


def test_times_measured_here_stand_before_those_of_the_book(build):
    table = {"a": 5.0, "b": 7.0}
    (tool.ROOT / "tools" / "page_seconds.json").write_text(json.dumps(table))
    (build / "executed" / "cpu").mkdir(parents=True)
    tool.keep_seconds([ran("a", 9.0)], "cpu")
    assert tool.expected(["a", "b"], "cpu") == {"a": 9.0, "b": 7.0}


def test_the_time_left_is_shared_by_the_workers_and_goes_by_the_pace_so_far():
    times = {"a": 40.0, "b": 30.0, "c": 20.0, "d": 10.0}
    assert tool.time_left(times, [], 2, 0) == 50  # 100 s of work for two
    assert tool.time_left(times, [ran("a", 80.0)], 2, 80) == 60  # half as fast, 120 s of work
    assert tool.time_left(times, [ran(n, s) for n, s in times.items()], 2, 55) == 0


def test_no_run_ends_before_its_longest_page():
    assert tool.time_left({"a": 90.0, "b": 10.0}, [], 2, 0) == 90


def test_a_line_says_how_far_it_is_and_how_long_the_rest_takes():
    runs = [ran("a", 3.0), ran("10-attention", 21.0)]
    assert tool.progress(runs, 32, 200) == "[ 2/32] 10-attention ran (21 s); about 3 min left"
    assert tool.progress(runs, 2, 0) == "[2/2] 10-attention ran (21 s)"
    runs += [tool.Run("b", 4.0, tool.Failure(7, "f(x)", "TypeError: x"))]
    assert "b failed in cell 7, f(x): TypeError: x (4 s)" in tool.progress(runs, 32, 9)


# --- for real -------------------------------------------------------------------------------


KILL = "import os, signal\nos.kill(os.getpid(), signal.SIGKILL)"


@pytest.fixture
def real(tmp_path, monkeypatch):
    """Runs that leave what they leave in a folder of their own."""
    monkeypatch.setattr(tool, "BUILD", tmp_path / "build")
    monkeypatch.setattr(data_packages, "record", lambda: {})
    return tmp_path


@pytest.mark.slow
def test_pages_that_fail_keep_what_they_showed_and_where_they_stopped(real, capsys):
    """An error, and a kernel that is killed: at once, not after the time-out of a cell."""
    start = time.monotonic()
    bad = saved(real, "01-x", page("print(41 + 1)", "assert 1 > 2, 'no'", "print('late')"))
    dead, good = saved(real, "02-y", page("print(7)", KILL)), saved(real, "03-z", page("1"))
    failed = tool.execute([bad, dead, good], "cpu", jobs=3)
    stops = {run.page: run.failure for run in failed}
    assert stops["01-x"] == (3, "assert 1 > 2, 'no'", "AssertionError: no")
    assert stops["02-y"][0] == 3
    assert "DeadKernelError" in stops["02-y"].error
    first, second, third = tool.own_cells(nbformat.read(tool.result("01-x", "cpu"), 4))[1:]
    assert first.outputs[0].text == "42\n"
    assert (second.outputs[0].ename, third.outputs) == ("AssertionError", [])
    assert [p.stem for p in (real / "build").rglob("*.key")] == ["03-z"]
    assert "[3/3]" in capsys.readouterr().out
    assert time.monotonic() - start < 120


@pytest.mark.slow
def test_a_run_that_opens_an_unrecorded_package_is_no_result(real):
    """One that a process of its own opens, as recipes do."""
    code = "'from mathlm.text import numerals; numerals.spell(7, \"en\")'"
    child = page(f"import subprocess, sys\nsubprocess.run([sys.executable, '-c', {code}])")
    (run,) = tool.execute([saved(real, "02-y", child)], "cpu")
    assert "02-y read the data packages ['num2words']" in run.failure.error
    assert not list((real / "build").rglob("*.key"))


@pytest.mark.slow
def test_a_kernel_is_a_fork_that_shows_figures_and_has_none_of_our_modules(real):
    known = "import sys; print([m in sys.modules for m in ('torch', 'mathlm')])"
    figure = "import matplotlib.pyplot as plt\n_ = plt.plot([1, 2])"
    env = "import os; print(os.getpid() == os.getpgid(0), os.path.basename(os.getcwd()))"
    talk = "print(get_ipython().kernel.parent.transport)"
    pages = [saved(real, name, page(known, figure, env, talk)) for name in ("01-x", "02-y")]
    assert tool.execute(pages, "cpu", jobs=1) == []
    for name in ("01-x", "02-y"):
        nb = nbformat.read(tool.result(name, "cpu"), as_version=4)
        first, second, third, last = (cell.outputs for cell in tool.own_cells(nb)[1:])
        assert first[0].text == f"[{sys.platform == 'linux'}, False]\n"
        assert "image/png" in second[0].data
        assert third[0].text == "True book\n"
        assert last[0].text == ("ipc\n" if sys.platform == "linux" else "tcp\n")


KILL_PARENT = """import os, signal, time
open("FOLDER/kernel", "w").write(str(os.getpid()))
os.kill(int(open("FOLDER/runner").read()), signal.SIGKILL)
time.sleep(60)
"""


def ends(process, within=20.0):
    """Whether a process is gone after some seconds."""
    for _ in range(int(10 * within)):
        try:
            os.kill(process, 0)
        except ProcessLookupError:
            return True
        time.sleep(0.1)
    return False


@pytest.mark.slow
def test_the_page_whose_process_was_killed_says_so_and_the_next_one_runs(real, monkeypatch):
    runners = list[tool.Runner]()

    class Watched(tool.Runner):
        def __init__(self):
            super().__init__()
            runners.append(self)

    monkeypatch.setattr(tool, "Runner", Watched)
    pages = [saved(real, name, page("1")) for name in ("01-x", "02-y")]
    kill = KILL_PARENT.replace("FOLDER", str(real))
    pages[0] = saved(real, "01-x", page(kill))
    start = subprocess.Popen

    def started(*args, **options):
        process = start(*args, **options)
        if "page_run" in str(args):
            (real / "runner").write_text(str(process.pid))
        return process

    monkeypatch.setattr(subprocess, "Popen", started)
    (failed,) = tool.execute(pages, "cpu", jobs=1)
    assert failed.page == "01-x"
    assert "the process that runs pages ended with status -9" in failed.failure.error
    assert ends(int((real / "kernel").read_text()))
    assert [runner.process.returncode for runner in runners] == [-9, 0]
