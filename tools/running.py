"""Run the pages of the book: those that changed, the longest first, two at a time.

``_build/executed/<device>`` keeps for each page its notebook with outputs, as far as it came,
and once it has run to its end a key: a hash of all that its outputs depend on.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from queue import SimpleQueue
from typing import NamedTuple

import nbformat
from data_packages import RecordError, opened, require_recorded
from figure_files import SETTINGS, kernel_settings
from notebooks import BOOK, BUILD, ROOT, Notebook, code_cells, quiet_environment, tags

USUAL = 20.0  # [s] for a page of which nothing is known
ANSI = re.compile(r"\x1b\[[0-9;]*m")
ARROW = re.compile(r"^-+> *\d+ +(.*)$", re.MULTILINE)  # marks the line in a traceback


class Failure(NamedTuple):
    """Where a page stopped, and why."""

    cell: int  # number among the code cells, from 1; 0 if no cell is to blame
    line: str  # of code, which raised
    error: str  # in one line

    def __str__(self) -> str:
        return f"cell {self.cell}, {self.line}: {self.error}" if self.cell else self.error


class Run(NamedTuple):
    """One page that was run."""

    page: str
    seconds: float
    failure: Failure | None


# --- what a run left ------------------------------------------------------------------------


def result(page: str, device: str) -> Path:
    """The notebook of the last run, whether it came to its end or not."""
    return BUILD / "executed" / device / f"{page}.ipynb"


def own_cells(nb: Notebook) -> list[Notebook]:
    """The code cells of a page without the one that papermill adds."""
    return [cell for cell in code_cells(nb) if "injected-parameters" not in tags(cell)]


def failure(nb: Notebook) -> Failure | None:
    """The first cell that ended in an error."""
    for number, cell in enumerate(own_cells(nb), start=1):
        for out in cell.outputs:
            if out.output_type == "error":
                return _described(number, cell.source, out)
    return None


def _described(number: int, source: str, error: Notebook) -> Failure:
    marked = ARROW.search(ANSI.sub("", "\n".join(error.traceback)))
    line = marked[1] if marked else source.strip().split("\n")[0]
    said = ANSI.sub("", error.evalue).strip().split("\n")[0][:200]
    return Failure(number, line.strip(), f"{error.ename}: {said}" if said else error.ename)


# --- what must run --------------------------------------------------------------------------


def package_hash() -> str:
    """Hash of whatever a notebook's outputs depend on besides its own code."""
    digest = hashlib.sha256(SETTINGS.encode())
    code = [
        path
        for top in (ROOT / "mathlm", BOOK / "lab")
        for kind in ("*.py", "*.js")
        for path in top.rglob(kind)
    ]
    files = [*code, *(BOOK / "results").glob("*.json")]
    for path in sorted([*files, ROOT / "constraints.txt", ROOT / "data.txt"]):
        digest.update(path.relative_to(ROOT).as_posix().encode() + path.read_bytes())
    return digest.hexdigest()


def run_key(nb: Notebook, device: str, package: str) -> str:
    sources = [cell.source for cell in code_cells(nb)]
    return hashlib.sha256(json.dumps([sources, device, package]).encode()).hexdigest()


def is_unchanged(path: Path, device: str, package: str) -> bool:
    """Whether the last run came to its end and nothing that it depends on has changed."""
    output = result(path.stem, device)
    key = run_key(nbformat.read(path, as_version=4), device, package)
    kept = output.with_suffix(".key")
    return output.exists() and kept.exists() and kept.read_text() == key


class Runner:
    """A process that runs pages one after the other: see ``page_run``."""

    def __init__(self) -> None:
        self.said = tempfile.TemporaryFile("w+")  # noqa: SIM115 (lives as long as the process)
        ipython = str(kernel_settings(BUILD / "cache" / "ipython-figures"))
        here = [str(ROOT / "tools"), *filter(None, [os.environ.get("PYTHONPATH")])]
        self.process = subprocess.Popen(
            [sys.executable, "-c", "import page_run; page_run.serve()"],
            env={
                **quiet_environment(),
                "IPYTHONDIR": ipython,
                "PYTHONPATH": os.pathsep.join(here),
            },
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.said,
            text=True,
        )

    def close(self) -> None:
        """Let it end: there are no more pages."""
        self.process.communicate()
        self.said.close()

    def run(self, path: Path, output: Path, device: str) -> Failure | None:
        """Run one page; what stopped it."""
        notes = output.with_suffix(".opened")
        order = {"page": path, "result": output, "device": device, "opened": notes}
        answer = self.ask({key: str(value) for key, value in order.items()})
        if answer is not None:
            kept = output.exists() and failure(nbformat.read(output, as_version=4))
            return kept or Failure(0, "", answer)
        try:
            require_recorded(path.stem, opened(notes))
        except RecordError as error:
            return Failure(0, "", str(error))
        return None

    def ask(self, order: dict[str, str]) -> str | None:
        """What ``page_run`` answers; what it said last if it has ended."""
        assert self.process.stdin
        assert self.process.stdout
        try:
            print(json.dumps(order), file=self.process.stdin, flush=True)
            return json.loads(self.process.stdout.readline())
        except (BrokenPipeError, json.JSONDecodeError):
            status = self.process.wait()
            self.said.seek(0)
            last = self.said.read().strip().split("\n")[-1]
            return f"the process that runs pages ended with status {status}: {last}"


def execute_one(path: Path, device: str, package: str, runner: Runner) -> Run:
    """Run one page and keep what it shows."""
    output = result(path.stem, device)
    output.parent.mkdir(parents=True, exist_ok=True)
    for old in (output, key := output.with_suffix(".key"), output.with_suffix(".opened")):
        old.unlink(missing_ok=True)
    start = time.perf_counter()
    stopped = runner.run(path, output, device)
    seconds = time.perf_counter() - start
    if stopped is None:
        key.write_text(run_key(nbformat.read(path, as_version=4), device, package))
    return Run(path.stem, seconds, stopped)


# --- how long it takes ----------------------------------------------------------------------


def expected(pages: list[str], device: str) -> dict[str, float]:
    """Seconds that each page took last, here or where the book was made; longest first.

    A page of which nothing is known may be the longest, so it does not start last.
    """
    known = _seconds(ROOT / "tools" / "page_seconds.json") | _seconds(_last(device))
    unknown = max(known.values(), default=USUAL)
    times = {page: known.get(page, unknown) for page in pages}
    return dict(sorted(times.items(), key=lambda item: -item[1]))


def _last(device: str) -> Path:
    return BUILD / "executed" / device / "seconds.json"


def _seconds(file: Path) -> dict[str, float]:
    return json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}


def keep_seconds(runs: list[Run], device: str) -> None:
    """Remember how long the pages took that ran to their end."""
    took = {run.page: round(run.seconds, 1) for run in runs if not run.failure}
    text = json.dumps(_seconds(_last(device)) | took, indent=1, sort_keys=True)
    _last(device).write_text(text + "\n", encoding="utf-8")


def time_left(times: dict[str, float], runs: list[Run], jobs: int, elapsed: float) -> float:
    """Seconds until the last page has run, at the pace of those that have."""
    done = sum(times[run.page] for run in runs)
    pace = sum(run.seconds for run in runs) / done if done else 1.0
    rest = pace * (sum(times.values()) - done)
    whole = pace * max(sum(times.values()) / jobs, *times.values())
    return min(rest, max(whole - elapsed, rest / jobs))


def spoken(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 90 else f"{seconds / 60:.0f} min"


# --- all of them ----------------------------------------------------------------------------


def execute(paths: list[Path], device: str, jobs: int = 2) -> list[Run]:
    """Run the pages that changed, and say how far it is; returns those that failed."""
    package = package_hash()
    changed = {path.stem: path for path in paths if not is_unchanged(path, device, package)}
    if not changed:
        print(f"{len(paths)} pages: nothing to run")
        return []
    times = expected(list(changed), device)
    left = time_left(times, [], jobs, 0)
    print(f"{len(changed)} of {len(paths)} pages to run: about {spoken(left)}", flush=True)
    _make_font_list()
    runs = _all([changed[page] for page in times], device, package, times, jobs)
    return [run for run in runs if run.failure]


def _all(
    paths: list[Path], device: str, package: str, times: dict[str, float], jobs: int
) -> list[Run]:
    start, runs = time.perf_counter(), []
    free = SimpleQueue[Runner]()
    for _ in range(min(jobs, len(paths))):
        free.put(Runner())

    def one(path: Path) -> Run:
        runner = free.get()
        run = execute_one(path, device, package, runner)
        if runner.process.poll() is not None:
            runner.close()
            runner = Runner()
        free.put(runner)
        return run

    pool = ThreadPoolExecutor(jobs)
    try:
        for done in as_completed([pool.submit(one, path) for path in paths]):
            runs.append(done.result())
            keep_seconds(runs, device)
            left = time_left(times, runs, jobs, time.perf_counter() - start)
            print(progress(runs, len(paths), left), flush=True)
    finally:
        pool.shutdown(cancel_futures=True)
        while not free.empty():
            free.get().close()
    return runs


def progress(runs: list[Run], total: int, left: float) -> str:
    """One line: how far it is, which page has just run, and how long the rest takes."""
    run = runs[-1]
    said = f"failed in {run.failure}" if run.failure and run.failure.cell else run.failure
    rest = f"; about {spoken(left)} left" if len(runs) < total else ""
    took = f"{said or 'ran'} ({spoken(run.seconds)})"
    return f"[{len(runs):{len(str(total))}}/{total}] {run.page} {took}{rest}"


def _make_font_list() -> None:
    """Have Matplotlib list the fonts once: on a slow machine it would say so on a page."""
    if not list((BUILD / "cache" / "matplotlib").glob("fontlist*")):
        command = [sys.executable, "-c", "import matplotlib.font_manager"]
        subprocess.run(command, env=quiet_environment(), capture_output=True, check=False)


def cuda_is_there() -> bool:
    code = "import torch; print(torch.cuda.is_available())"
    run = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    return run.stdout.strip() == "True"
