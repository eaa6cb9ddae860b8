"""The words that WordPiece sees."""

import pytest
from tokenizers.normalizers import BertNormalizer
from tokenizers.pre_tokenizers import BertPreTokenizer

from mathlm.errors import InputError, InputTypeError
from mathlm.text.tokenizers.wordpiece import NEWER, bert_words


def published_words(text):
    normalized = BertNormalizer().normalize_str(text)
    return [word for word, _ in BertPreTokenizer().pre_tokenize_str(normalized)]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Café, 中文!", ["cafe", ",", "中", "文", "!"]),
        ("a\u00adb\u200bc d\0e", ["abc", "de"]),
        ("$x^2 ~ `y`", ["$", "x", "^", "2", "~", "`", "y", "`"]),
        ("ÀÉÎ õü", ["aei", "ou"]),
        ("\x1c\x1f\x85", []),
    ],
)
def test_words_by_hand(text, words):
    assert bert_words(text) == words == published_words(text)


def test_newer_characters_are_letters_to_the_published_tables():
    """One text for each code point that came after Unicode 8.0 in a block that matters."""
    characters = [chr(code) for code in sorted(NEWER)]
    for start in range(0, len(characters), 200):
        text = " ".join(f"a{c}b" for c in characters[start : start + 200])
        assert len(bert_words(text)) == len(published_words(text)), hex(ord(characters[start]))


@pytest.mark.usefixtures("unchecked")
def test_what_is_no_text_is_refused():
    with pytest.raises(InputTypeError, match="got bytes"):
        bert_words(b"abc")


def test_half_a_character_is_refused():
    with pytest.raises(InputError, match="lone surrogate"):
        bert_words("\udfff")
