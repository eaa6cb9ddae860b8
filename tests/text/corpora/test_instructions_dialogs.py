"""Dialogs in YAML: the turns are text, whatever they look like."""

import sys

import pytest

from mathlm.errors import DataError, DataNotFoundError
from mathlm.text.corpora.instructions import dialogs

SAMPLE = r"""
categories:
- odd
conversations:
- - it''s plain
  - 'it''s
    here'
- - "a \"b\" \\ c \u00e9 \
    on"
  - |
    a

      b
- no list of turns
- - 1963
  - Yes
  - null
"""


def test_a_turn_is_the_text_that_yaml_says():
    """Escapes, folded lines and a block as in the YAML 1.1 specification, chapter 9."""
    assert dialogs(SAMPLE) == [
        ["it''s plain", "it's here"],
        ['a "b" \\ c é on', "a\n\n  b\n"],
        ["1963", "Yes", "null"],
    ]


def test_the_loader_in_python_says_the_same(monkeypatch):
    """PyYAML may be built without the library in C."""
    found = dialogs(SAMPLE)
    monkeypatch.delattr("yaml.CBaseLoader")
    assert dialogs(SAMPLE) == found


@pytest.mark.parametrize("text", ["a: 1\n", "conversations: none\n", "- a\n", ""])
def test_a_file_of_another_kind_is_refused(text):
    with pytest.raises(DataError, match="no list under 'conversations:'"):
        dialogs(text)


def test_a_text_that_is_not_yaml_is_refused_with_its_place():
    with pytest.raises(DataError, match=r"(?s)not YAML: .*line 2"):
        dialogs("a: 1\n- b\n")


def test_without_pyyaml_the_error_names_the_command(monkeypatch):
    monkeypatch.setitem(sys.modules, "yaml", None)
    with pytest.raises(DataNotFoundError, match="pip install pyyaml"):
        dialogs(SAMPLE)
