"""The examples in docstrings give what they say."""

import doctest
from importlib import import_module

import numpy as np
import pytest
import torch
from sources import LIBRARY, PACKAGE, text

MODULES = [
    ".".join(file.relative_to(PACKAGE.parent).with_suffix("").parts)
    for file in LIBRARY
    if ">>> " in text(file)
]
OPTIONS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS


def examples(name):
    """The docstrings of a module that hold examples; NumPy and PyTorch are at hand in all."""
    names = {"np": np, "torch": torch}
    found = doctest.DocTestFinder().find(import_module(name), extraglobs=names)
    return [test for test in found if test.examples]


@pytest.fixture
def as_a_reader_has_it():
    """The default dtype of torch, and seeds of one's own."""
    torch.set_default_dtype(torch.float32)


@pytest.mark.usefixtures("as_a_reader_has_it")
@pytest.mark.parametrize("name", MODULES)
def test_examples_give_what_they_say(name):
    told = []
    for test in examples(name):
        torch.manual_seed(0)
        doctest.DocTestRunner(optionflags=OPTIONS).run(test, out=told.append)
    if told:
        pytest.fail("\n".join(told), pytrace=False)
