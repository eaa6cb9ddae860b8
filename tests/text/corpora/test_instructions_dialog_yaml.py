"""Dialogs in YAML: equal to PyYAML on every file that the book reads."""

import pytest
import yaml

from mathlm.errors import DataError
from mathlm.text.corpora.installed import data_folder
from mathlm.text.corpora.instructions import dialogs, scalar

FILES = sorted(data_folder("chatterbot_corpus", install="").glob("data/english/*.yml"))


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_dialogs_are_those_of_an_independent_reader(file):
    """Items that are no list of turns, one in trivia.yml, are no dialogs."""
    text = file.read_text(encoding="utf-8")
    expected = yaml.load(text, yaml.CSafeLoader)["conversations"]
    assert list(dialogs(text)) == [turns for turns in expected if isinstance(turns, list)]


@pytest.mark.parametrize(
    "source", ["'it''s\n    here'", '"a \\"b\\" \\\\ c"', "a 'b'", "|\n    a\n\n      b\n"]
)
def test_a_scalar_is_that_of_an_independent_reader(source):
    assert scalar(source) == yaml.safe_load("- - " + source)[0][0]


def test_a_file_of_another_kind_is_refused():
    with pytest.raises(DataError, match="no line 'conversations:'"):
        list(dialogs("a: 1\n"))
