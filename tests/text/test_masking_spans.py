"""T5's spans, against the definition and against all placements of small texts."""

from collections import Counter
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mathlm.errors import DataError, InputError, InputTypeError
from mathlm.text import corrupt_spans, cut_spans, draw_spans, restore_spans

MARKS = list(range(1000, 1200))
WORDS = ["Thank", "you", "for", "inviting", "me", "to", "your", "party", "last", "week", "."]


def test_the_example_of_the_paper():
    """Figure 2 of arXiv:1910.10683: "for inviting" and "last" are cut out."""
    X, Y, Z = MARKS[:3]
    source, target = cut_spans(range(11), np.array([[2, 4], [8, 9]]), MARKS)
    assert [WORDS[i] if i < 11 else i for i in source] == [
        "Thank", "you", X, "me", "to", "your", "party", Y, "week", ".",
    ]  # fmt: skip
    assert [WORDS[i] if i < 11 else i for i in target] == [X, "for", "inviting", Y, "last", Z]


lengths, seeds = st.integers(1, 60), st.integers(0, 2**32)
rates, means = st.floats(0.01, 1.0), st.floats(1.0, 9.0)


@given(lengths, seeds, rates, means)
def test_the_text_comes_back(length, seed, rate, mean):
    rng = np.random.default_rng(seed)
    ids = rng.integers(0, 1000, length)
    source, target = corrupt_spans(ids, rng, sentinels=MARKS, rate=rate, mean_length=mean)
    assert np.array_equal(restore_spans(source, target, sentinels=MARKS), ids)
    N = np.isin(source, MARKS).sum()
    assert len(source) + len(target) == length + 2 * N + 1


@given(lengths, seeds, rates, means)
def test_spans_hold_the_share_that_was_asked_for_and_never_touch(length, seed, rate, mean):
    spans = draw_spans(length, np.random.default_rng(seed), rate=rate, mean_length=mean)
    m = max(1, round(rate * length))
    assert np.diff(spans, axis=1).sum() == m
    assert (np.diff(spans.ravel()) >= 1).all()
    assert 0 <= spans[0, 0] <= spans[-1, 1] <= length
    assert len(spans) == min(max(1, round(m / mean)), length - m + 1)


def test_512_tokens_have_the_77_in_26_holes_of_the_defaults(rng):
    """round(0.15 · 512) = 77 and round(77 / 3) = 26."""
    spans = draw_spans(512, rng)
    assert len(spans) == 26
    assert np.diff(spans, axis=1).sum() == 77


def runs(places):
    """Number of runs in a set of places."""
    return sum(p - 1 not in places for p in places)


@pytest.mark.slow
def test_every_placement_is_equally_likely(rng):
    """Of 9 places 4 in 2 spans: 3 sums of 4 · (6 choose 2) gaps = 45; here 400 times each."""
    possible = [set(c) for c in combinations(range(9), 4) if runs(set(c)) == 2]
    assert len(possible) == 45
    found = Counter()
    for _ in range(18_000):
        spans = draw_spans(9, rng, rate=4 / 9, mean_length=2)
        found[tuple(np.concatenate([np.arange(*s) for s in spans]).tolist())] += 1
    assert {frozenset(c) for c in found} == {frozenset(c) for c in possible}
    chi2 = sum((n - 400) ** 2 / 400 for n in found.values())
    assert chi2 < 44 + 4 * np.sqrt(88)  # 44 degrees of freedom, variance twice that


def test_the_same_generator_gives_the_same_spans():
    one, two, other = (draw_spans(90, np.random.default_rng(seed)) for seed in (5, 5, 6))
    assert np.array_equal(one, two)
    assert not np.array_equal(one, other)


def test_a_text_that_is_cut_out_whole_is_one_hole():
    source, target = corrupt_spans(
        [3, 4], np.random.default_rng(0), sentinels=MARKS, rate=1.0, mean_length=1.0
    )
    assert source.tolist() == [1000]
    assert target.tolist() == [1000, 3, 4, 1001]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"rate": 0.0}, r"rate=0\.0 is outside 0 < rate <= 1"),
        ({"rate": 1.5}, r"rate=1\.5 is outside"),
        ({"rate": float("nan")}, "rate=nan is outside"),
        ({"mean_length": 0.5}, r"mean_length=0\.5 must be at least 1"),
        ({"sentinels": [50]}, "1 spans need 2 sentinels, one to end the target; got 1"),
        ({"sentinels": [50, 51, 50]}, r"stands twice in \[50, 51, 50\]"),
        ({"sentinels": []}, "sentinels are empty"),
    ],
)
def test_numbers_that_do_not_fit_are_refused(rng, changes, message):
    with pytest.raises(InputError, match=message):
        corrupt_spans(range(8), rng, **{"sentinels": MARKS} | changes)


def test_texts_that_cannot_be_cut_are_refused(rng):
    with pytest.raises(InputError, match="ids are empty"):
        corrupt_spans([], rng, sentinels=MARKS)
    with pytest.raises(InputError, match="length=0: a text without tokens"):
        draw_spans(0, rng)
    with pytest.raises(DataError, match="token 1 of the text is 1003, a sentinel"):
        corrupt_spans([4, 1003], rng, sentinels=MARKS)
    with pytest.raises(InputError, match="token id -1 at 1 is outside"):
        corrupt_spans([4, -1], rng, sentinels=MARKS)


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize(
    ("ids", "dtype"), [([0.5], "float64"), ("ab", "<U2"), ([True], "bool")]
)
def test_ids_that_are_no_integers_are_refused(rng, ids, dtype):
    with pytest.raises(InputTypeError, match=f"ids must be integers, got {dtype}"):
        corrupt_spans(ids, rng, sentinels=MARKS)


@pytest.mark.parametrize(
    "spans", [[[2, 4], [4, 5]], [[3, 3]], [[4, 5], [1, 2]], [[-1, 2]], [[7, 9]]], ids=str
)
def test_spans_that_do_not_lie_in_the_text_are_refused(spans):
    with pytest.raises(InputError, match=r"must lie in 0\.\.8 from left to right"):
        cut_spans(range(8), np.array(spans), MARKS)


@pytest.mark.parametrize(
    ("target", "message"),
    [
        (
            [1000, 7, 1001, 8],
            r"target has the sentinels \[1000, 1001\], expected \[1000, 1001, 1",
        ),
        ([1000, 7, 1002, 8, 1001], r"the sentinels \[1000, 1002, 1001\], expected"),
        ([5, 1000, 7, 1001, 8, 1002], "must begin and end with a sentinel"),
        ([1000, 7, 1001, 1002], "the target leaves hole 1 of 2 empty"),
        ([1000, 7, 1001, 8, 1002, 9], "must begin and end with a sentinel"),
    ],
)
def test_an_answer_that_is_no_target_is_refused(target, message):
    with pytest.raises(DataError, match=message):
        restore_spans([1, 1000, 2, 1001], target, sentinels=MARKS)


def test_a_source_with_its_sentinels_out_of_order_is_refused():
    with pytest.raises(
        DataError, match=r"source has the sentinels \[1001\], expected \[1000\]"
    ):
        restore_spans([1, 1001], [1000, 7, 1001], sentinels=MARKS)
