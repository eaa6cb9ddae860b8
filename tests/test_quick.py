"""Which tests concern a file."""

from pathlib import Path

import pytest
import quick
from sources import FILES, PACKAGE


@pytest.mark.parametrize(
    ("file", "tests"),
    [
        (
            "mathlm/optim/adam.py",
            {"tests/optim/test_adam.py", "tests/optim/test_adam_adamw.py"},
        ),
        ("mathlm/functional/low_rank.py", {"tests/adapt/test_bottleneck.py"}),
        ("mathlm/claims.py", {"tests/test_claims.py"}),
        ("book/lab/conventions/figures.py", {"tests/lab/conventions/test_figures.py"}),
        ("tests/optim/test_adam.py", {"tests/optim/test_adam.py"}),
        ("tools/quick.py", {"tests/test_quick.py"}),
        ("tools/equivalent_mutants.toml", set()),
    ],
)
def test_a_file_is_tested_by_what_bears_its_name(file, tests):
    assert tests <= set(quick.mirrors(file))
    assert tests or quick.mirrors(file) == []


def test_a_file_without_tests_of_its_name_is_tested_by_its_folder():
    assert quick.mirrors("mathlm/optim/__init__.py") == ["tests/optim"]


def test_every_file_of_a_layer_has_tests():
    files = [file.relative_to(PACKAGE.parent).as_posix() for file in FILES]
    without = [file for file in files if file.count("/") > 1 and not quick.mirrors(file)]
    assert without == []


def test_without_a_file_long_cases_and_recipes_are_left_out():
    ((*command, folder),) = quick.commands("", jobs=2)
    assert folder == "tests"
    assert "--ignore=tests/recipes" in command
    assert "not slow" in command[command.index("-m", 3) + 1]


def test_a_file_gets_ruff_types_its_tests_and_the_rules_about_sources():
    form, lint, types, tests, rules = quick.commands("mathlm/optim/adam.py", jobs=2)
    assert (form[1:], lint[1:], types[1:]) == (
        ["format", "--check", "mathlm/optim/adam.py"],
        ["check", "mathlm/optim/adam.py"],
        ["mathlm/optim/adam.py"],
    )
    assert [Path(c[0]).name for c in (form, lint, types)] == ["ruff", "ruff", "mypy"]
    assert "tests/optim/test_adam.py" in tests
    assert "tests/docs/test_api_pages.py" in rules


def test_a_tool_has_neither_types_nor_an_api_page():
    *form, tests = quick.commands("tools/quick.py", jobs=2)
    assert [Path(c[0]).name for c in form] == ["ruff", "ruff"]
    assert tests[-1] == "tests/test_quick.py"


def test_a_file_that_is_not_there_is_named():
    with pytest.raises(SystemExit, match=r"no file mathlm/optim/none\.py in "):
        quick.main(["mathlm/optim/none.py"])
