"""Every error is one of ours and the built-in that a caller would expect."""

import builtins
import copy
import pickle
import re

import pytest

from mathlm import errors
from mathlm.errors import MathLMError

CLASSES = [getattr(errors, name) for name in errors.__all__]
EACH = pytest.mark.parametrize("kind", CLASSES, ids=lambda kind: kind.__name__)
ROW = re.compile(r"^([│ ]*)[├└]── (\w+) +(\w+) ", re.MULTILINE)
TABLE = {name: builtin for _, name, builtin in ROW.findall(errors.__doc__)}


def parents():
    """Who stands above whom in the drawing."""
    above = {}
    open_rows = {}
    for bars, name, _ in ROW.findall(errors.__doc__):
        depth = len(bars) // 4
        above[name] = open_rows.get(depth - 1, "MathLMError")
        open_rows[depth] = name
    return above


def test_the_table_names_every_error():
    assert set(TABLE) | {"MathLMError"} == set(errors.__all__)
    assert len(TABLE) == len(errors.__all__) - 1


def test_every_error_of_the_module_is_exported():
    defined = {
        n
        for n, x in vars(errors).items()
        if isinstance(x, type) and x.__module__ == errors.__name__
    }
    assert defined == set(errors.__all__)


@EACH
def test_an_error_is_one_of_ours_and_the_documented_builtin(kind):
    assert issubclass(kind, MathLMError)
    assert issubclass(kind, getattr(builtins, TABLE.get(kind.__name__, "Exception")))


@pytest.mark.parametrize(("name", "parent"), parents().items())
def test_the_drawing_shows_the_classes_as_they_are(name, parent):
    assert getattr(errors, parent) in getattr(errors, name).__bases__


@EACH
def test_an_error_can_be_caught_both_ways(kind):
    builtin = getattr(builtins, TABLE.get(kind.__name__, "Exception"))
    for caught in (MathLMError, builtin, kind):
        with pytest.raises(caught, match="n_heads=3"):
            raise kind("n_heads=3 must divide d_model=8")


@EACH
def test_the_message_is_kept(kind):
    text = "n_heads=3 must divide d_model=8"
    assert str(kind(text)) == text
    assert kind(text).args == (text,)


@EACH
@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_an_error_survives_the_way_between_processes(kind, protocol):
    error = pickle.loads(pickle.dumps(kind("step 7"), protocol))
    assert (type(error), str(error), error.args) == (kind, "step 7", ("step 7",))


@EACH
def test_an_error_can_be_copied_and_noted(kind):
    error = kind("step 7")
    error.add_note("rank 1")
    assert (str(copy.copy(error)), error.__notes__) == ("step 7", ["rank 1"])


@EACH
def test_an_error_is_documented(kind):
    assert kind.__doc__.endswith(".")
