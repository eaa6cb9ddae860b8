"""Signatures agree as often as sets are alike."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mathlm.errors import InputError
from mathlm.text import candidate_pairs, collision_probability, jaccard, minhash, shingles


def sets_of(similarity, size, pairs, rng):
    """Pairs of sets of random hashes whose Jaccard similarity is known."""
    shared, sets = round(similarity * size), []
    for _ in range(pairs):
        x = rng.integers(0, 2**64, size, dtype=np.uint64)
        half = shared + (size - shared) // 2
        sets += [x[:half], np.concatenate([x[:shared], x[half:]])]
    return sets


def test_shingles_are_the_different_runs_of_words():
    """a b a b a holds ab and ba; capitals, signs and order of the runs do not count."""
    assert len(shingles("A b, a b a.", 2)) == 2
    assert shingles("a b c", 2).tolist() == shingles("A  B;\nC", 2).tolist()
    assert shingles("a b c", 2).tolist() != shingles("c b a", 2).tolist()


def test_a_text_of_fewer_words_is_one_shingle():
    assert len(shingles("one two", 5)) == 1
    assert len(shingles("?!", 5)) == 0
    with pytest.raises(InputError, match="n=0"):
        shingles("one two", 0)


def test_jaccard_is_that_of_sets():
    @settings(max_examples=50, deadline=None)
    @given(a=st.sets(st.integers(0, 20)), b=st.sets(st.integers(0, 20), min_size=1))
    def holds(a, b):
        arrays = (np.array(sorted(s), np.uint64) for s in (a, b))
        assert jaccard(*arrays) == len(a & b) / len(a | b)

    holds()


def test_two_empty_sets_are_equal():
    assert jaccard(np.zeros(0, np.uint64), np.zeros(0, np.uint64)) == 1.0


@pytest.mark.parametrize("similarity", [0.2, 0.5, 0.9])
def test_signatures_agree_with_the_probability_of_the_jaccard_similarity(similarity, rng):
    """Share of 200 * 64 equal numbers; each pair's mean has variance s(1 - s)/64."""
    signatures = minhash(sets_of(similarity, 100, 200, rng), 64, seed=3)
    agree = (signatures[::2] == signatures[1::2]).mean()
    sigma = np.sqrt(similarity * (1 - similarity) / (200 * 64))
    assert abs(agree - similarity) < 4 * sigma


def test_the_signature_is_the_least_hash_of_each_function(rng):
    sets = [rng.integers(0, 2**64, n, dtype=np.uint64) for n in (3, 1, 7)]
    whole = minhash(sets, 8, seed=1)
    parts = np.concatenate([minhash([s], 8, seed=1) for s in sets])
    assert whole.tolist() == parts.tolist()
    single = minhash([s[:1] for s in sets], 8, seed=1)
    assert (whole <= single).all()
    assert (whole[1] == single[1]).all()


def test_each_hash_function_is_a_permutation():
    """x and x + 2**63 differ by a (2**63) mod 2**64, which is 0 for every even a."""
    x = np.arange(5, dtype=np.uint64)
    elements = np.concatenate([x, x + np.uint64(2**63)])
    signatures = minhash([elements[i : i + 1] for i in range(10)], 64)
    assert [len(set(column.tolist())) for column in signatures.T] == [10] * 64


def test_the_union_has_the_lesser_of_two_signatures(rng):
    a, b = (rng.integers(0, 2**64, 20, dtype=np.uint64) for _ in range(2))
    of_a, of_b, of_both = minhash([a, b, np.concatenate([a, b])], 16)
    assert np.minimum(of_a, of_b).tolist() == of_both.tolist()


@pytest.mark.parametrize("similarity", [0.3, 0.5, 0.6, 0.8])
def test_bands_collide_as_often_as_the_formula_says(similarity, rng):
    """400 pairs of sets; four standard deviations of a binomial share."""
    signatures = minhash(sets_of(similarity, 100, 400, rng), 60, seed=5)
    found = {(i, j) for i, j in candidate_pairs(signatures, 12).tolist() if i % 2 == 0}
    share = sum((i, i + 1) in found for i in range(0, 800, 2)) / 400
    p = float(collision_probability(similarity, bands=12, rows=5))
    assert abs(share - p) < 4 * np.sqrt(p * (1 - p) / 400) + 1e-9


def test_collision_probability_by_hand():
    """s = 1/2, b = 2, r = 2: a band agrees with 1/4, none of two with 9/16."""
    assert float(collision_probability(0.5, 2, 2)) == pytest.approx(7 / 16, abs=1e-15)
    assert collision_probability(np.array([0.0, 1.0]), 20, 5).tolist() == [0.0, 1.0]
    assert float(collision_probability(1e-9, 3, 2)) == pytest.approx(3e-18, rel=1e-9, abs=0)


def test_candidates_agree_in_a_whole_band():
    signatures = np.array([[1, 2, 3, 4], [1, 9, 3, 4], [1, 2, 9, 9], [9, 2, 3, 9]], np.uint64)
    assert candidate_pairs(signatures, 2).tolist() == [[0, 1], [0, 2]]
    assert len(candidate_pairs(signatures, 1)) == 0
    assert candidate_pairs(signatures[:1], 2).shape == (0, 2)


def test_what_has_no_signature_is_named(rng):
    some = rng.integers(0, 9, 3).astype(np.uint64)
    with pytest.raises(InputError, match="set 1 is empty"):
        minhash([some, some[:0]])
    with pytest.raises(InputError, match="there are no sets"):
        minhash([])
    with pytest.raises(InputError, match="functions=0"):
        minhash([some], 0)
    with pytest.raises(InputError, match="bands=3 must divide the 4"):
        candidate_pairs(np.zeros((2, 4), np.uint64), 3)


@pytest.mark.parametrize("similarity", [-0.1, 1.1, float("nan")])
def test_a_similarity_is_between_0_and_1(similarity):
    with pytest.raises(InputError, match="similarity"):
        collision_probability(similarity, 2, 2)
    with pytest.raises(InputError, match="bands=0"):
        collision_probability(0.5, 0, 2)
