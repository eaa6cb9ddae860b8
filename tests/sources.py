"""The files of package and laboratory, each read and parsed once, and rules about them."""

import ast
import gc
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PACKAGE, LAB = ROOT / "mathlm", ROOT / "book" / "lab"
LIBRARY, LABORATORY = sorted(PACKAGE.rglob("*.py")), sorted(LAB.rglob("*.py"))
FILES = LIBRARY + LABORATORY


@cache
def text(file):
    return file.read_text(encoding="utf-8")


@cache
def nodes(file):
    found = list(ast.walk(ast.parse(text(file))))
    gc.freeze()  # they stay: the collector would walk them again and again
    return found


def expect_nothing(found):
    """Fails with all that was found, a line for each."""
    if found := list(found):
        pytest.fail("\n".join(map(str, found)), pytrace=False)


def expect_in_none(rule, files=FILES):
    """Fails with every file in which the rule finds something, and what it is."""
    names = {file: file.relative_to(ROOT).as_posix() for file in files}
    expect_nothing(f"{names[file]}: {found}" for file in files if (found := rule(file)))
