import re

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from mathlm.errors import InputError, InputTypeError
from mathlm.text import Automaton, parse_pattern

PROPERTY = settings(deadline=None, derandomize=True, max_examples=60)
ALPHABET = "ab0_ -\n\\é☃😀"
atoms = st.sampled_from(
    [
        *("a", "b", "0", "é", "☃", "😀", " ", "]", "}", "-", ",", ".", "\\\\", "\\.", "\\-"),
        *("\\d", "\\D", "\\w", "\\W", "\\s", "\\S", "\\n", "\\x61", "\\u00e9", "\\U0001f600"),
        *("[ab]", "[^a]", "[a-é]", "[^b-☃]", "[]a]", "[^]]", "[a-]", "[\\d-]", "[\\W0]"),
        *("[\\x20-b]", "[^\\S]", "[-a]", "[\\\\]"),
    ]
)
quantifiers = st.sampled_from(["*", "+", "?", "{2}", "{1,}", "{,2}", "{1,2}", "{0}"])
patterns = st.recursive(
    atoms,
    lambda inner: st.one_of(
        st.tuples(inner, inner).map("".join),
        st.tuples(inner, inner).map("|".join),
        st.tuples(inner, quantifiers).map(lambda pair: f"(?:{pair[0]}){pair[1]}"),
        inner.map(lambda pattern: f"({pattern})"),
    ),
    max_leaves=6,
)


@PROPERTY
@example("|a", [""])
@example("()", [""])
@example("a{0}b", ["b"])
@example(".", ["\n", "\r", "\u2028", "é"])
@example("\\s+", ["\t\x0b\x0c\r\n ", "\x1c", "\u00a0"])
@example("\\w\\d", ["a0", "é0", "a٣"])
@given(patterns, st.lists(st.text(ALPHABET, max_size=5), min_size=10, max_size=20))
def test_a_pattern_matches_what_re_matches(pattern, texts):
    automaton = Automaton.from_pattern(pattern)
    peer = re.compile(pattern, re.ASCII)
    found = {text for text in texts if automaton.matches(text)}
    assert found == {text for text in texts if peer.fullmatch(text)}


@PROPERTY
@given(patterns, st.integers(0, 2**32 - 1))
def test_what_the_automaton_spells_is_matched_by_re(pattern, seed):
    text = walk(Automaton.from_pattern(pattern), seed)
    assert text is None or re.fullmatch(pattern, text, re.ASCII), (pattern, text)


def walk(automaton, seed):
    """A text that an automaton accepts, drawn byte by byte; None if the walk is long."""
    rng, state, data = __import__("random").Random(seed), 0, []
    while len(data) < 100:
        after = (automaton.table[state] >= 0).nonzero()[0].tolist()
        if automaton.accepting[state] and (not after or rng.random() < 0.3):
            return bytes(data).decode()
        data.append(rng.choice(after))
        state = automaton.table[state, data[-1]]
    return None


@pytest.mark.parametrize(
    ("pattern", "position", "why"),
    [
        ("ab(c", 2, "opens a group that is never closed"),
        ("ab)c", 2, "closes a group that was never opened"),
        ("a[bc", 1, "opens a class that is never closed"),
        ("a[]", 1, "opens a class that is never closed"),
        ("[a-", 0, "opens a class that is never closed"),
        ("*a", 0, "has nothing to repeat"),
        ("a|+", 2, "has nothing to repeat"),
        ("a**", 2, "follows a quantifier"),
        ("a+?", 2, "follows a quantifier"),
        ("a{2}{3}", 4, "follows a quantifier"),
        ("a{3,2}", 1, "at least 3 and at most 2"),
        ("a{x}", 1, "is no quantifier"),
        ("a{,}", 1, "is no quantifier"),
        ("a{", 1, "is no quantifier"),
        ("a{9999}", 1, "repeats 9999 times; 4096 is the most"),
        ('{"a"', 0, "has nothing to repeat; for the character write"),
        ("^a", 0, "is an anchor"),
        ("a$", 1, "is an anchor"),
        ("[z-a]", 1, "no range from a character to a later one"),
        ("[\\d-a]", 1, "no range"),
        ("[a-\\d]", 1, "no range"),
        ("a\\", 1, "is the last character"),
        ("\\1", 0, "escapes '1'"),
        ("\\bx", 0, "escapes 'b'"),
        ("\\x4", 0, "needs 2 hexadecimal digits, found '4'"),
        ("\\u00g0", 0, "needs 4 hexadecimal digits"),
        ("\\ud800", 0, r"stands for U\+D800, which is no character"),
        ("\\U00110000", 0, r"stands for U\+110000, which is no character"),
        ("(?=a)", 0, r"begins '\(\?='; of such groups only"),
        ("(?P<x>a)", 0, r"begins '\(\?P'"),
    ],
)
def test_a_malformed_pattern_is_refused_with_its_position(pattern, position, why):
    with pytest.raises(InputError, match=f"position {position}: .*{why}"):
        parse_pattern(pattern)


def test_groups_may_stand_in_fifty_others_and_no_more():
    assert Automaton.from_pattern("(" * 50 + "a" + ")" * 50).matches("a")
    with pytest.raises(InputError, match=r"position 50: .* inside 50 others"):
        parse_pattern("(" * 51 + "a" + ")" * 51)


def test_a_pattern_is_a_str_of_characters(unchecked):
    with pytest.raises(InputTypeError, match="pattern must be a str, got bytes"):
        parse_pattern(b"a")
    with pytest.raises(InputError, match="surrogate"):
        parse_pattern("a\ud800")
    with pytest.raises(InputError, match="pattern has 8,193 characters; 8,192 is the most"):
        parse_pattern("a" * 8193)
