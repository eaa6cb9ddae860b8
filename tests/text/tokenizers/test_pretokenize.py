from itertools import product

import pytest
import tiktoken
from hypothesis import given, settings
from hypothesis import strategies as st
from tiktoken_ext import openai_public
from tokenizers import Regex, pre_tokenizers

from mathlm.errors import InputError, InputTypeError
from mathlm.text.tokenizers.pretokenize import (
    PATTERNS,
    blocks,
    compiled,
    compiled_for_ascii,
    pre_tokenize,
    utf8,
)

SPACES = [" ", "  ", "\n", "\r\n", "\t", "\x85", "\xa0", "\u3000", "\n \n", " \n ", "!\n"]
# Words and signs that the patterns treat apart; the last three are letters and numbers since
# Unicode 17 or 18 only.
PARTS = ["'S", "'ll", "'", "\u017f", "don't", "I", "a", "1", "12345", "½", "٣", "Ⅷ", "...", "é"]
PARTS += ["e\u0301", "日本語", "👩‍🚀", "def f(x):", "\ua7cf", "\U00010940", "\U0001246f"]
TEXTS = st.lists(
    st.sampled_from(PARTS + SPACES) | st.characters(exclude_categories=["Cs"]), max_size=25
).map("".join)
SPACED = st.lists(st.sampled_from(SPACES) | st.sampled_from(PARTS)).map("".join)
# Digits of Unicode 17, which the Digits rule of tokenizers 0.23 has; its patterns do not.
NEW_DIGITS = {*map(chr, range(0x11DE0, 0x11DEA)), *map(chr, range(0x16FF4, 0x16FF7))}
BYTE_LEVEL = pre_tokenizers.ByteLevel(add_prefix_space=False)
TOKENIZERS = {
    "gpt2": BYTE_LEVEL,
    "gpt4": pre_tokenizers.Split(Regex(PATTERNS["gpt4"]), "isolated"),
    "smollm2": pre_tokenizers.Sequence(
        [pre_tokenizers.Digits(individual_digits=True), BYTE_LEVEL]
    ),
}


def tiktoken_pieces(text, pattern):
    """Every part of the text is a token, so that each piece becomes one."""
    data, n = text.encode(), len(text.encode())
    parts = {data[i:j] for i in range(n) for j in range(i + 2, n + 1)}
    tokens = [bytes([i]) for i in range(256)] + sorted(parts)
    encoding = tiktoken.Encoding(
        "pieces",
        pat_str=published(pattern),
        mergeable_ranks={token: i for i, token in enumerate(tokens)},
        special_tokens={},
    )
    return [tokens[i].decode() for i in encoding.encode_ordinary(text)]


def published(pattern):
    """What the installed tiktoken publishes."""
    if pattern == "gpt2":
        return str(openai_public.r50k_pat_str)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(openai_public, "load_tiktoken_bpe", lambda *args, **kwargs: {})
        return str(openai_public.cl100k_base()["pat_str"])


@pytest.mark.parametrize("pattern", PATTERNS)
@given(text=TEXTS)
def test_pieces_joined_are_the_text(pattern, text):
    pieces = pre_tokenize(text, pattern)
    assert "".join(pieces) == text
    assert "" not in pieces


@pytest.mark.parametrize("pattern", PATTERNS)
@settings(max_examples=300)
@given(text=TEXTS | SPACED)
def test_pieces_are_those_of_the_tokenizers_package(pattern, text):
    text = "".join(c for c in text if c not in NEW_DIGITS)
    spans = [span for _, span in TOKENIZERS[pattern].pre_tokenize_str(text)]
    assert pre_tokenize(text, pattern) == [text[a:b] for a, b in spans]


@pytest.mark.parametrize("pattern", ["gpt2", "gpt4"])
@settings(max_examples=60, deadline=None)
@given(text=TEXTS | SPACED)
def test_pieces_are_those_of_tiktoken(pattern, text):
    assert pre_tokenize(text, pattern) == tiktoken_pieces(text, pattern)


@pytest.mark.parametrize(
    ("pattern", "pieces"),
    [
        ("gpt2", "It|'s| 1984|,|  | I|'|LL| say|...|\n\n"),
        ("gpt4", "It|'s| |198|4|,|  | I|'LL| say|...\n\n"),
        ("smollm2", "It|'s| |1|9|8|4|,|  | I|'|LL| say|...|\n\n"),
    ],
)
def test_one_sentence_by_each_pattern(pattern, pieces):
    """By hand: gpt2's line ends are a piece of their own, gpt4's go with the signs."""
    assert pre_tokenize("It's 1984,   I'LL say...\n\n", pattern) == pieces.split("|")


@pytest.mark.parametrize(
    ("text", "pieces"),
    [("x\n ", ["x", "\n "]), ("\n\t", ["\n\t"]), ("\n  y", ["\n", " ", " y"])],
)
def test_gpt4_takes_white_space_at_the_end_of_a_text_whole(text, pieces):
    """Before a word it ends after the last line end."""
    assert pre_tokenize(text, "gpt4") == pieces


@pytest.mark.parametrize("pattern", PATTERNS)
@settings(max_examples=300)
@given(text=SPACED | TEXTS, size=st.integers(1, 5))
def test_pieces_of_blocks_one_after_another_are_the_pieces_of_the_text(pattern, text, size):
    parts = list(blocks(text, size))
    assert "".join(parts) == text
    by_block = [piece for part in parts for piece in pre_tokenize(part, pattern)]
    assert by_block == pre_tokenize(text, pattern)


def test_blocks_end_at_the_first_space_after_a_sign_or_a_letter():
    """Not inside white space: "\\n b" is cut in two where "\\n " ends a text."""
    assert list(blocks("a\n b c. 12", 1)) == ["a\n b", " c.", " 12"]


@pytest.mark.parametrize("size", [0, -1])
def test_blocks_have_at_least_one_character(size):
    with pytest.raises(InputError, match=f"size={size} must be at least 1"):
        list(blocks("a b", size))


def test_no_text_has_no_pieces():
    assert pre_tokenize("") == list(blocks("")) == []


def test_an_unknown_pattern_is_an_error():
    with pytest.raises(InputError, match=r"no pattern is called 'gpt9'; there are \['gpt2', "):
        pre_tokenize("text", "gpt9")


def test_a_lone_surrogate_has_no_bytes():
    with pytest.raises(InputError, match=r"position 3 of the text holds '\\ud83d'"):
        utf8("one\ud83d")


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize("call", [pre_tokenize, utf8])
def test_bytes_are_no_text(call):
    with pytest.raises(InputTypeError, match="must be a str, got bytes"):
        call(b"text")


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize("pattern", [None, ["gpt4"], 4])
def test_a_pattern_that_is_no_name_is_refused(pattern):
    with pytest.raises(InputTypeError, match=r"must be one of the names \['gpt2', 'gpt4', "):
        pre_tokenize("text", pattern)


@pytest.mark.parametrize("pattern", PATTERNS)
def test_texts_of_ascii_are_cut_alike_by_both_modules(pattern):
    """All pairs of the 128 characters, and all fives of one of each kind and of contractions.

    The modules count different signs as white space: 1C to 1F are none here.
    """
    of_unicode, of_ascii = compiled(pattern), compiled_for_ascii(pattern)
    texts = [*product(map(chr, range(128)), repeat=2), *product("sS0 \n\r\x1c'.", repeat=5)]
    for text in map("".join, texts):
        assert of_ascii.findall(text) == of_unicode.findall(text), text
