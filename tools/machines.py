"""Run the pages, or the tests, as if on other processors; list what fails, and thin margins.

    python tools/machines.py                           every page on each of the four machines
    python tools/machines.py --machine avx2 07 23      two chapters on one of them
    python tools/machines.py --machine today           the machine of the day, as CI does
    python tools/machines.py --tests tests/recipes     tests in place of pages

PyTorch, oneDNN, MKL and OpenBLAS choose their kernels by the processor. These settings make
them choose another's, which adds in another order: what is trained, sampled or chaotic then
ends elsewhere, as on a reader's machine. A page must raise nowhere and print what is stored.
At the end stand the assertions whose value moved between machines, thinnest margin first.
"""

from __future__ import annotations

import argparse
import datetime
import json
import math
import os
import re
import subprocess
import sys
import xml.etree.ElementTree as ET
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NoReturn

import nbformat
from margins import FOLDER, cell_name
from notebooks import ROOT, notebooks

OUT = ROOT / "_build" / "machines"
MACHINES = {
    "generic": {
        "ATEN_CPU_CAPABILITY": "default",
        "ONEDNN_MAX_CPU_ISA": "SSE41",
        "MKL_ENABLE_INSTRUCTIONS": "SSE4_2",
        "MKL_CBWR": "COMPATIBLE",
        "OPENBLAS_CORETYPE": "Nehalem",
        "OMP_NUM_THREADS": "1",
    },
    "avx2": {
        "ATEN_CPU_CAPABILITY": "avx2",
        "ONEDNN_MAX_CPU_ISA": "AVX2",
        "MKL_ENABLE_INSTRUCTIONS": "AVX2",
        "MKL_CBWR": "AVX2",
        "OPENBLAS_CORETYPE": "Haswell",
        "OMP_NUM_THREADS": "1",
    },
    "native": {"OMP_NUM_THREADS": "1"},
    # passive: threads that spin while they wait stop whoever else is on the core
    "threads": {"OMP_NUM_THREADS": "2", "OMP_WAIT_POLICY": "passive"},
}
STARTUP = "import margins\nmargins.install(get_ipython())\n"
ANSI = re.compile(r"\x1b\[[0-9;]*m")
MOVED = 1e-6  # an assertion is about a trained value if its margin moves by more, relatively


def today() -> str:
    """The machine of the day: each of the four in turn."""
    return list(MACHINES)[datetime.date.today().toordinal() % len(MACHINES)]


def environment(machine: str) -> dict[str, str]:
    """The settings of a machine, and what makes a kernel record its margins."""
    startup = OUT / "ipython" / "profile_default" / "startup"
    startup.mkdir(parents=True, exist_ok=True)
    (startup / "00-margins.py").write_text(STARTUP)
    (OUT / machine).mkdir(exist_ok=True)
    for old in (OUT / machine).glob("*.jsonl"):
        old.unlink()
    paths = [str(ROOT / "tools"), *filter(None, [os.environ.get("PYTHONPATH")])]
    settings = {
        "IPYTHONDIR": str(OUT / "ipython"),
        "MATHLM_PROGRESS": "off",
        "MATHLM_STRICT": "1",
        "PYTHONHASHSEED": "0",
        "PYTHONPATH": os.pathsep.join(paths),
        # code compiled for one machine must not be run on another
        "TORCHINDUCTOR_CACHE_DIR": str(OUT / machine / "inductor"),
        FOLDER: str(OUT / machine),
    }
    return {**os.environ, **settings, **MACHINES[machine]}


def run(machine: str, what: list[str], options: list[str], jobs: int) -> Iterator[str]:
    """Run pytest as if on ``machine``; one line for each case that failed."""
    report = OUT / f"{machine}.xml"
    env = environment(machine)
    command = [sys.executable, "-m", "pytest", f"--junitxml={report}", "--tb=short", *options]
    subprocess.run([*command, "-n", str(jobs), *what], env=env, cwd=ROOT, check=False)
    for case in ET.parse(report).iter("testcase"):
        for fault in [*case.findall("failure"), *case.findall("error")]:
            text = ANSI.sub("", (fault.text or fault.get("message") or "").strip())
            name = f"{case.get('classname')} {case.get('name')}"
            yield f"{machine} {name}\n    " + "\n    ".join(text.splitlines()[-30:])


def margins(machine: str) -> dict[tuple[str, str], dict]:
    """The thinnest margin of each assertion, by where it stands and what it says."""
    thinnest: dict[tuple[str, str], dict] = {}
    for path in (OUT / machine).glob("*.jsonl"):
        for line in path.read_text(encoding="utf-8").splitlines():
            row = json.loads(line)
            key = (row["where"], row["text"])
            if key not in thinnest or row["margin"] < thinnest[key]["margin"]:
                thinnest[key] = row
    return thinnest


def moved(machines: list[str]) -> list[tuple[float, str, str, dict[str, dict]]]:
    """Assertions whose value differs from machine to machine, thinnest first.

    Slack is the smallest margin in units of the largest difference between two machines.
    """
    rows: dict[tuple[str, str], dict[str, dict]] = defaultdict(dict)
    for machine in machines:
        for key, row in margins(machine).items():
            rows[key][machine] = row
    found = []
    for (where, text), on in rows.items():
        spread = _spread([row["margin"] for row in on.values()])
        scale = max(abs(row[side]) for row in on.values() for side in ("left", "right"))
        if spread > MOVED * scale and math.isfinite(spread):
            found.append((min(r["margin"] for r in on.values()) / spread, where, text, on))
    return sorted(found, key=lambda row: row[:3])


def _spread(values: list[float]) -> float:
    return max(values) - min(values)


def table(machines: list[str]) -> Iterator[str]:
    """A line for each assertion on a value that moves: slack, place, sides by machine."""
    places = {
        cell_name(cell.source): f"{path.stem} cell {i}"
        for path in notebooks()
        for i, cell in enumerate(nbformat.read(path, as_version=4).cells)
    }
    for slack, where, text, on in moved(machines):
        sides = ", ".join(
            f"{m} {r['left']:.4g} {r['sign']} {r['right']:.4g}" for m, r in on.items()
        )
        yield f"{slack:8.1f}  {places.get(where, where)}: {text}  [{sides}]"


def pages_of(names: list[str], refuse: Callable[[str], NoReturn]) -> list[str]:
    """Pages that begin with one of ``names``, given alone or as a path; without names all."""
    found: list[str] = []
    for name in names or [""]:
        pages = [str(page) for page in notebooks() if page.name.startswith(Path(name).name)]
        if not pages:
            refuse(f"no page of book/ begins with {name!r}; name chapters (07), or use --tests")
        found += pages
    return sorted(set(found))


def main(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--machine", choices=[*MACHINES, "today"], action="append")
    parser.add_argument("--tests", action="store_true", help="tests in place of pages")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("what", nargs="*", help="chapters (07), or test files")
    args = parser.parse_args(argv)
    machines = [today() if m == "today" else m for m in args.machine or MACHINES]
    if args.tests:
        options = ["-o", "enable_assertion_pass_hook=true", "-p", "margins", "--dist=worksteal"]
        # another machine's kernels and the margins take time that is not the test's
        options += ["--jaxtyping-packages=", "-p", "no:cpu_time"]
        what = args.what or ["tests"]
    else:
        options = ["--nbval", "--nbval-current-env", "--nbval-cell-timeout=300"]
        options += ["-p", "forked_kernels"]
        options += ["--timeout=1800", "--dist=loadfile"]
        what = pages_of(args.what, parser.error)
    failed = [line for m in machines for line in run(m, what, options, args.jobs)]
    print("\n".join(table(machines)))
    print("\n".join(failed) or f"nothing failed on {', '.join(machines)}")
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
