"""What the two small Sphinx extensions of the book do to names and docstrings."""

from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

import pytest

FOLDER = Path(__file__).resolve().parents[2] / "book" / "_ext"


def load(name: str) -> ModuleType:
    pytest.importorskip("sphinx", reason="the pages are not built here")
    spec = spec_from_file_location(name, FOLDER / f"{name}.py")
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def processed(*lines: str) -> list[str]:
    found = list(lines)
    load("docstrings").process(None, "function", "f", None, None, found)
    return found


@pytest.mark.parametrize(
    ("page", "number"),
    [("book/01-linear-algebra", 1), ("10-attention", 10), ("book/index", None)],
)
def test_a_chapter_has_the_number_of_its_file(page, number):
    assert load("chapter_numbers").chapter(page) == number


def test_an_implemented_equation_becomes_a_link():
    assert processed("Implements eq-softmax::", "", "    y = z") == [
        "Implements :eq:`eq-softmax`::",
        "",
        "    y = z",
    ]


def test_two_implemented_equations_become_two_links():
    assert processed("Implements eq-a, eq-b::") == ["Implements :eq:`eq-a`, :eq:`eq-b`::"]


def test_a_bar_in_prose_is_escaped_and_a_bar_in_a_literal_is_not():
    assert processed("Size |x| and ``|y|``.") == [r"Size \|x\| and ``|y|``."]


def test_a_literal_block_keeps_its_bars_and_ends_with_its_indent():
    found = processed("Computes::", "", "    |x|", "", "Then |x|.")
    assert found == ["Computes::", "", "    |x|", "", r"Then \|x\|."]


def test_a_doctest_keeps_its_bars():
    assert processed(">>> a | b") == [">>> a | b"]
