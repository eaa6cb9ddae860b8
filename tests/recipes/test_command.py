"""The console script ``mathlm COMMAND``: its list, its help, its errors."""

import ast
import inspect
import logging
import os
import re
import subprocess
import sys
import textwrap
from dataclasses import MISSING, dataclass, field, fields, is_dataclass
from importlib import import_module
from itertools import pairwise
from typing import get_type_hints

import pytest

import mathlm
from mathlm.errors import ConfigError, DataError
from mathlm.recipes import command
from mathlm.recipes.__main__ import COMMANDS, main
from mathlm.recipes.command import execute, flat, parse
from mathlm.recipes.options import Machine

HEAVY = {"matplotlib", "sklearn", "transformers", "datasketch", "gguf"}


@dataclass(frozen=True, kw_only=True)
class Pair:
    """Two numbers."""

    low: int = 0
    """The lower one."""
    high: int = 9
    """The higher one."""

    def __post_init__(self):
        if self.low > self.high:
            raise ConfigError(f"--low {self.low} must be at most --high {self.high}")


@dataclass(frozen=True, kw_only=True)
class Options:
    """Options in a group and without one."""

    name: str = "a"
    """What it is called."""
    pair: Pair = Pair()
    machine: Machine = field(default_factory=Machine)


def ended(words, capsys):
    """Status, standard output and standard error of the console script."""
    with pytest.raises(SystemExit) as end:
        main(words)
    return end.value.code, *capsys.readouterr()


def python(*words, **options):
    return subprocess.run(
        [sys.executable, *words], capture_output=True, text=True, check=False, **options
    )


def configuration(name):
    """The dataclass of a command."""
    module = import_module(f"mathlm.recipes.{name}")
    own = [x for x in vars(module).values() if inspect.isclass(x) and is_dataclass(x)]
    (found,) = (
        x for x in own if x.__name__.endswith("Config") and x.__module__ == module.__name__
    )
    return found


def groups(config):
    """A configuration and the dataclasses that are groups of its options."""
    yield config
    for hint in get_type_hints(config).values():
        if is_dataclass(hint):
            yield from groups(hint)


def without_help(group):
    """Options without a docstring below them."""
    hints = get_type_hints(group)
    for cls in filter(is_dataclass, group.__mro__):
        body = ast.parse(textwrap.dedent(inspect.getsource(cls))).body[0].body
        for line, below in zip(body, [*body[1:], None], strict=True):
            said = isinstance(below, ast.Expr) and isinstance(below.value, ast.Constant)
            if (
                isinstance(line, ast.AnnAssign)
                and not said
                and not is_dataclass(hints[line.target.id])
            ):
                yield f"{cls.__name__}.{line.target.id}"


def help_of(group, name):
    """The docstring below a field, in the class that has it."""
    for cls in filter(is_dataclass, group.__mro__):
        body = ast.parse(textwrap.dedent(inspect.getsource(cls))).body[0].body
        for line, below in pairwise(body):
            if isinstance(line, ast.AnnAssign) and line.target.id == name:
                return below.value.value
    raise KeyError(name)


@pytest.mark.parametrize("name", COMMANDS)
def test_help_has_groups_defaults_and_an_example(name, capsys):
    status, out, err = ended([name, "--help"], capsys)
    assert (status, err) == (0, "")
    assert out.startswith(f"usage: mathlm {name}")
    assert re.search(rf"^ +mathlm {name} \S", out, re.M)
    hints = get_type_hints(configuration(name)).items()
    assert all(f"{group} options" in out for group, hint in hints if is_dataclass(hint))
    assert "(default: None)" not in re.sub(r"\s+", " ", out)


@pytest.mark.parametrize("name", COMMANDS)
def test_options_are_frozen_dataclasses_with_help_for_each_field(name):
    parts = list(groups(configuration(name)))
    assert all(part.__dataclass_params__.frozen for part in parts)
    assert [option for part in parts for option in without_help(part)] == []


@pytest.mark.parametrize("name", COMMANDS)
def test_each_option_says_what_holds_where_it_is_left_out(name, capsys):
    """By "(default: ...)", or, where it is None, in the words of its help."""
    parts = {part for part in groups(configuration(name))}
    unsaid = [
        f"{part.__name__}.{one.name}"
        for part in parts
        for one in fields(part)
        if one.default is None and not re.search("None: |not given", help_of(part, one.name))
    ]
    assert unsaid == []
    stated = [
        one
        for part in parts
        for one in fields(part)
        if one.default not in (None, MISSING, ()) and not is_dataclass(one.default)
    ]
    assert ended([name, "--help"], capsys)[1].count("(default:") >= len(stated)


@pytest.mark.parametrize("name", COMMANDS)
def test_each_command_can_be_called_from_python(name):
    module = import_module(f"mathlm.recipes.{name}")
    assert callable(module.run)
    assert callable(module.main)


def test_the_list_names_every_command_and_no_other_file_has_one(capsys):
    main(["--help"])
    out = capsys.readouterr().out
    assert all(f"\n  {name} " in out for name in COMMANDS)
    main([])
    assert capsys.readouterr().out == out
    main(["--version"])
    assert capsys.readouterr().out == f"{mathlm.__version__}\n"


def test_an_unknown_command_ends_with_2_and_the_list(capsys):
    status, out, err = ended(["tune-it", "--x"], capsys)
    assert (status, out) == (2, "")
    assert err.startswith("error: tune-it is no command\n")
    assert all(name in err for name in COMMANDS)


def test_a_hyphen_is_as_good_as_an_underscore(capsys):
    assert ended(["whole-stack", "--help"], capsys)[0] == 0


def test_a_misspelled_option_is_refused_and_the_right_one_named(capsys):
    status, _, err = ended(["pretrain", "--contxt", "9"], capsys)
    assert status == 2
    assert "--contxt" in err
    assert "--context" in err


def test_what_is_no_number_and_no_choice_is_refused(capsys):
    assert ended(["pretrain", "--context", "many"], capsys)[0] == 2
    assert ended(["pretrain", "--size", "huge"], capsys)[0] == 2


def test_a_user_error_is_one_sentence_and_status_1(capsys):
    code, _, err = ended(["pretrain", "--held-out", "1"], capsys)
    assert (code, err) == ("error: --held-out 1 must be 2 tokens or more", "")
    code = ended(["chat", "--model", "/nowhere"], capsys)[0]
    assert code.startswith("error: ")
    assert "/nowhere" in code


def test_options_that_contradict_each_other_are_our_own_error(capsys):
    with pytest.raises(ConfigError, match="--low 3 must be at most --high 2"):
        parse(Options, ["--low", "3", "--high", "2"])
    assert capsys.readouterr() == ("", "")


def test_options_become_fields_of_their_groups_and_a_record_has_them_flat():
    config = parse(Options, ["--high", "3", "--device", "cpu"])
    assert (config.pair, config.machine.device) == (Pair(high=3), "cpu")
    assert flat(config) == {"name": "a", "low": 0, "high": 3} | vars(Machine(device="cpu"))


@pytest.mark.parametrize(
    ("error", "code"), [(DataError("no text"), "error: no text"), (KeyboardInterrupt(), 130)]
)
def test_how_a_program_ends(error, code):
    def raising(argv):
        raise error

    with pytest.raises(SystemExit) as end:
        execute(raising)
    assert end.value.code == code


def test_an_error_of_ours_is_not_hidden():
    with pytest.raises(ZeroDivisionError):
        execute(lambda argv: 1 / 0)


@pytest.mark.parametrize("kernel", [False, True])
def test_the_log_goes_to_standard_error_but_in_a_notebook(kernel, monkeypatch):
    """There it would stand in a red box, one for each line."""
    found = {}
    monkeypatch.setattr(command, "in_notebook", lambda: kernel)
    monkeypatch.setattr(logging, "basicConfig", lambda **options: found.update(options))
    execute(lambda argv: None)
    assert found["stream"] is (sys.stdout if kernel else sys.stderr)


@pytest.mark.parametrize(
    "words", [["--help"], pytest.param(["pretrain", "--help"], marks=pytest.mark.slow)]
)
def test_a_reader_that_leaves_is_no_traceback(words):
    """As in ``mathlm ... | head``: the pipe is closed before the first line."""
    reading, writing = os.pipe()
    os.close(reading)
    command = [sys.executable, "-m", "mathlm", *words]
    buffered = os.environ | {"PYTHONUNBUFFERED": ""}
    pipes = {"stdout": writing, "stderr": subprocess.PIPE}
    done = subprocess.run(command, **pipes, env=buffered, check=False)
    os.close(writing)
    assert (done.returncode, done.stderr) == (141, b"")


def test_the_list_needs_neither_torch_nor_numpy():
    code = (
        "import sys; from mathlm.recipes.__main__ import main; main(['--help']);"
        "sys.exit(bool({'torch', 'numpy'} & set(sys.modules)))"
    )
    assert python("-c", code).returncode == 0


@pytest.mark.slow
def test_no_command_loads_what_it_may_not_need():
    """Its help comes quickly, and a machine without the extra packages has it too."""
    modules = [f"mathlm.recipes.{name}" for name in COMMANDS]
    code = f"import sys, {', '.join(modules)}; print(*{HEAVY} & set(sys.modules))"
    assert python("-c", code).stdout.split() == []
