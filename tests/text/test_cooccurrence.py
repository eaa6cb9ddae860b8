import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mathlm.errors import DataError, InputError, InputTypeError
from mathlm.text import cooccurrence_counts, pair_counts, shrinking_windows, skip_gram_pairs


def listed(ids, radius, document):
    """The definition, pair by pair."""
    return [
        (ids[i], ids[j])
        for i in range(len(ids))
        for j in range(len(ids))
        if 0 < abs(i - j) <= radius[i] and document[i] == document[j]
    ]


def test_pairs_of_sat_with_window_two():
    """In "the cat sat on the mat", around "sat" (2) stand the, cat, on and the."""
    centers, contexts = skip_gram_pairs([0, 1, 2, 3, 0, 4], window=2)
    assert contexts[centers == 2].tolist() == [0, 1, 3, 0]


@given(st.lists(st.tuples(*[st.integers(0, 3)] * 3), min_size=1, max_size=12))
def test_pairs_are_those_of_the_definition(rows):
    ids, radius, document = (np.array(column) for column in zip(*rows, strict=True))
    expected = listed(ids.tolist(), radius, document)
    if not expected:
        with pytest.raises(DataError, match=f"no word of the {len(ids)} has a neighbor"):
            skip_gram_pairs(ids, radius, document)
    else:
        found = skip_gram_pairs(ids, radius, document)
        assert list(zip(*(a.tolist() for a in found), strict=True)) == expected


def test_a_window_wider_than_the_text_pairs_all_words():
    centers, _ = skip_gram_pairs([0, 1, 2], window=1000)
    assert len(centers) == 3 * 2


def test_windows_do_not_cross_documents():
    centers, contexts = skip_gram_pairs([0, 1, 2, 3], 3, np.array([0, 0, 1, 1]))
    assert list(zip(centers.tolist(), contexts.tolist(), strict=True)) == [
        (0, 1),
        (1, 0),
        (2, 3),
        (3, 2),
    ]


def test_counts_are_the_numbers_of_pairs():
    ids = np.array([0, 1, 0, 2, 1, 0])
    counts = cooccurrence_counts(ids, 2, vocab_size=4)
    expected = np.zeros((4, 4), int)
    for i, j in listed(ids, [2] * 6, [0] * 6):
        expected[i, j] += 1
    assert np.array_equal(counts, expected)
    assert np.array_equal(counts, counts.T)


def test_shrinking_windows_read_each_distance_as_often_as_they_should(rng):
    """P(radius >= r) = (window - r + 1) / window: 1, 2/3 and 1/3 for a window of 3."""
    radius = shrinking_windows(30_000, 3, rng)
    shares = [(radius >= r).mean() for r in (1, 2, 3, 4)]
    np.testing.assert_allclose(shares, [1, 2 / 3, 1 / 3, 0], atol=0.015)


BAD = [
    (lambda: skip_gram_pairs([], 1), DataError, "the text is empty"),
    (lambda: skip_gram_pairs([3], 1), DataError, "no word of the 1 has a neighbor"),
    (lambda: skip_gram_pairs([1, 2], 0), InputError, "window=0 must be an integer, at least 1"),
    (lambda: skip_gram_pairs([1, 2], np.array([1, -1])), InputError, "at least 0"),
    (lambda: skip_gram_pairs([1, 2], np.array([1])), InputError, r"window has shape \(1,\)"),
    (lambda: skip_gram_pairs([1, 2], 1, np.array([0])), InputError, r"document has shape"),
    (lambda: skip_gram_pairs([1, -2], 1), InputError, "token id -2 at 1 is outside"),
    (lambda: skip_gram_pairs([0.5, 1], 1), InputTypeError, "must be integers, got float64"),
    (lambda: cooccurrence_counts([0, 4], 1, 4), InputError, "token id 4 at 1 is outside 0..3"),
    (lambda: cooccurrence_counts([0, 1], 1, 0), InputError, "vocab_size=0 needs 0 counts"),
    (lambda: cooccurrence_counts([0, 1], 1, 20_000), InputError, "give 1 to 16384 words"),
    (lambda: pair_counts(*np.ones((2, 3), int), 1), InputError, "token id 1 at 0 is outside"),
    (
        lambda: pair_counts(np.ones(3, int), np.ones(2, int), 2),
        InputError,
        r"centers have shape \(3,\), but contexts \(2,\)",
    ),
    (lambda: shrinking_windows(3, 0, np.random.default_rng()), InputError, "window=0 must be"),
]


@pytest.mark.parametrize(("call", "error", "message"), BAD)
def test_bad_input_is_refused(call, error, message):
    with pytest.raises(error, match=message):
        call()


BAD_TYPES = [
    (
        lambda: pair_counts(np.ones(2, int), np.ones(2, int), 2.0),
        InputTypeError,
        "=2.0",
    ),
    (lambda: pair_counts(np.ones(2, int), np.ones(2, int), -2), InputError, "vocab_size=-2"),
    (
        lambda: pair_counts(np.ones(2, int), np.ones(2, int), np.int32(65537)),
        InputError,
        "needs 4295098369 counts",
    ),
    (
        lambda: shrinking_windows(3, 1.5, np.random.default_rng()),
        InputError,
        "window=1.5 must be an integer",
    ),
    (
        lambda: skip_gram_pairs([1, 2], 1, np.array(0)),
        InputError,
        r"document has shape \(\), but ids has \(2,\)",
    ),
    (
        lambda: skip_gram_pairs([1, 2], 1, np.array([np.nan, np.nan])),
        InputTypeError,
        "document must hold integers",
    ),
]


@pytest.mark.parametrize(("call", "error", "message"), BAD_TYPES)
@pytest.mark.usefixtures("unchecked")
def test_what_would_be_rounded_or_overflow_is_refused(call, error, message):
    with pytest.raises(error, match=message):
        call()
