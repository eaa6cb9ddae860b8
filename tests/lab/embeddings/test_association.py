import numpy as np
import pytest
from numpy.testing import assert_allclose

from lab.embeddings import association
from mathlm import reference as ref
from mathlm.errors import InputError

COUNTS = np.array([[2, 3, 1], [3, 0, 4], [1, 4, 6]])


def test_pmi_of_a_small_table_by_hand():
    """n·· = 4, n_0· = 2, n_·0 = 1: PMI_00 = log(1·4 / (2·1)) = log 2; a count of 0 gives -∞."""
    found = association.pmi([[1, 1], [0, 2]])
    expected = [[np.log(2), np.log(2 / 3)], [-np.inf, np.log(4 / 3)]]
    assert_allclose(found, expected, rtol=1e-14)


def test_pmi_is_zero_where_words_meet_by_chance():
    assert_allclose(association.pmi(np.outer([1, 2, 3], [4, 5, 6])), 0, atol=1e-14)


def test_mean_pmi_is_the_mutual_information():
    """I = H(row) + H(column) - H(pair), from the entropies."""
    p = COUNTS / COUNTS.sum()
    seen = p > 0
    information = ref.entropy(p.sum(0)) + ref.entropy(p.sum(1)) - ref.entropy(p.ravel())
    assert_allclose(np.sum(p[seen] * association.pmi(COUNTS)[seen]), information, rtol=1e-12)


def test_pmi_does_not_change_when_all_counts_are_scaled():
    assert_allclose(association.pmi(7 * COUNTS), association.pmi(COUNTS), rtol=1e-13)


def test_shifted_pmi_is_pmi_minus_log_k():
    assert_allclose(
        association.shifted_pmi(COUNTS, 5), association.pmi(COUNTS) - np.log(5), rtol=1e-13
    )


def test_other_noise_adds_one_number_to_each_column():
    q = np.array([0.2, 0.3, 0.5])
    shift = np.log(COUNTS.sum(0) / COUNTS.sum() / q)
    expected = association.shifted_pmi(COUNTS, 3) + shift
    assert_allclose(association.shifted_pmi(COUNTS, 3, q), expected, rtol=1e-13)


def test_ppmi_keeps_what_is_positive_and_is_finite():
    found = association.ppmi(COUNTS)
    assert_allclose(found, np.where(association.pmi(COUNTS) > 0, association.pmi(COUNTS), 0))
    assert found[1, 1] == 0
    assert_allclose(association.ppmi(COUNTS, 2), np.maximum(found - np.log(2), 0), atol=1e-15)


@pytest.mark.parametrize("power", [0, 0.5, 1])
def test_products_of_svd_vectors_are_the_nearest_matrix_of_their_rank(rng, power):
    M = rng.normal(size=(8, 8))
    W, C = association.svd_vectors(M, 3, power)
    assert_allclose(W @ C.T, ref.low_rank(M, 3), atol=1e-12)


def test_power_one_half_gives_words_and_contexts_the_same_lengths(rng):
    W, C = association.svd_vectors(rng.normal(size=(8, 8)), 3)
    assert_allclose(np.linalg.norm(W, axis=0), np.linalg.norm(C, axis=0), rtol=1e-12)


def test_svd_vectors_of_full_width_are_exact():
    W, C = association.svd_vectors(association.ppmi(COUNTS), 3)
    assert_allclose(W @ C.T, association.ppmi(COUNTS), atol=1e-13)


def test_randomized_svd_finds_the_singular_values_of_numpy(rng):
    """A spectrum that falls by 0.7 a step: three rounds leave less than 1e-9 of σ_1."""
    M = association.svd_vectors(rng.normal(size=(60, 60)), 60, 1)[0]
    Q = np.linalg.qr(rng.normal(size=(40, 40)))[0]
    M = np.linalg.qr(M)[0][:, :40] * 0.7 ** np.arange(40) @ Q
    U, sigma, V = association.randomized_svd(M, 5)
    assert_allclose(sigma, 0.7 ** np.arange(5), rtol=1e-9)
    assert_allclose((U * sigma) @ V.T, ref.low_rank(M, 5), atol=1e-6)


def test_randomized_svd_of_a_matrix_of_that_rank_is_exact(rng):
    M = rng.normal(size=(30, 4)) @ rng.normal(size=(4, 20))
    U, sigma, V = association.randomized_svd(M, 4, rounds=0)
    assert_allclose((U * sigma) @ V.T, M, atol=1e-12)
    assert_allclose(U.T @ U, np.eye(4), atol=1e-12)
    assert_allclose(V.T @ V, np.eye(4), atol=1e-12)


def test_a_seed_chooses_the_randomized_decomposition(rng):
    M = rng.normal(size=(30, 4)) @ rng.normal(size=(4, 30))
    W, C = association.svd_vectors(M, 4, seed=0)
    assert_allclose(W @ C.T, M, atol=1e-12)
    assert np.array_equal(W, association.svd_vectors(M, 4, seed=0)[0])


BAD = [
    (association.pmi, ([[1, 1], [0, 0]],), "row 1 of the counts is all 0"),
    (association.pmi, ([[1, 0], [1, 0]],), "column 1 of the counts is all 0"),
    (association.pmi, ([[1, -1], [1, 1]],), r"count -1.0 at \[0, 1\] is negative"),
    (association.pmi, ([[1, np.nan], [1, 1]],), "counts holds 1 NaN"),
    (association.pmi, ([1, 2],), r"counts has shape \(2,\)"),
    (association.pmi, (np.zeros((0, 0)),), "counts is empty"),
    (association.shifted_pmi, (COUNTS, 0), "k=0 negative samples"),
    (association.shifted_pmi, (COUNTS, -1), "k=-1 negative samples"),
    (association.shifted_pmi, (COUNTS, 1, [0.5, 0.5, 0.0]), "noise is 0 for word 2"),
    (association.svd_vectors, (np.eye(3), 4), r"d=4 is outside 1..3"),
    (association.svd_vectors, (np.eye(3), 0), r"d=0 is outside 1..3"),
    (association.svd_vectors, (np.eye(3), 1, 2), "power=2 is outside 0..1"),
    (association.svd_vectors, (association.pmi(COUNTS), 1), "M holds 1 NaN or infinite"),
    (association.randomized_svd, (np.eye(3), 1, -1), "seed=-1 must not be negative"),
    (association.randomized_svd, (np.ones(3), 1), r"M has shape \(3,\)"),
]


@pytest.mark.parametrize(("f", "args", "message"), BAD)
def test_bad_input_is_refused(f, args, message):
    with pytest.raises(InputError, match=message):
        f(*args)


def test_counts_whose_sum_is_infinite_are_refused():
    with pytest.raises(InputError, match=r"largest is 1e[+]308, may have an infinite sum"):
        association.pmi(np.full((2, 2), 1e308))
