"""What is a letter, a number or white space, against tiktoken and tokenizers, everywhere."""

import numpy as np
import pytest
import regex
import tiktoken
from tokenizers import Regex, pre_tokenizers

from mathlm.text.tokenizers.pretokenize import (
    IS_LATER,
    PATTERNS,
    as_of_unicode_16,
    pre_tokenize,
)

# Planes 4 to 13, 15 and 16 hold no assigned characters: their first and last stand for them.
PLANES = [0, 1, 2, 3, 14]
EVERY = [chr(0x10000 * p + i) for p in PLANES for i in range(0x10000)]
EVERY += [chr(0x10000 * p + i) for p in range(17) if p not in PLANES for i in (0, 0xFFFF)]
EVERY = [c for c in EVERY if not 0xD800 <= ord(c) < 0xE000]
LETTER, NUMBER = "\U00010940", "\U0001246f"  # Sidetic, Unicode 17; cuneiform, Unicode 18
# Digits of Unicode 17, which the Digits rule of tokenizers 0.23 has; its patterns do not.
NEW_DIGITS = {*map(chr, range(0x11DE0, 0x11DEA)), *map(chr, range(0x16FF4, 0x16FF7))}
BYTE_LEVEL = pre_tokenizers.ByteLevel(add_prefix_space=False)
TOKENIZERS = {
    "gpt2": BYTE_LEVEL,
    "gpt4": pre_tokenizers.Split(Regex(PATTERNS["gpt4"]), "isolated"),
    "smollm2": pre_tokenizers.Sequence([pre_tokenizers.Digits(True), BYTE_LEVEL]),
}


def in_blocks(characters, size=2_000):
    """Parts of a long list."""
    return (characters[i : i + size] for i in range(0, len(characters), size))


def of_tiktoken(kind, characters=EVERY):
    """What ``kind`` matches; what does not match gives no tokens."""
    ranks = {bytes([byte]): byte for byte in range(256)}
    peer = tiktoken.Encoding("x", pat_str="x" + kind, mergeable_ranks=ranks, special_tokens={})
    texts = ("".join("x" + c for c in block) for block in in_blocks(characters))
    return {c for t in texts for c in peer.decode(peer.encode_ordinary(t))[1::2]}


def of_tokenizers(kind):
    """What ``kind`` matches; what does not match is left."""
    peer = pre_tokenizers.Split(Regex(kind), "removed")
    left = (peer.pre_tokenize_str("".join(block)) for block in in_blocks(EVERY))
    return set(EVERY) - {c for parts in left for part, _ in parts for c in part}


@pytest.fixture(scope="module")
def ours():
    """Letters go with a letter, numbers with a number, and signs with a sign."""
    texts = ("".join(f"a{c}\n1{c}\n.{c}\n" for c in block) for block in in_blocks(EVERY))
    pairs = {piece for text in texts for piece in pre_tokenize(text) if len(piece) == 2}
    letters, numbers, signs = ({p[1] for p in pairs if p[0] == first} for first in "a1.")
    return {r"\p{L}": letters, r"\p{N}": numbers, r"\s": set(EVERY) - letters - numbers - signs}


@pytest.mark.slow
@pytest.mark.parametrize("kind", [r"\p{L}", r"\p{N}", r"\s"])
@pytest.mark.parametrize("peer", [of_tiktoken, of_tokenizers])
def test_every_code_point_is_of_the_kind_that_the_peers_say(ours, kind, peer):
    assert ours[kind] == peer(kind)


@pytest.mark.slow
@pytest.mark.parametrize("pattern", PATTERNS)
def test_every_code_point_is_cut_as_the_tokenizers_package_does(pattern):
    """After a letter, before a number and between signs."""
    skipped = NEW_DIGITS if pattern == "smollm2" else set()
    for block in in_blocks(EVERY):
        text = "".join(f"a{c}1.{c}. " for c in block if c not in skipped)
        spans = [span for _, span in TOKENIZERS[pattern].pre_tokenize_str(text)]
        assert pre_tokenize(text, pattern) == [text[i:j] for i, j in spans]


@pytest.mark.slow
def test_thirteen_new_digits_are_signs_to_tiktoken(ours):
    """The peers disagree on these alone; tiktoken decides."""
    digits = pre_tokenizers.Digits(True)
    alone = {c for c in EVERY if len(digits.pre_tokenize_str(f"a{c}a")) == 3}
    assert alone - ours[r"\p{N}"] == NEW_DIGITS
    assert alone >= ours[r"\p{N}"]


@pytest.mark.parametrize("kind", [r"\p{L}", r"\p{N}", r"\s"])
def test_no_range_holds_what_tiktoken_cuts_as_a_letter_a_number_or_space(kind):
    characters = [chr(code) for code in np.flatnonzero(IS_LATER)]
    assert len(characters) > 17_000
    assert not of_tiktoken(kind, characters)


@pytest.mark.parametrize("kind", [r"\p{L}", r"\p{N}"])
def test_ranges_hold_every_letter_and_number_that_only_the_regex_package_knows(kind):
    characters = regex.findall(kind, "".join(EVERY))
    assert all(IS_LATER[ord(c)] for c in set(characters) - of_tiktoken(kind, characters))


@pytest.mark.parametrize("pattern", PATTERNS)
def test_later_letters_and_numbers_are_signs_that_stay_in_the_text(pattern):
    assert pre_tokenize(f"a{LETTER}{NUMBER}é", pattern)[:2] != [f"a{LETTER}", f"{NUMBER}é"]
    assert pre_tokenize(f"a{LETTER}!{NUMBER}\n", pattern)[0] == "a"
    assert "".join(pre_tokenize(f"a{LETTER}!{NUMBER} b", pattern)) == f"a{LETTER}!{NUMBER} b"


@pytest.mark.parametrize("text", ["", "plain", "é日本語\U0001f642", "\udc80é"])
def test_text_without_later_characters_comes_back_itself(text):
    assert as_of_unicode_16(text) is text


def test_later_characters_are_replaced_one_for_one():
    """A surrogate, half a character of ``encode_bytes``, stays."""
    assert as_of_unicode_16(f"é{LETTER}\udc80{NUMBER}b") == "é\ue000\udc80\ue000b"
