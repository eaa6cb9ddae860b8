"""Everything that a GPU can show, in one call of ten minutes: measurements, pages, tests.

    make gpu                       with .venv where there is one, else with python3
    python3 tools/gpu.py --dry     what would run, and what would not and why
    python3 tools/gpu.py --device cpu --only 10-attention      the same on a CPU, for trying it

It needs Python 3.11, torch, NumPy, matplotlib, jaxtyping, hypothesis, pytest and transformers;
no network, no Jupyter, no installed mathlm. What else is missing is named, and what needs it is
passed over. ``make gpu-data`` packs the data packages that pages read, for the journey to a
machine that cannot fetch them; they are unpacked here.

The record, ``book/results/gpu.json`` and a copy in the folder that the variable OUT names, is
written anew whenever a step ends: after a stop at any moment it holds what was done. A run on
the CPU writes ``_build/gpu/cpu.json``. The whole call on such a machine is one line::

    PYTHONUNBUFFERED=1 make gpu 2>&1 | tee $OUT/log
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import deque
from dataclasses import dataclass, field
from pathlib import Path

import gpu_data

ROOT = Path(__file__).resolve().parents[1]
TOOLS, BOOK, BUILD = ROOT / "tools", ROOT / "book", ROOT / "_build" / "gpu"
MEASURES = {"ceilings": 60, "train": 150, "memory": 60, "decode": 90}  # [s] at most
FOLDERS = ("optim", "functional", "layers", "adapt", "interpret", "generate", "models")
FOLDERS += ("train", "align")  # of tests; the quick ones first
MARK = "pytest.mark." + "gpu"
SLOWEST = ("25-features", "26-scaling-laws", "27-whole-stack")  # pages that come last
LIMIT = 300  # [s] of a page, or of a folder of tests
KEPT = 20  # faults of one step in the record
PROBE = """import json, numpy, platform, torch
cuda = torch.cuda.is_available()
print(json.dumps({
    "device": torch.cuda.get_device_name() if cuda else None,
    "memory": torch.cuda.get_device_properties(0).total_memory if cuda else None,
    "versions": {"python": platform.python_version(), "numpy": numpy.__version__,
                 "torch": torch.__version__, "cuda": torch.version.cuda},
}))"""


@dataclass
class Step:
    """One process: what it runs, how long it may take, whether it needs the machine alone."""

    name: str
    command: list[str]
    limit: int
    alone: bool = False
    lacks: list[str] = field(default_factory=list)

    @property
    def report(self) -> Path:
        """Where it says, line by line, how far it has come."""
        return BUILD / f"{self.name.replace(' ', '-').replace('/', '-')}.jsonl"


@dataclass
class Job:
    """A step that runs."""

    step: Step
    process: subprocess.Popen
    began: float

    def over(self) -> bool:
        """Whether it took longer than it may."""
        return time.monotonic() - self.began > self.step.limit

    def stop(self) -> None:
        """End its process and whatever that has started."""
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()


# --- what there is to do --------------------------------------------------------------------


def pages() -> list[Path]:
    """Every page, the slowest last."""
    return sorted(BOOK.glob("[0-9][0-9]-*.ipynb"), key=lambda p: (p.stem in SLOWEST, p.stem))


def page_step(path: Path, device: str) -> Step:
    """One page, and the data packages that it would read and are not here."""
    lacks = gpu_data.missing(gpu_data.reads(path.read_text(encoding="utf-8")))
    command = [str(TOOLS / "gpu_page.py"), str(path), "--device", device]
    return Step(f"page {path.stem}", command, LIMIT, lacks=lacks)


def measure_step(name: str, device: str, limit: int) -> Step:
    """One kind of measurement, which has the machine to itself."""
    command = [str(TOOLS / "gpu_measure.py"), name, "--device", device]
    return Step(f"measure {name}", command, limit, alone=True)


def test_step(name: str, places: list[str], device: str) -> Step:
    """Tests, with nothing of pytest that a bare machine lacks."""
    command = ["-m", "pytest", "-p", "gpu_tests", "--on", device, "-q", "--tb=short"]
    command += ["-o", "addopts=", "--import-mode=importlib", "-p", "no:cacheprovider"]
    command += ["-p", "no:cpu_time"]  # the first use of a GPU takes long, in whichever case
    command += ["-W", "ignore::pytest.PytestConfigWarning", "--continue-on-collection-errors"]
    return Step(f"tests {name}", [*command, "-m", "not slow", *places], LIMIT)


def marked() -> list[str]:
    """Files with tests that need an accelerator."""
    files = sorted((ROOT / "tests").rglob("test_*.py"))
    return [str(p) for p in files if MARK in p.read_text(encoding="utf-8")]


def plan(device: str, only: str = "") -> list[Step]:
    """Every step in its order: measurements, marked tests, pages among tests, comparisons."""
    steps = [measure_step(name, device, limit) for name, limit in MEASURES.items()]
    steps += [test_step("marked gpu", marked(), device)] if marked() else []
    tests = [test_step(f, [str(ROOT / "tests" / f)], device) for f in FOLDERS]
    for page in pages():
        steps += [page_step(page, device), *tests[:1]]
        tests = tests[1:]
    steps.append(measure_step("rows", device, 150))
    return [step for step in steps if only in step.name]


# --- what was found -------------------------------------------------------------------------


def lines(path: Path) -> list[dict]:
    """What a step reported, but for a line that a stop cut off."""
    found = []
    for line in path.read_text(encoding="utf-8").splitlines() if path.exists() else []:
        try:
            found.append(json.loads(line))
        except json.JSONDecodeError:
            break
    return found


def result(job: Job, why: str = "") -> dict:
    """How a step ended, what raised first, and what it measured."""
    said = lines(job.step.report)
    raised = [line for line in said if "raised" in line]
    last = said[-1] if said else {}
    ended = {k: v for k, v in last.items() if k != "ended"} if "ended" in last else {}
    state = "ran" if "ended" in last else "stopped" if why else "died"
    found = {"state": "raised" if raised and state == "ran" else state, **ended}
    found["wall"] = round(time.monotonic() - job.began, 1)
    if state != "ran":
        at = last.get("at") or last.get("measured") or "the start"
        found["why"] = f"{why or f'exit status {job.process.returncode}'}, at {at}"
        found["log"] = tail(job.step)
    found |= {"measured": figures} if (figures := measured(said)) else {}
    found |= {"raised": raised[:KEPT], "faults": len(raised)} if raised else {}
    if passed := [line for line in said if "passed" in line]:
        found |= {"passed_over": len(passed), "passed": passed[:KEPT]}
    return found


def measured(said: list[dict]) -> dict[str, dict]:
    """Figures by name."""
    named = [dict(line) for line in said if "measured" in line]
    return {line.pop("measured"): line for line in named}


def tail(step: Step, length: int = 1500) -> str:
    """The end of what a step printed."""
    path = step.report.with_suffix(".log")
    return path.read_text(errors="replace")[-length:] if path.exists() else ""


class Record:
    """What is known so far, on the disk after every change."""

    def __init__(self, path: Path, head: dict) -> None:
        self.places = [path]
        if out := os.environ.get("OUT"):
            self.places.append(Path(out) / path.name)
        self.began = time.monotonic()
        self.data: dict = {**head, "steps": {}, "not_run": {}, "failed": []}
        self.write()

    def add(self, name: str, found: dict) -> None:
        """A step that ended."""
        self.data["steps"][name] = found
        if found["state"] != "ran":
            self.data["failed"].append(name)
        self.write()

    def write(self) -> None:
        """Replace each copy at once: a reader never sees half of one."""
        self.data["seconds"] = round(time.monotonic() - self.began, 1)
        text = json.dumps(self.data, indent=1, sort_keys=True) + "\n"
        for path in self.places:
            path.parent.mkdir(parents=True, exist_ok=True)
            with tempfile.NamedTemporaryFile("w", dir=path.parent, delete=False) as file:
                file.write(text)
            os.chmod(file.name, 0o644)  # of a temporary file, nobody else could read it
            os.replace(file.name, path)


# --- running --------------------------------------------------------------------------------


def environment(jobs: int) -> dict[str, str]:
    """Where the package, the plugin and the data are found; a share of the cores."""
    threads = max(1, (os.cpu_count() or 1) // jobs)
    paths = [str(ROOT), str(TOOLS), str(gpu_data.SITE)]
    paths += filter(None, [os.environ.get("PYTHONPATH")])
    settings = {"PYTHONHASHSEED": "0", "MATHLM_PROGRESS": "off", "MPLBACKEND": "Agg"}
    settings |= {"PYTHONPATH": os.pathsep.join(paths), "OMP_NUM_THREADS": str(threads)}
    return {**os.environ, **settings}


def start(step: Step, env: dict[str, str]) -> Job:
    """Begin a step, in a group of processes of its own so that it can be ended whole."""
    step.report.unlink(missing_ok=True)
    log = step.report.with_suffix(".log").open("w")
    command = [sys.executable, *step.command, "--report", str(step.report)]
    process = subprocess.Popen(
        command, env=env, cwd=ROOT, stdout=log, stderr=subprocess.STDOUT, process_group=0
    )
    log.close()
    return Job(step, process, time.monotonic())


class Run:
    """Goes through the steps, some side by side, until they or the time end."""

    def __init__(self, steps: list[Step], record: Record, jobs: int, seconds: float) -> None:
        self.waiting, self.running, self.record = deque(steps), [], record
        self.jobs, self.end = jobs, record.began + seconds
        self.env = environment(jobs)
        self.running: list[Job]

    def go(self) -> None:
        """Every step; whatever happens, none is left running and the record is whole."""
        try:
            while (self.waiting or self.running) and time.monotonic() < self.end:
                self.look()
                time.sleep(0.05)
            why = "the time of the whole call was up"
        except (KeyboardInterrupt, SystemExit):
            why = "the call was stopped"
        for job in self.running:
            self.finish(job, why)
        self.record.data["not_run"] = {step.name: why for step in self.waiting}
        self.record.write()

    def look(self) -> None:
        """Take in what ended, and start what there is room for."""
        for job in [*self.running]:
            if job.process.poll() is not None or job.over():
                self.running.remove(job)
                self.finish(job, f"longer than {job.step.limit} s" if job.over() else "")
        if self.waiting and self.room(self.waiting[0]):
            self.running.append(start(self.waiting.popleft(), self.env))

    def room(self, step: Step) -> bool:
        """Whether a step may start beside those that run."""
        if step.alone or any(job.step.alone for job in self.running):
            return not self.running
        return len(self.running) < self.jobs

    def finish(self, job: Job, why: str) -> None:
        """Record how a step ended, and say so."""
        job.stop()
        found = result(job, why)
        self.record.add(job.step.name, found)
        print(said(job.step.name, found), flush=True)


def said(name: str, found: dict) -> str:
    """A step in one line."""
    parts = [f"{found['state']:8}{found['wall']:6.1f} s  {name}"]
    if found.get("passed_over"):
        parts.append(f"{found['passed_over']} passed over")
    for fault in found.get("raised", [])[:1]:
        parts.append(f"{found['faults']} raised; first {fault['at']}: {fault['raised'][:200]}")
    parts += [found["why"]] if "why" in found else []
    return ", ".join(parts)


# --- the command ----------------------------------------------------------------------------


def probe() -> dict:
    """Device and versions, as another process sees them."""
    run = subprocess.run([sys.executable, "-c", PROBE], capture_output=True, text=True)
    if run.returncode:
        last = run.stderr.strip().splitlines()[-1]
        raise SystemExit(f"{sys.executable} lacks what every step needs, {last}: install it")
    return json.loads(run.stdout)


def outline(steps: list[Step]) -> str:
    """The plan, with what is not here."""
    rows = []
    for step in steps:
        lack = f"  without {', '.join(step.lacks)}: what needs it is passed over"
        rows.append(f"{step.name}, at most {step.limit} s{lack if step.lacks else ''}")
    return "\n".join(rows)


def summary(record: Record) -> str:
    """What failed first, then the rest; what did not run."""
    data = record.data
    rows = [said(name, data["steps"][name]) for name in data["failed"]]
    rows = [f"failed first: {rows[0]}", *rows[1:]] if rows else ["nothing failed"]
    late = ", ".join(data["not_run"])
    rows += [f"not run, for {next(iter(data['not_run'].values()))}: {late}"] if late else []
    done = len(data["steps"]) - len(data["failed"])
    return "\n".join(
        [*rows, f"{done} steps ran in {data['seconds']:.0f} s: {record.places[0]}"]
    )


def keep_logs() -> None:
    """Copy what was printed to OUT, as one archive."""
    if out := os.environ.get("OUT"):
        shutil.make_archive(str(Path(out) / "gpu-logs"), "gztar", BUILD)


def main(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--device", default="cuda", choices=["cuda", "cpu"])
    parser.add_argument("--dry", action="store_true", help="print the plan")
    parser.add_argument("--only", default="", help="steps with this in their name")
    parser.add_argument("--jobs", type=int, default=max(1, (os.cpu_count() or 2) // 2))
    parser.add_argument("--seconds", type=float, default=560)
    args = parser.parse_args(argv)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    unpacked = gpu_data.unpack()
    found, steps = probe(), plan(args.device, args.only)
    if args.dry:
        print(f"{found['device'] or 'no CUDA device'}, {found['versions']}, data: {unpacked}")
        print(outline(steps))
        return 0
    if args.device == "cuda" and found["device"] is None:
        print(f"torch {found['versions']['torch']} sees no CUDA device: nothing was run")
        return 1
    if args.device == "cpu":
        found["device"] = f"{platform.machine()} CPU"
    path = BOOK / "results" / "gpu.json" if args.device == "cuda" else BUILD / "cpu.json"
    lacking = {s.name: s.lacks for s in steps if s.lacks}
    BUILD.mkdir(parents=True, exist_ok=True)
    record = Record(path, {**found, "jobs": args.jobs, "lacking": lacking})
    Run(steps, record, args.jobs, args.seconds).go()
    print(summary(record))
    keep_logs()
    return bool(record.data["failed"] or record.data["not_run"])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
