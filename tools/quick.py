"""What one runs while working: two minutes, or seconds for one file.

    python tools/quick.py                                       the unit tests but for long ones
    python tools/quick.py mathlm/optim/adam.py                  what concerns this file

The first leaves out cases marked ``slow`` and the folders of ``LEFT_OUT``, and checks no
annotations. The second runs ruff and mypy, the tests that mirror the file, with annotations,
and the rules about sources and API pages. ``make test`` runs everything.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from pathlib import Path

from mutate import TESTED_ELSEWHERE

ROOT = Path(__file__).resolve().parents[1]
LEFT_OUT = ("faults", "lab", "recipes")
MARKED = ["-m", "not slow and not gpu and not weekly"]
UNCHECKED = "--jaxtyping-packages="
RULES = ["tests/test_architecture.py", "tests/docs/test_api_pages.py"]


def mirrors(file: str) -> list[str]:
    """The tests of a file: those that bear its name, those of its folder if there are none."""
    path = Path(file)
    if path.parts[0] == "tests":
        return [file]
    if path.parts[0] != "mathlm" and path.parts[:2] != ("book", "lab"):
        return _existing([Path("tests") / f"test_{path.name}"])
    folder = Path("tests", *path.parts[1:-1])
    inner = "/".join(path.parts[1:])
    named = [Path("tests", name) for name in TESTED_ELSEWHERE.get(inner, [])]
    beside = sorted((ROOT / folder).glob(f"test_{path.stem}*.py"))
    named += [folder / test.name for test in beside if folder / test.name not in named]
    return _existing(named) or _existing([folder])


def _existing(paths: list[Path]) -> list[str]:
    return [path.as_posix() for path in paths if (ROOT / path).exists()]


def commands(file: str, jobs: int) -> list[list[str]]:
    """What to run, in order, for a file or, without one, for all of them."""
    pytest = [sys.executable, "-m", "pytest"]
    if not file:
        left_out = [f"--ignore=tests/{name}" for name in LEFT_OUT]
        spread = ["-n", str(jobs), "--dist", "worksteal"]
        return [[*pytest, *spread, UNCHECKED, *MARKED, *left_out, "tests"]]
    ruff, mypy = (str(Path(sys.executable).parent / name) for name in ("ruff", "mypy"))
    form = [[ruff, "format", "--check", file], [ruff, "check", file]]
    tests = [[*pytest, *found]] if (found := mirrors(file)) else []
    if not file.startswith(("mathlm/", "book/lab/")):
        return [*form, *tests]
    return [*form, [mypy, file], *tests, [*pytest, UNCHECKED, *RULES]]


def main(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("file", nargs="?", default="")
    parser.add_argument("--jobs", type=int, default=2)
    args = parser.parse_args(argv)
    if args.file and not (ROOT / args.file).is_file():
        raise SystemExit(f"no file {args.file} in {ROOT}: give its path from there")
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    failed = []
    for command in commands(args.file, args.jobs):
        if subprocess.run(command, cwd=ROOT, env=environment, check=False).returncode:
            failed.append(" ".join(command[1:] if command[0] == sys.executable else command))
    for command in failed:
        print("failed:", command)
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
