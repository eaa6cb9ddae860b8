from functools import reduce
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mathlm.errors import InputError
from mathlm.reference import dot_product_attention, merge_softmax_states, softmax_state


def keys(seed, count, batch=(), spread=30.0):
    rng = np.random.default_rng(seed)
    return spread * rng.normal(size=(*batch, count)), rng.normal(size=(*batch, count, 3))


def state(seed, count=4, batch=()):
    return softmax_state(*keys(seed, count, batch))


def assert_same(a, b):
    for x, y in zip(a, b, strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-12, atol=1e-300)


def test_two_keys_by_hand():
    """Scores ln 1 and ln 3, values 0 and 1: μ = ln 3, λ = 4/3, o = 1, and o / λ = 3/4."""
    s = softmax_state(np.log([1.0, 3.0]), np.array([[0.0], [1.0]]))
    np.testing.assert_allclose([s.maximum, s.total, s.mixture[0]], [np.log(3), 4 / 3, 1])


def test_mixture_over_total_is_attention(rng):
    q, k, v = rng.normal(size=(1, 4)), rng.normal(size=(6, 4)), rng.normal(size=(6, 3))
    s = softmax_state((q @ k.T)[0] / 2, v)
    expected = dot_product_attention(q, k, v)[0][0]
    np.testing.assert_allclose(s.mixture / s.total, expected, rtol=1e-12)


@given(st.integers(0, 10**6), st.lists(st.integers(0, 12), max_size=5))
def test_any_cut_into_pieces_merges_to_the_whole(seed, cuts):
    scores, values = keys(seed, 12)
    edges = [0, *sorted(cuts), 12]
    pieces = [softmax_state(scores[i:j], values[i:j]) for i, j in pairwise(edges)]
    assert_same(reduce(merge_softmax_states, pieces), softmax_state(scores, values))


@pytest.mark.parametrize("batch", [(), (2,), (2, 3)])
def test_merging_is_associative_and_commutative(batch):
    a, b, c = (state(seed, batch=batch) for seed in range(3))
    left = merge_softmax_states(merge_softmax_states(a, b), c)
    assert_same(left, merge_softmax_states(a, merge_softmax_states(b, c)))
    assert_same(left, merge_softmax_states(c, merge_softmax_states(b, a)))


def test_no_key_changes_nothing():
    nothing = state(0, count=0)
    assert (nothing.maximum, nothing.total) == (-np.inf, 0)
    assert_same(merge_softmax_states(nothing, state(1)), state(1))
    assert_same(merge_softmax_states(nothing, nothing), nothing)


def test_scores_of_any_size_do_not_overflow():
    scores, values = np.array([0.0, 5000.0]), np.array([[1.0], [2.0]])
    s = merge_softmax_states(
        softmax_state(scores[:1], values[:1]), softmax_state(scores[1:], values[1:])
    )
    assert (s.maximum, s.total, s.mixture[0]) == (5000.0, 1.0, 2.0)


def test_shapes_that_do_not_fit_are_refused(unchecked):
    with pytest.raises(InputError, match=r"scores have shape \(2,\) and values \(3, 1\)"):
        softmax_state(np.ones(2), np.ones((3, 1)))
    with pytest.raises(InputError, match=r"shapes \(3,\) and \(1, 3\)"):
        merge_softmax_states(state(0), state(0, batch=(1,)))


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_scores_and_values_that_are_not_finite_are_refused(bad):
    with pytest.raises(InputError, match="NaN or infinite"):
        softmax_state(np.array([0.0, bad]), np.ones((2, 1)))
    with pytest.raises(InputError, match=r"^values holds 1 NaN or infinite"):
        softmax_state(np.zeros(2), np.array([[0.0], [bad]]))


def test_sums_that_overflow_are_refused():
    huge = np.full((2, 1), 1e308)
    with pytest.raises(InputError, match="sum of the weighted values"):
        softmax_state(np.zeros(2), huge)
    half = softmax_state(np.zeros(1), huge[:1])
    with pytest.raises(InputError, match="sum of the weighted values"):
        merge_softmax_states(half, half)


def test_scores_as_far_apart_as_numbers_go_are_no_overflow():
    s = softmax_state(np.array([1e308, -1e308]), np.array([[3.0], [4.0]]))
    assert (s.total, s.mixture[0]) == (1.0, 3.0)


def test_rows_near_zero_and_near_ten_thousand_live_together():
    """One less than the largest of its own row: 1 + 1/e in each, and the values likewise."""
    scores = np.array([[0.0, 1.0], [1e4, 1e4 + 1], [-1e4, 1 - 1e4]])
    state = softmax_state(scores, np.ones((3, 2, 1)))
    np.testing.assert_array_equal(state[0], [1, 1e4 + 1, 1 - 1e4])
    np.testing.assert_allclose(state[1], [1 + np.exp(-1)] * 3, rtol=1e-12)
