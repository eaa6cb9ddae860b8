import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from mathlm.errors import DataError, InputError, InputTypeError
from mathlm.text import Characters, Words

TEXTS = ["vingt et un", "vingt-deux", "un"]


def test_marks_come_first_and_words_in_order():
    words = Words.build(TEXTS)
    assert words.symbols == ("<pad>", "<bos>", "<eos>", "deux", "et", "un", "vingt")
    assert [words.PAD, words.BOS, words.EOS] == [0, 1, 2]
    assert len(words) == 7


def test_numbers_do_not_depend_on_the_order_of_the_texts():
    assert Words.build(TEXTS) == Words.build(TEXTS[::-1])


def test_hyphens_and_blanks_separate_words():
    words = Words.build(TEXTS)
    assert words.encode("vingt-deux") == words.encode("  vingt deux ") == [6, 3]


def test_characters_keep_hyphens_and_blanks():
    """In order: blank, hyphen, d e g i n t u v x."""
    characters = Characters.build(TEXTS)
    assert "".join(characters.symbols[3:]) == " -degintuvx"
    assert characters.decode(characters.encode("vingt-deux")) == "vingt-deux"


@settings(max_examples=40, deadline=None)
@given(st.lists(st.text("ab é-", min_size=1), min_size=1))
def test_characters_come_back_whatever_the_text(texts):
    characters = Characters.build(texts)
    assert [characters.decode(characters.encode(text)) for text in texts] == texts


@settings(max_examples=40, deadline=None)
@given(st.lists(st.text("xyz", min_size=1), min_size=1))
def test_words_come_back_between_blanks(words):
    vocabulary = Words.build(words)
    assert vocabulary.decode(vocabulary.encode("-".join(words))) == " ".join(words)


@pytest.mark.parametrize("container", [list, tuple, iter, np.array, torch.tensor])
def test_a_row_is_read_between_its_marks(container):
    words = Words.build(TEXTS)
    assert words.decode(container([1, 6, 4, 5, 2, 3, 0])) == "vingt et un"
    assert words.decode(container([6, 3, 0, 0])) == "vingt deux"


def test_a_mark_inside_a_text_is_shown():
    """A translation with padding in its middle is not the one without."""
    words = Words.build(TEXTS)
    assert words.decode([1, 6, 0, 3, 2]) == "vingt <pad> deux"
    assert words.decode([1, 1, 3]) == "<bos> deux"


def test_nothing_is_an_empty_text():
    words = Words.build(TEXTS)
    assert words.encode("") == []
    assert words.decode([1, 2]) == words.decode([]) == words.decode([0, 0]) == ""


def test_an_unknown_word_is_refused_with_its_place():
    with pytest.raises(InputError, match=r"symbol 1 of 'vingt trois' is 'trois', .* the 4 of"):
        Words.build(TEXTS).encode("vingt trois")


@pytest.mark.parametrize(
    ("ids", "error", "message"),
    [
        ([3, 7], InputError, r"number 1 is 7, outside 0\.\.6"),
        ([-1], InputError, r"number 0 is -1, outside 0\.\.6"),
        ([3.0], InputTypeError, "number 0 is 3.0, expected an integer"),
    ],
)
def test_numbers_that_are_no_symbols_are_refused(ids, error, message, unchecked):
    with pytest.raises(error, match=message):
        Words.build(TEXTS).decode(ids)


@pytest.mark.parametrize(
    ("texts", "error", "message"),
    [
        ("vingt", InputTypeError, "texts is one string"),
        (["vingt", 20], InputTypeError, "text is 20, expected a str"),
        ([], DataError, "no symbol for a vocabulary of Words"),
        ([" - "], DataError, "no symbol for a vocabulary of Words"),
    ],
)
def test_texts_that_make_no_vocabulary_are_refused(texts, error, message, unchecked):
    with pytest.raises(error, match=message):
        Words.build(texts)


@pytest.mark.parametrize(
    ("symbols", "message"),
    [
        (("a", "b"), r"symbols start with \('a', 'b'\), expected"),
        ((*Words.MARKS, "a", "b", "a"), "the symbol 'a' is there more than once"),
    ],
)
def test_symbols_that_make_no_vocabulary_are_refused(symbols, message):
    with pytest.raises(InputError, match=message):
        Words(symbols)
