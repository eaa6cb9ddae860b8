from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mathlm.errors import InputError
from mathlm.text.patterns.regular import (
    ALL_BYTES,
    EMPTY,
    NOTHING,
    Alternation,
    ByteSet,
    Concatenation,
    Repetition,
    accepts_empty,
    byte_classes,
    concatenate,
    derivative,
    either,
    repeat,
)

PROPERTY = settings(deadline=None, derandomize=True, max_examples=25)
A, B = ByteSet(1 << ord("a")), ByteSet(1 << ord("b"))
expressions = st.recursive(
    st.sampled_from([A, B, either(A, B), EMPTY]),
    lambda inner: st.one_of(
        st.tuples(inner, inner).map(lambda pair: concatenate(*pair)),
        st.tuples(inner, inner).map(lambda pair: either(*pair)),
        st.tuples(inner, st.integers(0, 2), st.sampled_from([2, 3, None])).map(
            lambda args: repeat(*args)
        ),
    ),
    max_leaves=6,
)


def strings(expression, longest):
    """The strings of an expression, up to a length, by the definition of each form."""
    match expression:
        case ByteSet(members):
            return {bytes([i]) for i in range(256) if members >> i & 1}
        case Alternation(choices):
            return set().union(*(strings(choice, longest) for choice in choices))
        case Concatenation(parts):
            return joined([strings(part, longest) for part in parts], longest)
        case Repetition(part, least, most):
            one = strings(part, longest)
            top = max(least, longest) if most is None else most
            counts = range(least, min(top, longest + least) + 1)
            return set().union(*(joined([one] * n, longest) for n in counts))


def joined(sets, longest):
    found = {b""}
    for one in sets:
        found = {a + b for a in found for b in one if len(a + b) <= longest}
    return found


@PROPERTY
@given(expressions)
def test_a_derivative_has_the_rests_of_the_strings_that_begin_with_the_byte(expression):
    rests = {s[1:] for s in strings(expression, 5) if s[:1] == b"a"}
    assert strings(derivative(expression, ord("a")), 4) == rests


@PROPERTY
@given(expressions)
def test_an_expression_accepts_the_empty_string_if_it_is_one_of_its_strings(expression):
    assert accepts_empty(expression) == (b"" in strings(expression, 2))


@PROPERTY
@given(expressions)
def test_byte_classes_part_the_bytes_and_have_one_derivative_each(expression):
    classes = byte_classes(expression)
    assert sum(classes) == ALL_BYTES  # a sum of sets that do not overlap is their union
    for members in classes:
        some = [i for i in (*b"abc", 0, 255) if members >> i & 1]
        of_class = {derivative(expression, i) for i in some or [members.bit_length() - 1]}
        assert len(of_class) == 1


def test_the_derivatives_of_a_pattern_by_hand():
    """(a|b)*abb: a adds the hope of bb; behind abb the empty string is in."""
    any_ab = repeat(either(A, B), 0, None)
    r = concatenate(any_ab, A, B, B)
    behind_a = either(r, concatenate(B, B))
    assert derivative(r, ord("a")) == behind_a
    assert derivative(behind_a, ord("b")) == either(r, B)
    assert derivative(either(r, B), ord("b")) == either(r, EMPTY)
    assert derivative(r, ord("c")) == NOTHING


def test_choices_are_a_set():
    x, y, z = concatenate(A, B), concatenate(B, A), repeat(A, 0, None)
    assert either(x, either(y, z)) == either(either(z, x), y, x)
    assert either(A, B) == ByteSet(A.members | B.members)
    assert either() == NOTHING


@pytest.mark.parametrize(
    ("built", "expected"),
    [
        (concatenate(A, NOTHING), NOTHING),
        (concatenate(A, EMPTY), A),
        (concatenate(), EMPTY),
        (repeat(A, 0, 0), EMPTY),
        (repeat(A, 1, 1), A),
        (repeat(NOTHING, 0, None), EMPTY),
        (repeat(NOTHING, 1, None), NOTHING),
        (repeat(repeat(A, 0, None), 2, 3), repeat(A, 0, None)),
        (repeat(repeat(A, 0, 1), 2, 3), Repetition(Repetition(A, 0, 1), 0, 3)),
    ],
)
def test_equal_expressions_have_one_form(built, expected):
    assert built == expected


@PROPERTY
@given(expressions)
def test_a_derivative_with_no_string_is_nothing(expression):
    """So a state other than NOTHING is never a dead end."""
    for word in product(b"ab", repeat=3):
        for byte in word:
            expression = derivative(expression, byte)
    assert (expression == NOTHING) == (not strings(expression, 12))


@pytest.mark.parametrize("byte", [-1, 256])
def test_what_is_no_byte_is_refused(byte):
    with pytest.raises(InputError, match=f"byte={byte} is no byte"):
        derivative(A, byte)
