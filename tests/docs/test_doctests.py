"""The examples in docstrings give what they say."""

import doctest
import inspect
import re
from importlib import import_module

import matplotlib.pyplot as plt
import numpy as np
import pytest
import torch
from sources import LIBRARY, PACKAGE, expect_nothing, text
from test_design_names import NAMES, found

FILES = {
    ".".join(file.relative_to(PACKAGE.parent).with_suffix("").parts): file
    for file in LIBRARY
    if ">>> " in text(file)
}
MODULES = {name: import_module(name) for name in FILES}  # here, so that no test pays for it
OPTIONS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS


class Finder(doctest.DocTestFinder):
    """Finds the examples of decorated functions too, as those under ``torch.no_grad``."""

    def _from_module(self, module, thing):
        return super()._from_module(
            module, inspect.unwrap(thing) if inspect.isroutine(thing) else thing
        )


def examples(name):
    """The docstrings of a module that hold examples; NumPy and PyTorch are at hand in all."""
    names = {"np": np, "torch": torch}
    found = Finder().find(MODULES[name], extraglobs=names)
    return [test for test in found if test.examples]


@pytest.fixture
def as_a_reader_has_it():
    """Single precision, as torch begins with; its figures are closed."""
    torch.set_default_dtype(torch.float32)
    yield
    plt.close("all")


@pytest.mark.usefixtures("as_a_reader_has_it")
@pytest.mark.parametrize("name", FILES)
def test_examples_give_what_they_say(name):
    told, found = [], examples(name)
    for test in found:
        torch.manual_seed(0)
        doctest.DocTestRunner(optionflags=OPTIONS).run(test, out=told.append)
    if told:
        pytest.fail("\n".join(told), pytrace=False)
    written = re.findall(r"^ *>>> ", text(FILES[name]), re.MULTILINE)
    assert sum(len(test.examples) for test in found) >= len(written), "one was not found"


def without_example(name):
    """Whether neither a public name nor, of a method, its class shows how it is called."""
    return not any(
        ">>> " in (inspect.getdoc(found(place)) or "")
        for place in (name, name.rpartition(".")[0])
        if "." in place
    )


def test_names_that_others_rely_on_have_an_example():
    expect_nothing(f"{name} has no example" for name in NAMES if without_example(name))
