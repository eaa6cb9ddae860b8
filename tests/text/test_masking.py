"""BERT's masking, against its definition."""

from collections import Counter
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mathlm.errors import DataError, InputError, InputTypeError
from mathlm.text import choose_tokens, mask_tokens

V, MASK, PAD = 50, 4, 0
SETTING = {"mask_id": MASK, "vocab_size": V, "special": (PAD, 1, 2)}


def texts(rng, rows=4, length=20):
    """Ids of which some are special."""
    return rng.integers(0, V, (rows, length))


@given(st.integers(0, 2**32), st.floats(0.01, 1.0))
def test_targets_are_the_chosen_tokens_and_nothing_else_changes(seed, rate):
    rng = np.random.default_rng(seed)
    ids = texts(rng)
    masked, targets = mask_tokens(ids, rng, rate=rate, **SETTING)
    chosen = targets != -100
    assert np.array_equal(targets[chosen], ids[chosen])
    assert np.array_equal(masked[~chosen], ids[~chosen])
    assert not np.isin(targets, (PAD, 1, 2, MASK)).any()


@given(st.integers(0, 2**32), st.floats(0.01, 1.0))
def test_each_row_has_its_share_of_targets_and_at_least_one(seed, rate):
    rng = np.random.default_rng(seed)
    ids = texts(rng)
    n = (~np.isin(ids, (PAD, 1, 2, MASK))).sum(1)
    _, targets = mask_tokens(ids, rng, rate=rate, **SETTING)
    assert ((targets != -100).sum(1) == np.maximum(1, np.round(rate * n))).all()


def test_a_row_of_padding_alone_has_no_target(rng):
    ids = np.array([[0, 0, 0], [0, 7, 8]])
    masked, targets = mask_tokens(ids, rng, **SETTING)
    assert (masked[0] == 0).all()
    assert (targets != -100).sum(1).tolist() == [0, 1]


def test_every_choice_of_tokens_is_equally_likely(rng):
    """2 of 5 candidates: 10 sets, here 500 times each; 9 degrees of freedom."""
    candidates = np.array([True, False, True, True, True, False, True])
    chosen = choose_tokens(np.tile(candidates, (5000, 1)), rng, 0.4)
    found = Counter(tuple(np.flatnonzero(row)) for row in chosen)
    assert set(found) == set(combinations(np.flatnonzero(candidates), 2))
    assert sum((n - 500) ** 2 / 500 for n in found.values()) < 9 + 4 * np.sqrt(18)


def test_of_the_chosen_80_percent_are_hidden_10_replaced_and_10_left(rng):
    """Of 45,000 tokens; a replaced one is by chance the old one in 1 of 45 cases."""
    ids = rng.integers(5, V, (300, 1000))
    masked, targets = mask_tokens(ids, rng, **SETTING)
    chosen = targets != -100
    hidden, same = (masked == MASK)[chosen].mean(), (masked == ids)[chosen].mean()
    assert chosen.sum() == 45_000
    assert abs(hidden - 0.8) < 4 * np.sqrt(0.8 * 0.2 / 45_000)
    assert abs(same - (0.1 + 0.1 / 46)) < 4 * np.sqrt(0.1 * 0.9 / 45_000)


def test_a_random_token_is_any_that_is_not_special(rng):
    ids = np.full((300, 400), 30)
    masked, _ = mask_tokens(ids, rng, rate=1.0, shares=(0, 1, 0), **SETTING)
    counts = np.bincount(masked.ravel(), minlength=V)
    assert np.flatnonzero(counts == 0).tolist() == [PAD, 1, 2, MASK]
    expected = masked.size / 46
    assert ((counts[counts > 0] - expected) ** 2 / expected).sum() < 45 + 4 * np.sqrt(90)


@pytest.mark.parametrize(("shares", "value"), [((1, 0, 0), MASK), ((0, 0, 1), 30)])
def test_a_share_of_one_leaves_no_choice(rng, shares, value):
    masked, _ = mask_tokens(np.full((3, 9), 30), rng, rate=1, shares=shares, **SETTING)
    assert (masked == value).all()


def test_the_ids_given_are_not_written_to(rng):
    ids = texts(rng)
    before = ids.copy()
    mask_tokens(ids, rng, rate=1.0, **SETTING)
    assert np.array_equal(ids, before)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"rate": 0}, "rate=0 is outside 0 < rate <= 1"),
        ({"rate": float("nan")}, "rate=nan is outside"),
        (
            {"shares": (0.8, 0.1, 0.2)},
            r"shares \(0\.8, 0\.1, 0\.2\) must .* sum to 1, got 1\.1",
        ),
        ({"shares": (1.1, -0.1, 0)}, "must be at least 0"),
        ({"mask_id": 50}, r"special token 50 is outside 0\.\.49"),
        ({"special": (-1,)}, "special token -1 is outside"),
        ({"special": range(50)}, "all 50 tokens of the vocabulary are special"),
        ({"vocab_size": 6}, r"token id 9 at \[0, 1\] is outside 0\.\.5"),
    ],
)
def test_numbers_that_do_not_fit_are_refused(rng, changes, message):
    with pytest.raises(InputError, match=message):
        mask_tokens(np.array([[5, 9]]), rng, **SETTING | changes)


def test_texts_that_cannot_be_masked_are_refused(rng):
    with pytest.raises(DataError, match="no token may be chosen: all are special"):
        mask_tokens(np.array([0, 0]), rng, **SETTING)
    with pytest.raises(InputError, match=r"ids have shape \(0,\)"):
        mask_tokens(np.array([], int), rng, **SETTING)
    with pytest.raises(InputError, match=r"rate=2 is outside"):
        choose_tokens(np.array([True]), rng, 2)


@pytest.mark.usefixtures("unchecked")
def test_ids_that_are_no_integers_are_refused(rng):
    with pytest.raises(InputTypeError, match="token ids must be integers, got float64"):
        mask_tokens(np.ones((2, 3)), rng, **SETTING)


@pytest.mark.parametrize("dtype", [np.uint16, np.uint32, np.int32])
def test_targets_of_other_integers_are_ignored_by_the_same_number(unchecked, dtype):
    """open_tokens gives unsigned ids, which have no -100."""
    ids = np.arange(5, 25, dtype=dtype)[None]
    found = mask_tokens(ids, np.random.default_rng(0), **SETTING)
    expected = mask_tokens(ids.astype(np.int64), np.random.default_rng(0), **SETTING)
    for one, other in zip(found, expected, strict=True):
        assert one.dtype == np.int64
        np.testing.assert_array_equal(one, other)
