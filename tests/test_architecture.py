"""Rules about the source itself; each names every file that breaks it."""

import ast
import inspect
import json
import pkgutil
import re
import statistics
import subprocess
import sys
from importlib import import_module

import pytest
from sources import (
    FILES,
    LAB,
    LABORATORY,
    LIBRARY,
    expect_in_none,
    expect_nothing,
    nodes,
    text,
)
from sources import PACKAGE as ROOT

import lab
import mathlm

BOOK = ROOT.parent / "book"
PAGES = sorted([*BOOK.glob("[0-9][0-9]-*.ipynb"), *BOOK.glob("guide-*.ipynb")])
SHARED = {  # what one page borrows from another
    "lab.explanations": ("lab.neural_networks.start_sweep.",),
    "lab.initialization": ("lab.optimization.digits_study.",),
    "lab.interpretability": ("lab.features.words.",),
    "lab.objectives": ("lab.architectures.one_body.", "lab.perplexity.confidence."),
    "lab.perplexity": ("lab.objectives.figures.",),
    "lab.reward_hacking": (
        "lab.fine_tuning.fine_tuning_measures.",
        "lab.fine_tuning.fine_tuning_search.",
    ),
    "lab.small_updates": ("lab.fine_tuning.equal_gain.",),
    "lab.whole_stack": (
        "lab.tuning_smollm2.measures.",
        "lab.tuning_smollm2.questions.",
        "lab.tuning_smollm2.training.",
    ),
}
ORDER = {name: i for i, name in enumerate(mathlm.__all__)}
LATER = {  # what a method loads when it is called: users look for ``model.generate``
    "models/generation.py": "mathlm.generate.generate",
}
NO_TORCH = {"shapes", "errors", "checks", "progress", "claims", "show", "reference", "text"}


def layer(file):
    """The part of the package, or ``lab.<page>``, that a file belongs to."""
    if file.is_relative_to(LAB):
        return f"lab.{file.relative_to(LAB).parts[0]}"
    parts = file.relative_to(ROOT).with_suffix("").parts
    return None if parts in {("__init__",), ("__main__",)} else parts[0]


def imports(file):
    """Absolute dotted names imported by ``file``."""
    home = BOOK if file.is_relative_to(LAB) else ROOT.parent
    package = file.relative_to(home).parts[:-1]
    for node in nodes(file):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else ()
            yield from (
                ".".join((*base, *filter(None, [node.module]), a.name)) for a in node.names
            )


def upward(file, name):
    """Why a file of the package may not import ``name``, or nothing."""
    top, _, rest = name.partition(".")
    target, own = rest.split(".")[0], layer(file)
    if top == "lab":
        return "the library does not know the laboratory"
    if top == "torch" and own in NO_TORCH:
        return f"{own} must not import torch"
    if top == "matplotlib" and own != "plot":
        return f"{own} must not import matplotlib: plot is the only one that does"
    if top != "mathlm" or target not in ORDER or own is None:
        return None
    if LATER.get(file.relative_to(ROOT).as_posix()) == name:
        return None  # the test below holds that it stands in a function
    if ORDER[target] > ORDER[own]:
        return f"{own} may not import {target}, which comes after it"
    if target == "reference" and own not in {"reference", "plot", "recipes"}:
        return "the torch half may not use the reference, its witness"
    if target == "recipes" and own != "recipes":
        return "nothing imports recipes"
    return None


def upward_imports(file):
    return [why for name in imports(file) if (why := upward(file, name))]


def imports_at_once(file):
    """Modules that a file imports as it is loaded, by the last part of their names."""
    inside = {
        inner
        for node in nodes(file)
        if isinstance(node, ast.FunctionDef)
        for inner in ast.walk(node)
    }
    return {
        node.module
        for node in nodes(file)
        if isinstance(node, ast.ImportFrom) and node not in inside
    }


def other_pages(own, names):
    """Modules of the laboratory of other pages among ``names``, but for those of SHARED."""
    found = {name for name in names if name.startswith("lab.")}
    allowed = (f"{own}.", "lab.grading.", *SHARED.get(own, ()))
    return {name for name in found if not f"{name}.".startswith(allowed)}


def torch_and_reference(file):
    names = list(imports(file))
    uses_torch = any(name.split(".")[0] == "torch" for name in names)
    return uses_torch and [name for name in names if name.startswith("mathlm.reference")]


def test_layers_import_only_downwards():
    expect_in_none(upward_imports, LIBRARY)


@pytest.mark.parametrize(("file", "name"), LATER.items())
def test_a_later_part_is_imported_only_when_it_is_called(file, name):
    assert name in set(imports(ROOT / file)), f"{file} no longer needs its exception"
    assert name.split(".")[1] not in imports_at_once(ROOT / file)


def test_the_laboratory_of_a_page_serves_that_page_alone():
    expect_in_none(lambda file: other_pages(layer(file), imports(file)), LABORATORY)


def home(page):
    """The laboratory of a page, such as ``lab.small_updates``."""
    return "lab." + page.stem.split("-", 1)[1].replace("-", "_")


def imports_of_cells(page):
    for cell in json.loads(page.read_text(encoding="utf-8"))["cells"]:
        if cell["cell_type"] == "code" and "colab" not in cell["metadata"].get("tags", []):
            source = re.sub(r"^%(?:.*\\\n)*.*$", "", "".join(cell["source"]), flags=re.M)
            for node in ast.walk(ast.parse(source)):
                if isinstance(node, ast.ImportFrom):
                    yield from (f"{node.module}.{alias.name}" for alias in node.names)


def test_a_page_uses_the_package_and_its_own_laboratory():
    expect_in_none(lambda page: other_pages(home(page), imports_of_cells(page)), PAGES)


def test_each_laboratory_has_its_page():
    pages = {home(page) for page in PAGES}
    shared = {"lab.__init__.py", "lab.grading.py"}
    assert {layer(file) for file in LABORATORY} - shared <= pages


def test_an_import_from_another_page_is_noticed():
    assert other_pages("lab.a", ["lab.a.x", "lab.ab.x", "mathlm.text"]) == {"lab.ab.x"}


def test_no_file_uses_both_torch_and_the_reference():
    expect_in_none(torch_and_reference)


def test_an_upward_import_is_noticed():
    assert upward(ROOT / "text" / "x.py", "mathlm.models.gpt").startswith("text may not import")
    assert upward(ROOT / "text" / "x.py", "torch") == "text must not import torch"
    assert upward(ROOT / "layers" / "x.py", "mathlm.reference").startswith("the torch half")
    assert upward(ROOT / "layers" / "x.py", "lab.attention").startswith("the library")


def bodies(file):
    for node in nodes(file):
        if isinstance(node, ast.FunctionDef):
            body = node.body[1:] if ast.get_docstring(node) else node.body
            yield node.name, body[-1].end_lineno - body[0].lineno + 1 if body else 0


def too_long(file):
    """Lines of functions above 40."""
    return {name: lines for name, lines in bodies(file) if lines > 40}


def test_functions_stay_short():
    expect_in_none(too_long)


def test_half_of_all_functions_have_11_lines_or_less():
    lengths = [lines for file in FILES for _, lines in bodies(file)]
    assert statistics.median(lengths) <= 11


@pytest.mark.slow  # imports all parts
def test_exports_exist():
    expect_nothing(
        f"{name}.{export} does not exist"
        for name in mathlm.__all__
        for export in import_module(f"mathlm.{name}").__all__
        if not hasattr(import_module(f"mathlm.{name}"), export)
    )


@pytest.mark.slow
def test_every_module_imports():
    for package in (mathlm, lab):
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
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


def test_equations_named_in_docstrings_are_in_the_book():
    labels = set(re.findall(r"\$\$ *\((eq-[\w-]+)\)", "\n".join(markdown())))

    def unknown(file):
        return set(re.findall(r"Implements\s+(eq-[\w-]+)", text(file))) - labels

    expect_in_none(unknown)


def test_everything_public_is_documented():
    expect_nothing(name for name, thing in public_things() if not inspect.getdoc(thing))


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
