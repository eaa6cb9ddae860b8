import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mathlm.text import Automaton
from mathlm.text.patterns.parser import LENGTHS, byte_range, complement, in_utf8
from mathlm.text.patterns.regular import NOTHING
from mathlm.text.tokenizers.stream import LAST

PROPERTY = settings(deadline=None, derandomize=True, max_examples=20)
EDGES = sorted({e for pair in LENGTHS for e in pair} | {0xD7FF, 0xE000, 0x3F, 0xFFF, 0x1000})
points = st.one_of(st.sampled_from(EDGES), st.integers(0, LAST))
ranges = st.tuples(points, points).map(lambda pair: (min(pair), max(pair)))


def is_surrogate(point):
    return 0xD800 <= point < 0xE000


def near(*points):
    """Characters at, before and behind some code points."""
    close = {p + d for p in points for d in (-1, 0, 1, 63, 64)}
    return [chr(p) for p in sorted(close) if 0 <= p <= LAST and not is_surrogate(p)]


@PROPERTY
@given(st.lists(ranges, min_size=1, max_size=3), points)
def test_the_bytes_are_those_of_the_characters_in_the_ranges(some, other):
    expression = in_utf8(tuple(some))
    wanted = {c for c in near(other, *sum(some, ())) if any(a <= ord(c) <= b for a, b in some)}
    if expression == NOTHING:
        assert wanted == set()
        return
    automaton = Automaton.from_expression(expression)
    assert {c for c in near(other, *sum(some, ())) if automaton.matches(c)} == wanted


@PROPERTY
@given(st.lists(ranges, max_size=4), points)
def test_the_complement_has_what_the_ranges_do_not_have(some, point):
    inside = any(a <= point <= b for a, b in some)
    assert any(a <= point <= b for a, b in complement(tuple(some))) == (not inside)


def test_every_character_has_the_bytes_of_valid_utf8_and_no_others():
    """Of the 256² pairs of bytes exactly those are characters that Python can decode."""
    automaton = Automaton.from_expression(in_utf8(((0x80, LAST),)))
    table, accepting = automaton.table, automaton.accepting
    for first in range(256):
        behind = table[table[0, first]]
        found = (table[0, first] >= 0) & (behind >= 0) & accepting[behind]
        expected = [is_one_character(bytes([first, second])) for second in range(256)]
        assert found.tolist() == expected


def is_one_character(data):
    try:
        return len(data.decode()) == 1
    except UnicodeDecodeError:
        return False


def test_surrogates_are_no_characters():
    assert in_utf8(((0xD800, 0xDFFF),)) == NOTHING


@pytest.mark.parametrize(("first", "last", "count"), [(0, 255, 256), (5, 5, 1), (6, 5, 0)])
def test_a_byte_range_has_both_its_ends(first, last, count):
    assert byte_range(first, last).members.bit_count() == count
