"""Execute the code cells of one page in this process: no Jupyter, no kernel, no IPython.

    python tools/gpu_page.py book/10-attention.ipynb --device cuda --report page.jsonl

Each cell leaves a line in the report when it begins, and one more if it raises, so that a stop
at any moment shows how far the page came. A cell that reads data or imports a package that is
not there is passed over, as is every later cell that needs a name which such a cell did not
bind; the others run, so one call shows all that fails. ``--device pretended`` finds tensors on
two devices without a GPU (tests/recipes/pretended_cuda.py).
"""

from __future__ import annotations

import argparse
import ast
import builtins
import json
import linecache
import os
import sys
import time
import traceback
import types
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
LONG = 600  # characters of a message, or lines of a traceback, that a record keeps
Note = Callable[..., None]


def code_cells(path: Path) -> list[tuple[list[str], str]]:
    """Tags and source of each code cell, in order."""
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    code = [cell for cell in cells if cell["cell_type"] == "code"]
    return [(cell["metadata"].get("tags", []), "".join(cell["source"])) for cell in code]


def execute(source: str, name: str, space: dict[str, Any]) -> Any:
    """Run one cell in ``space``; the value of its last line if that is an expression."""
    linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
    tree = ast.parse(source, name)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, name, "exec", dont_inherit=True), space)
    if last is None:
        return None
    code = compile(ast.Expression(last.value), name, "eval", dont_inherit=True)
    return eval(code, space)


def show(*values: Any) -> None:
    """Print each value as a notebook would show it: its HTML if it has any."""
    for value in values:
        rich = getattr(value, "_repr_html_", None)
        html = rich() if rich is not None and not isinstance(value, type) else None
        if value is not None:
            print(repr(value) if html is None else html)


def names(source: str) -> tuple[set[str], set[str]]:
    """Names that a cell binds, and names that it reads."""
    bound, read = set(), set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Name):
            (read if isinstance(node.ctx, ast.Load) else bound).add(node.id)
        elif isinstance(node, ast.FunctionDef | ast.ClassDef):
            bound.add(node.name)
        elif isinstance(node, ast.alias):
            bound.add((node.asname or node.name).split(".")[0])
    return bound, read


def is_missing(error: BaseException) -> bool:
    """Whether an error says that something was not brought along."""
    if isinstance(error, ModuleNotFoundError):
        return (error.name or "").split(".")[0] != "mathlm"
    return type(error).__name__ == "DataNotFoundError"


def message(error: BaseException) -> str:
    """Type and message, in one line."""
    return f"{type(error).__name__}: {error}".replace("\n", " ")[:LONG]


def where(error: BaseException) -> str:
    """The last lines of the traceback, of the page and of the project's own files."""
    frames = traceback.extract_tb(error.__traceback__)
    own = [f for f in frames if f.filename.startswith("<") or "/mathlm/" in f.filename]
    lines = [f"{Path(f.filename).name}:{f.lineno} {f.line}" for f in own]
    return "\n".join(lines[-6:])[-LONG:]


class Page:
    """The cells of a notebook, the names that they share, and the names that are not bound."""

    def __init__(self, path: Path, device: str, note: Note) -> None:
        self.path, self.device, self.note = path, device, note
        self.broken: set[str] = set()
        self.faults = self.passed = 0
        module = types.ModuleType("__main__")
        sys.modules["__main__"], self.space = module, vars(module)

    def run(self) -> None:
        """Every cell, in order."""
        for number, (tags, source) in enumerate(code_cells(self.path), start=1):
            if "colab" in tags:
                continue
            source = f'device = "{self.device}"' if "parameters" in tags else source
            self.note(at=f"cell {number}")
            self.cell(number, source)

    def cell(self, number: int, source: str) -> None:
        """One cell; an error is noted, and the names that it left unbound."""
        try:
            bound, read = names(source)
            if lacking := sorted((read - bound) & self.broken):
                self.pass_over(number, f"needs {', '.join(lacking)}", bound)
                return
            before = {name: self.space.get(name) for name in bound}
            show(execute(source, f"<{self.path.stem} cell {number}>", self.space))
            self.broken -= bound
        except (Exception, SystemExit) as error:
            self.failed(number, error, source, locals().get("before", {}))
        finally:
            close_figures()

    def failed(self, number: int, error: BaseException, source: str, before: dict) -> None:
        """Note an error, or that something was not brought along."""
        unbound = {name for name, old in before.items() if self.space.get(name) is old}
        lost = isinstance(error, NameError) and error.name in self.broken
        if lost or is_missing(error):
            self.pass_over(number, message(error), unbound)
            return
        self.broken |= unbound
        self.faults += 1
        at = where(error)
        self.note(at=f"cell {number}", raised=message(error), where=at, source=source[:LONG])
        print(f"cell {number} raised {message(error)}\n{at}", file=sys.stderr)

    def pass_over(self, number: int, why: str, unbound: set[str]) -> None:
        """Note that a cell was not run."""
        self.broken |= unbound
        self.passed += 1
        self.note(at=f"cell {number}", passed=why)


def close_figures() -> None:
    """What Jupyter does after each cell."""
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")


def peak_memory() -> int:
    """Most bytes that the page had on the GPU; 0 shows that it never used it."""
    torch = sys.modules.get("torch")
    if torch is None or not torch.cuda.is_initialized():
        return 0
    return torch.cuda.max_memory_allocated()


def reporter(path: Path) -> Note:
    """Appends one line of JSON for each call, which is on the disk when it returns."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("")

    def note(**said: Any) -> None:
        with path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(said) + "\n")

    return note


def collect_warnings() -> set[str]:
    """The set to which every warning adds its text from now on."""
    said: set[str] = set()

    def keep(text: Warning | str, category: type[Warning], *rest: Any, **more: Any) -> None:
        said.add(f"{category.__name__}: {text}".split("\n")[0][:LONG])

    warnings.showwarning = keep
    return said


def pretend() -> str:
    """From here on tensors of the CPU refuse what those of a GPU refuse; what they call it."""
    sys.path.append(str(ROOT / "tests"))
    from recipes.pretended_cuda import pretended_cuda

    Page.pretense = pretended_cuda()  # type: ignore[attr-defined]
    Page.pretense.__enter__()  # type: ignore[attr-defined]
    return "cuda"


def main(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("page", type=Path)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--report", type=Path, required=True)
    args = parser.parse_args(argv)
    os.environ |= {"MPLBACKEND": "Agg", "MATHLM_PROGRESS": "off"}
    builtins.display = show  # type: ignore[attr-defined]
    page, report = args.page.resolve(), args.report.resolve()
    said, note, start = collect_warnings(), reporter(report), time.perf_counter()
    os.chdir(page.parent)
    sys.path[0] = str(ROOT)
    device = pretend() if args.device == "pretended" else args.device
    run = Page(page, device, note)
    run.run()
    note(
        ended=True, seconds=round(time.perf_counter() - start, 1), peak_bytes=peak_memory(),
        warned=sorted(said)[:5],
    )  # fmt: skip
    return run.faults > 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
