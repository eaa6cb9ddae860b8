from collections import Counter

import numpy as np
import pytest

from mathlm.errors import InputError, InputTypeError
from mathlm.text.ngrams import CountTable, NGramCounts, count_table, longest_order


def test_bigrams_of_abracadabra():
    """ab, br and ra occur twice, ac, ca, ad and da once; three letters follow a."""
    table = NGramCounts(2, b"abracadabra").tables[1]
    found = {
        bytes(divmod(int(g), 256)): int(c)
        for g, c in zip(table.grams, table.counts, strict=True)
    }
    assert found == {b"ab": 2, b"br": 2, b"ra": 2, b"ac": 1, b"ca": 1, b"ad": 1, b"da": 1}
    a = table.histories.tolist().index(ord("a"))
    assert (table.totals[a], table.followers[a]) == (4, 3)
    assert table.discount == 4 / (4 + 2 * 3)


def test_ids_are_counted_as_bytes_are(rng):
    ids = rng.integers(0, 5, 200)
    tables = NGramCounts(3, ids, vocab_size=5).tables
    for n, table in enumerate(tables, start=1):
        counted = Counter(tuple(ids[i : i + n]) for i in range(len(ids) - n + 1))
        packed = {
            sum(w * 5 ** (n - 1 - j) for j, w in enumerate(g)): c for g, c in counted.items()
        }
        assert dict(zip(table.grams.tolist(), table.counts.tolist(), strict=True)) == packed


def test_unseen_names_the_n_grams_that_training_lacks():
    counts = NGramCounts(3, b"abcab")
    assert counts.unseen(2, b"abca").tolist() == [False, False, False]
    assert counts.unseen(2, b"acb").tolist() == [True, True]
    assert counts.unseen(3, b"abcb").tolist() == [False, True]


def test_without_single_counts_the_discount_is_a_half():
    table = count_table(np.array([7]), np.array([4]), 256)
    assert isinstance(table, CountTable)
    assert table.discount == 0.5


def test_an_n_gram_of_the_longest_order_is_packed_without_overflow(rng):
    """7 bytes need 56 bits, 8 would need 64; ids below 25,000 need 15 bits each."""
    assert (longest_order(256), longest_order(25_000), longest_order(1)) == (7, 4, 63)
    table = NGramCounts(4, np.full(9, 24_999), vocab_size=25_000).tables[3]
    assert table.grams.tolist() == [25_000**4 - 1]


@pytest.mark.parametrize("order", [0, 8])
def test_order_out_of_range_is_an_error(order):
    with pytest.raises(InputError, match=f"order={order} must be between 1 and 7 for a vocab"):
        NGramCounts(order, b"long enough a text")


@pytest.mark.parametrize(
    ("ids", "says"),
    [
        (np.array([0, 5, 1]), r"token id 5 at 1 is outside 0\.\.4"),
        (np.array([0, -1, 1]), r"token id -1 at 1 is outside 0\.\.4"),
        (np.array([[0, 1]]), r"one dimension, got ids of shape \(1, 2\)"),
        (np.array([], dtype=int), "a text of 0 tokens holds no n-gram of order 1"),
    ],
)
def test_ids_that_cannot_be_counted_are_refused(ids, says):
    with pytest.raises(InputError, match=says):
        NGramCounts(1, ids, vocab_size=5)


def test_ids_that_are_no_integers_are_refused():
    with pytest.raises(InputTypeError, match="token ids must be integers, got float64"):
        NGramCounts(1, np.array([0.0, 1.0]), vocab_size=5)


def test_a_vocabulary_of_nothing_is_refused():
    with pytest.raises(InputError, match="vocab_size=0 must be positive"):
        NGramCounts(1, np.array([0]), vocab_size=0)


def test_unseen_needs_an_order_that_was_counted():
    with pytest.raises(InputError, match="n=3 must be between 1 and the order counted, 2"):
        NGramCounts(2, b"abc").unseen(3, b"abc")


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize(
    ("order", "vocab_size", "says"),
    [(2.5, 5, "order=2.5 must be an int"), (2, 5.0, "vocab_size=5.0 must be an int")],
)
def test_orders_and_vocabularies_that_are_no_integers_are_refused(order, vocab_size, says):
    with pytest.raises(InputTypeError, match=says):
        NGramCounts(order, np.array([0, 1, 2]), vocab_size=vocab_size)


def test_a_vocabulary_may_be_the_largest_id_and_one(unchecked):
    ids = np.array([0, 1, 1, 4])
    found, expected = NGramCounts(2, ids, ids.max() + 1), NGramCounts(2, ids, 5)
    assert type(found.vocab_size) is int
    for one, other in zip(found.tables, expected.tables, strict=True):
        np.testing.assert_array_equal(one.grams, other.grams)
