"""Run pages as Colab does, with nothing but what their first cells install.

    python tools/colab.py             every page
    python tools/colab.py 13 17 27    three chapters

A virtual environment has what every machine of Colab has, PyTorch and a kernel; it is empty
otherwise, or stands over the machine's own Python if that runs this, as in Colab's image.
Before each page the data packages are taken out of it. The page then runs with its own first
cell, in which two names differ: the book is copied from the last commit of this checkout, into
``_build/colab``. Exits with 1 if a page raises.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import nbformat
from notebooks import BUILD, ROOT, TIME_OUT, Notebook, code_cells, notebooks, quiet_environment
from notebooks import repository as address

FOLDER = BUILD / "colab"
PYTHON = FOLDER / "venv" / "bin" / "python"
STARTUP = """import sys, types
sys.modules.setdefault("google.colab", types.ModuleType("google.colab"))
"""


def chosen(numbers: list[str]) -> list[Path]:
    """The pages of the chapters; all of them if none is named."""
    pages = [p for p in notebooks() if not numbers or p.stem.split("-")[0] in numbers]
    if not pages:
        raise SystemExit(f"no chapter is numbered {', '.join(numbers)}; write 07, 13, 27")
    return pages


def call(*command: str | Path) -> None:
    """Run a command silently, or end with what it says."""
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    if run.returncode:
        raise SystemExit(f"{' '.join(map(str, command))} failed:\n{run.stderr[-2000:]}")


def set_up() -> None:
    """A fresh environment with PyTorch, a kernel and a stand-in for google.colab."""
    shutil.rmtree(FOLDER, ignore_errors=True)
    machine = [] if sys.prefix != sys.base_prefix else ["--system-site-packages"]
    call(sys.executable, "-m", "venv", *machine, FOLDER / "venv")
    if subprocess.run([PYTHON, "-c", "import torch"], capture_output=True).returncode:
        pins = (ROOT / "constraints.txt").read_text(encoding="utf-8").split()
        call(PYTHON, "-m", "pip", "install", *(p for p in pins if p.startswith("torch==")))
    call(PYTHON, "-m", "pip", "install", "ipykernel", "papermill")
    call(PYTHON, "-m", "ipykernel", "install", "--sys-prefix")
    startup = FOLDER / "ipython" / "profile_default" / "startup"
    startup.mkdir(parents=True)
    (startup / "00-colab.py").write_text(STARTUP, encoding="utf-8")


def as_on_colab(nb: Notebook) -> Notebook:
    """The page with its first cell, which copies this checkout into the folder of the run."""
    cell = code_cells(nb)[0]
    source = cell.source.replace(address(), ROOT.as_uri())
    cell.source = source.replace("/content", str(FOLDER))
    return nb


def run(path: Path) -> bool:
    """Whether the page runs to its end; says so in a line, or shows what it raised."""
    call(PYTHON, "-m", "pip", "uninstall", "-y", "-r", ROOT / "data.txt")
    page, ran = FOLDER / path.name, FOLDER / f"{path.stem}-ran.ipynb"
    nbformat.write(as_on_colab(nbformat.read(path, as_version=4)), page)
    command = [PYTHON, "-m", "papermill", page, ran, "--cwd", FOLDER, "-k", "python3"]
    done = subprocess.run(
        [*command, "--no-progress-bar", "--execution-timeout", str(TIME_OUT)],
        env={**quiet_environment(), "IPYTHONDIR": str(FOLDER / "ipython")},
        capture_output=True,
        text=True,
        check=False,
    )
    said = f"failed:\n{done.stderr[-2000:]}" if done.returncode else "ran"
    print(f"{path.stem}: {said}", flush=True)
    return done.returncode == 0


def main(numbers: list[str]) -> int:
    """Run the pages one after another."""
    pages = chosen(numbers)
    set_up()
    return not all([run(path) for path in pages])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
