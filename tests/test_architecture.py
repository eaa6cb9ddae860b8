"""Rules about the source itself."""

import ast
import inspect
import json
import pkgutil
import re
import statistics
import subprocess
import sys
import types
from importlib import import_module
from pathlib import Path

import pytest

import mathlm

ROOT = Path(mathlm.__file__).parent
BOOK = ROOT.parent / "book"
FILES = sorted(ROOT.rglob("*.py"))
ORDER = {name: i for i, name in enumerate(mathlm.__all__)}
NO_TORCH = {"shapes", "errors", "progress", "claims", "reference", "text"}
SOURCES = pytest.mark.parametrize("file", FILES, ids=lambda f: str(f.relative_to(ROOT)))


def layer(file):
    parts = file.relative_to(ROOT).with_suffix("").parts
    return parts[0] if parts != ("__init__",) else None


def imports(file):
    """Absolute dotted names imported by ``file``."""
    package = ("mathlm", *file.relative_to(ROOT).parts[:-1])
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else ()
            yield from (
                ".".join((*base, *filter(None, [node.module]), a.name)) for a in node.names
            )


def upward(file, name):
    """Why ``file`` may not import ``name``, or nothing."""
    top, _, rest = name.partition(".")
    target, own = rest.split(".")[0], layer(file)
    if top == "torch" and own in NO_TORCH:
        return f"{own} must not import torch"
    if top == "matplotlib" and own != "plot":
        return f"{own} must not import matplotlib: plot is the only one that does"
    if top != "mathlm" or target not in ORDER or own is None:
        return None
    if ORDER[target] > ORDER[own]:
        return f"{own} may not import {target}, which comes after it"
    if target == "reference" and own not in {"reference", "plot", "recipes"}:
        return "the torch half may not use the reference, its witness"
    if target == "recipes" and own != "recipes":
        return "nothing imports recipes"
    return None


@SOURCES
def test_layers_import_only_downwards(file):
    assert [why for name in imports(file) if (why := upward(file, name))] == []


@SOURCES
def test_no_file_uses_both_torch_and_the_reference(file):
    names = list(imports(file))
    uses_torch = any(name.split(".")[0] == "torch" for name in names)
    assert not (uses_torch and any(name.startswith("mathlm.reference") for name in names))


def test_an_upward_import_is_noticed():
    assert upward(ROOT / "text" / "x.py", "mathlm.models.gpt").startswith("text may not import")
    assert upward(ROOT / "text" / "x.py", "torch") == "text must not import torch"
    assert upward(ROOT / "layers" / "x.py", "mathlm.reference").startswith("the torch half")


def bodies(file):
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.FunctionDef):
            body = node.body[1:] if ast.get_docstring(node) else node.body
            yield node.name, body[-1].end_lineno - body[0].lineno + 1 if body else 0


@SOURCES
def test_files_and_functions_stay_readable(file):
    is_list_of_exports = file.name == "__init__.py"
    assert is_list_of_exports or file.read_text(encoding="utf-8").count("\n") <= 400
    assert {name: lines for name, lines in bodies(file) if lines > 40} == {}


def test_half_of_all_functions_have_11_lines_or_less():
    lengths = [lines for file in FILES for _, lines in bodies(file)]
    assert statistics.median(lengths) <= 11


def test_recipes_are_short():
    too_long = {
        f.name for f in (ROOT / "recipes").glob("*.py") if len(f.read_text().split("\n")) > 121
    }
    assert too_long == set()


@pytest.mark.parametrize("name", mathlm.__all__)
def test_exports_exist_and_do_not_hide_modules(name):
    package = import_module(f"mathlm.{name}")
    stems = {p.stem for p in (ROOT / name).glob("*.py")}
    for export in package.__all__:
        thing = getattr(package, export)
        if not isinstance(thing, types.ModuleType):
            assert export not in stems, f"{export} would hide {name}/{export}.py"


def test_every_module_imports():
    for module in pkgutil.walk_packages(mathlm.__path__, "mathlm."):
        import_module(module.name)


def public_things():
    for name in mathlm.__all__:
        package = import_module(f"mathlm.{name}")
        for export in package.__all__:
            thing = getattr(package, export)
            if inspect.isfunction(thing) or inspect.isclass(thing):
                yield f"{name}.{export}", thing


def markdown():
    for path in sorted(BOOK.glob("*.ipynb")):
        for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
            if cell["cell_type"] == "markdown":
                yield "".join(cell["source"])


LABELS = set(re.findall(r"\$\$ *\((eq-[\w-]+)\)", "\n".join(markdown())))


@SOURCES
def test_equations_named_in_docstrings_are_in_the_book(file):
    named = re.findall(r"Implements\s+(eq-[\w-]+)", file.read_text(encoding="utf-8"))
    assert set(named) - LABELS == set()


PUBLIC = dict(public_things())


@pytest.mark.parametrize("name", PUBLIC)
def test_everything_public_is_documented(name):
    assert inspect.getdoc(PUBLIC[name]), f"{name} has no docstring"


def test_import_is_lazy():
    code = "import sys, mathlm.reference, mathlm.text; assert 'torch' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_import_takes_less_than_a_fifth_of_a_second():
    """The best of three, so that a busy machine is not mistaken for a slow import."""
    code = "import time; t = time.perf_counter(); import mathlm; print(time.perf_counter() - t)"
    runs = [subprocess.check_output([sys.executable, "-c", code], text=True) for _ in range(3)]
    assert min(map(float, runs)) < 0.2


def test_import_loads_neither_torch_nor_numpy():
    code = "import sys, mathlm; assert not {'torch', 'numpy', 'jaxtyping'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)
