"""The mutation test: what it covers, and the list of mutants that compute the same."""

import subprocess
import sys
from pathlib import Path

import pytest
from mutate import (
    COPY,
    EQUIVALENT,
    Change,
    chosen,
    core,
    decorated_below,
    judges,
    listed,
    only_strict,
    only_words,
)

ROOT = Path(__file__).resolve().parents[1]


def test_every_module_of_the_core_is_judged_by_tests():
    assert [m for m in core() if not judges(m)] == []
    files = [ROOT / name for module in core() for name in [module, *judges(module)]]
    assert [file for file in files if not file.exists()] == []


def test_a_folder_names_its_modules_and_a_module_itself():
    assert chosen(["mathlm/optim/adam.py"]) == ["mathlm/optim/adam.py"]
    assert chosen(["mathlm/optim"]) == [m for m in core() if m.startswith("mathlm/optim/")]
    assert chosen([]) == core()


@pytest.mark.parametrize("path", ["mathlm/plot", "mathlm/optim/ada", "mathlm/optim/none.py"])
def test_what_is_not_of_the_core_is_refused(path):
    with pytest.raises(ValueError, match=f"not of the numeric core: {path}"):
        chosen([path])


def test_the_command_refuses_what_is_not_of_the_core_with_exit_code_2():
    command = [sys.executable, "tools/mutate.py", "mathlm/plot"]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert run.returncode == 2
    assert "not of the numeric core: mathlm/plot" in run.stderr


def test_each_listed_mutant_changes_lines_that_are_there_and_has_a_reason():
    for what in listed():
        text = [line.strip() for line in (ROOT / what.file).read_text().split("\n")]
        assert set(what.was.split("\n")) <= set(text), what
        assert f"def {what.function}(" in " ".join(text), what
        assert what.was != what.now
    assert EQUIVALENT.read_text().count("\nwhy = ") == len(listed())


DECORATED = """
from functools import cache, wraps

@cache
def twice(f):
    @cache
    @wraps(f)
    def doubled(*x):
        return 2 * f(*x)
    return doubled
same = twice

@twice
@cache
def three():
    return 3

class Four:
    @property
    def value(self): return 4

    @staticmethod
    def same(x):
        return x
"""


def test_of_decorated_functions_the_bodies_are_functions_of_their_own():
    plain, before, after = decorated_below(DECORATED), {}, {}
    exec(DECORATED, before)
    exec(plain, after)
    for found in (before, after):
        assert found["three"]() == 6
        assert found["same"] is found["twice"]
        assert found["Four"]().value == 4
        assert found["three"].__name__ == "three"
        assert found["Four"].same(5) == 5
    assert [x.strip() for x in plain.split("\n") if "@" in x] == ["@staticmethod"]
    assert "    doubled = cache(wraps(f)(doubled))  # pragma: no mutate\n" in plain
    assert "\nthree = twice(cache(three))  # pragma: no mutate\n" in plain


def test_what_is_not_decorated_stays_as_it_is():
    source = (ROOT / "mathlm/functional/loss.py").read_text()
    assert "@" not in source.replace(" @ ", "")
    assert decorated_below(source) == source


@pytest.mark.parametrize("end", ["strict=False)]", "strict=None)]", ")]"])
def test_the_guard_of_a_zip_is_no_computation(end):
    was = "bad = [g for g, n in zip(a, b, strict=True)]"
    assert only_strict(Change("f.py", "f", was, f"bad = [g for g, n in zip(a, b, {end}"))
    assert not only_strict(Change("f.py", "f", was, f"bad = [g for g, n in zip(b, {end}"))


@pytest.mark.parametrize("name", ["XXtargetsXX", "TARGETS"])
def test_what_a_guard_calls_its_argument_is_no_computation(name):
    was = 'x = finite_array(x, "targets")'
    assert only_words(Change("f.py", "f", was, f'x = finite_array(x, "{name}")'))
    assert not only_words(Change("f.py", "f", was, f'x = finite_array(y, "{name}")'))
    assert not only_words(Change("f.py", "f", was, "x = finite_array(x, None)"))
    looked_up = 'width = require_map(weights, "targets", width)'
    change = Change("f.py", "f", looked_up, looked_up.replace("targets", name))
    assert not only_words(change)
    assert not only_words(Change("f.py", "f", 'm = "targets"', f'm = "{name}"'))


def test_the_copy_lies_where_make_clean_finds_it():
    assert COPY.relative_to(ROOT).parts[0] == "_build"
