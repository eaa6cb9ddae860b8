import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mathlm.errors import InputError, InputTypeError
from mathlm.text.ngrams import AddK, Backoff, Interpolated, KneserNey, NGramCounts

V = 5  # of the loop references
K, WEIGHT = Fraction(1, 4), Fraction(3, 4)


def count(data, gram):
    return sum(data[i : i + len(gram)] == gram for i in range(len(data) - len(gram) + 1))


def after(data, h):
    """Counts of what follows h."""
    return {w: c for w in range(V) if (c := count(data, [*h, w]))}


def loop_add_k(data, h, w):
    followers = after(data, h)
    return (followers.get(w, 0) + K) / (sum(followers.values()) + K * V)


def loop_interpolated(data, h, w):
    followers = after(data, h)
    lower = loop_interpolated(data, h[1:], w) if h else Fraction(1, V)
    if not followers:
        return lower
    own = Fraction(followers.get(w, 0), sum(followers.values()))
    return WEIGHT * own + (1 - WEIGHT) * lower


def loop_discount(data, n):
    grams = {tuple(data[i : i + n]) for i in range(len(data) - n + 1)}
    ones, twos = (sum(count(data, list(g)) == k for g in grams) for k in (1, 2))
    return Fraction(ones, ones + 2 * twos) if ones and twos else Fraction(1, 2)


def loop_backoff(data, h, w):
    followers = after(data, h)
    lower = [loop_backoff(data, h[1:], x) if h else Fraction(1, V) for x in range(V)]
    if not followers:
        return lower[w]
    total = sum(followers.values())
    D = loop_discount(data, len(h) + 1) if len(followers) < V else 0
    if w in followers:
        return (followers[w] - D) / total
    left = 1 - sum(lower[x] for x in followers)
    return D * len(followers) / total / left * lower[w]


MODELS = {
    "add-k": (lambda order, data: AddK(order, data, 0.25, V), loop_add_k),
    "interpolated": (lambda order, data: Interpolated(order, data, 0.75, V), loop_interpolated),
    "backoff": (lambda order, data: Backoff(order, data, V), loop_backoff),
}
EVERY = [*MODELS.values(), (lambda order, data: KneserNey(order, data, V), None)]
texts = st.lists(st.integers(0, 3), min_size=4, max_size=25)
histories = st.lists(st.integers(0, V - 1), max_size=4)


@pytest.mark.parametrize(("make", "loop"), MODELS.values(), ids=MODELS)
@settings(max_examples=50, deadline=None, derandomize=True)
@given(data=texts, history=histories, order=st.integers(1, 4))
def test_probabilities_equal_the_definition(make, loop, data, history, order):
    ours = make(order, np.array(data)).distribution(np.array(history, dtype=int))
    h = history[max(0, len(history) - order + 1) :]
    expected = [float(loop(data, h, w)) for w in range(V)]
    np.testing.assert_allclose(ours, expected, rtol=1e-12)


@pytest.mark.parametrize("make", [make for make, _ in EVERY])
@settings(max_examples=50, deadline=None, derandomize=True)
@given(data=texts, history=histories, order=st.integers(1, 4))
def test_probabilities_sum_to_one_after_every_history(make, data, history, order):
    p = make(order, np.array(data)).distribution(np.array(history, dtype=int))
    assert math.isclose(p.sum(), 1, rel_tol=1e-12)
    assert (p > 0).all()


@pytest.mark.parametrize("make", [make for make, _ in EVERY])
def test_scores_of_a_text_are_its_conditional_probabilities(make, rng):
    model, text = make(3, rng.integers(0, 4, 60)), rng.integers(0, V, 20)
    one_by_one = [np.log(model.distribution(text[:t])[text[t]]) for t in range(len(text))]
    np.testing.assert_allclose(model.log_probabilities(text), one_by_one, rtol=1e-12)


@pytest.mark.parametrize("length", [0, 2, 20])
@pytest.mark.parametrize("make", [make for make, _ in EVERY])
def test_scores_of_each_order_are_those_of_the_models_of_that_order(make, length, rng):
    data, text = rng.integers(0, 4, 60), rng.integers(0, V, length)
    found = make(4, data).log_probabilities_by_order(text)
    expected = [make(n, data).log_probabilities(text) for n in (1, 2, 3, 4)]
    np.testing.assert_allclose(found, expected, rtol=1e-12)


@pytest.mark.parametrize("make", [make for make, _ in EVERY])
def test_padding_on_either_side_changes_no_score(make, rng):
    model, text = make(3, rng.integers(0, 4, 60)), rng.integers(0, V, 7)
    ids, mask = np.full((3, 11), 99), np.zeros((3, 11), bool)
    for row, start in enumerate((0, 4, 2)):  # right, left, both sides
        ids[row, start : start + 7], mask[row, start : start + 7] = text, True
    scores = model.score(ids, mask)
    np.testing.assert_allclose(scores.sum(1), model.log_probabilities(text).sum(), rtol=1e-12)
    assert (scores[~mask] == 0).all()


def test_counts_made_once_serve_every_model(rng):
    data = rng.integers(0, 4, 80)
    counts = NGramCounts(4, data, V)
    for make, _ in EVERY:
        fresh, shared = (make(3, x).log_probabilities(data) for x in (data, counts))
        assert (fresh == shared).all()


def test_where_every_token_was_seen_nothing_is_taken():
    """After 0 both tokens of the vocabulary occur, twice and once: 2/3 and 1/3."""
    model = Backoff(2, np.array([0, 0, 1, 0, 0]), vocab_size=2)
    np.testing.assert_allclose(model.distribution(np.array([0])), [2 / 3, 1 / 3], rtol=1e-12)


def test_laplace_gives_a_frequent_history_away():
    """c(ab) = 3, c(a·) = 3: relative frequency 1, Laplace (3 + 1) / (3 + 256)."""
    model = AddK(2, b"ababab", k=1)
    assert math.isclose(model.distribution(b"a")[ord("b")], 4 / 259, rel_tol=1e-12)


@pytest.mark.parametrize("k", [0, -1.0, math.inf, math.nan])
def test_k_must_be_positive(k):
    with pytest.raises(InputError, match=f"k={k} must be positive and finite"):
        AddK(2, b"text", k=k)


@pytest.mark.parametrize("weight", [0.0, 1.0, -0.5, math.nan])
def test_the_weight_lies_between_zero_and_one(weight):
    with pytest.raises(InputError, match=f"weight={weight} must lie between 0 and 1"):
        Interpolated(2, b"text", weight=weight)


def test_an_order_that_was_not_counted_is_an_error():
    with pytest.raises(InputError, match="order=3 must be between 1 and the order counted, 2"):
        Backoff(3, NGramCounts(2, b"text"))


def test_counts_over_another_vocabulary_are_refused():
    with pytest.raises(InputError, match="vocab_size=10, but the counts are over 256 tokens"):
        Backoff(2, NGramCounts(2, b"abc"), vocab_size=10)


def test_a_k_that_overflows_is_refused():
    with pytest.raises(InputError, match="added to 256 counts overflows"):
        AddK(2, b"abc", k=1e308)


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize(
    ("ids", "mask", "says"),
    [
        (np.zeros((2, 3), int), np.ones((2, 2), bool), r"shape \(2, 3\) and mask \(2, 2\)"),
        (np.zeros(3, int), np.ones(3, bool), r"shape \(3,\) and mask \(3,\)"),
    ],
)
def test_ids_and_masks_that_do_not_fit_are_refused(ids, mask, says):
    with pytest.raises(InputError, match=says):
        AddK(2, b"abc").score(ids, mask)


@pytest.mark.usefixtures("unchecked")
def test_a_mask_of_numbers_is_refused_since_it_would_pick_tokens_by_their_index():
    with pytest.raises(InputTypeError, match="mask has dtype int64; give booleans"):
        AddK(2, b"abc").score(np.zeros((1, 2), int), np.ones((1, 2), int))
