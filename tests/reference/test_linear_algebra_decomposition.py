import numpy as np
import pytest

from mathlm.errors import InputError
from mathlm.reference import (
    covariance,
    effective_rank,
    energy_kept,
    frobenius_norm,
    low_rank,
    pca,
    pca_by_svd,
)


def cloud(rng, rows=60, width=5):
    return rng.normal(size=(rows, width)) @ rng.normal(size=(width, width)) + 3.0


def test_covariance_is_the_unbiased_one_of_numpy(rng):
    X = cloud(rng)
    np.testing.assert_allclose(covariance(X), np.cov(X, rowvar=False), rtol=1e-12)


@pytest.mark.parametrize("dtype", [np.uint8, np.int64, np.float16], ids=lambda d: d.__name__)
@pytest.mark.parametrize(
    "f",
    [
        covariance,
        lambda A: pca(A)[0],
        lambda A: pca_by_svd(A)[0],
        lambda A: low_rank(A, 1),
        lambda A: energy_kept(A[0]),
        lambda A: effective_rank(A[0]),
    ],
)
def test_numbers_of_few_bits_are_read_in_float64(f, dtype, unchecked):
    A = np.array([[200, 20, 3], [7, 100, 9], [1, 2, 50]]) * (200 if dtype is np.float16 else 1)
    found = f(A.astype(dtype))
    np.testing.assert_allclose(found, f(A.astype(np.float64)), rtol=1e-10)
    assert np.asarray(found).dtype == np.float64


def test_two_rows_have_a_variance():
    """(0, 0) and (2, 4) are (1, 2) away from their mean, twice: C = 2 (1, 2)ᵀ (1, 2)."""
    X = np.array([[0.0, 0], [2, 4]])
    np.testing.assert_allclose(covariance(X), [[2, 4], [4, 8]], rtol=1e-15)
    np.testing.assert_allclose(pca_by_svd(X)[0], [10, 0], atol=1e-14)


def test_variance_along_an_axis_is_its_eigenvalue(rng):
    X = cloud(rng)
    variances, axes = pca(X)
    np.testing.assert_allclose((X @ axes).var(axis=0, ddof=1), variances, rtol=1e-10)


def test_no_direction_has_more_variance_than_the_first_axis(rng):
    X = cloud(rng)
    directions = rng.normal(size=(5, 500))
    directions /= np.linalg.norm(directions, axis=0)
    assert (X @ directions).var(axis=0, ddof=1).max() <= pca(X)[0][0]


def test_axes_are_orthonormal_and_point_to_their_largest_entry(rng):
    _, axes = pca(cloud(rng))
    np.testing.assert_allclose(axes.T @ axes, np.eye(5), atol=1e-13)
    assert np.all(axes[np.argmax(np.abs(axes), axis=0), np.arange(5)] > 0)


def test_both_ways_to_the_axes_agree(rng):
    X = cloud(rng)
    for a, b in zip(pca(X), pca_by_svd(X), strict=True):
        np.testing.assert_allclose(a, b, atol=1e-9)


def test_svd_keeps_small_variances_that_the_covariance_loses(rng):
    """Standard deviations 1 and 1e-9: the squares differ by 1e18, beyond float64."""
    axes = np.linalg.qr(rng.normal(size=(2, 2)))[0]
    X = rng.normal(size=(400, 2)) * [1.0, 1e-9] @ axes
    assert pca_by_svd(X)[0][1] == pytest.approx(1e-18, rel=0.3)
    assert not 0.5e-18 < pca(X)[0][1] < 2e-18


def test_fewer_rows_than_columns_have_fewer_axes(rng):
    variances, axes = pca_by_svd(rng.normal(size=(3, 10)))
    assert (variances.shape, axes.shape) == ((3,), (10, 3))
    assert variances[-1] < 1e-25


@pytest.mark.parametrize("f", [covariance, pca, pca_by_svd])
def test_one_row_has_no_variance(f):
    with pytest.raises(InputError, match="at least 2 rows, got 1"):
        f(np.ones((1, 3)))


@pytest.mark.parametrize("k", [0, 1, 2, 3, 4])
def test_error_of_a_truncation_is_the_tail_of_the_spectrum(rng, k):
    A = rng.normal(size=(6, 4))
    sigma = np.linalg.svd(A, compute_uv=False)
    error = frobenius_norm(A - low_rank(A, k))
    assert error == pytest.approx(np.sqrt(np.sum(sigma[k:] ** 2)), abs=1e-12)
    assert np.linalg.matrix_rank(low_rank(A, k)) == k


def test_no_other_matrix_of_the_same_rank_is_nearer(rng):
    """The best right factor for a random left one is still worse than the truncation."""
    A = rng.normal(size=(6, 4))
    best = frobenius_norm(A - low_rank(A, 2))
    for _ in range(200):
        B = rng.normal(size=(6, 2))
        assert frobenius_norm(A - B @ np.linalg.lstsq(B, A)[0]) >= best


@pytest.mark.parametrize("k", [-1, 5])
def test_a_rank_that_does_not_exist_is_refused(k):
    with pytest.raises(InputError, match=rf"k={k} is outside 0\.\.4"):
        low_rank(np.ones((6, 4)), k)


def test_energy_is_counted_in_squares():
    """3² + 4² = 25: the first value holds 16 of it."""
    np.testing.assert_allclose(energy_kept(np.array([4.0, 3.0])), [0.64, 1.0])


@pytest.mark.parametrize("n", [1, 2, 7])
def test_equal_singular_values_count_fully(n):
    assert effective_rank(np.full(n, 0.3)) == pytest.approx(n, rel=1e-12)


def test_zeros_and_scale_do_not_count():
    assert effective_rank(np.array([2.0, 2.0, 0.0])) == pytest.approx(2.0)
    assert effective_rank(np.array([1e-9])) == 1.0


def test_effective_rank_is_the_perplexity_of_the_energies():
    """p = (1/2, 1/4, 1/4) has entropy 1.5 ln 2."""
    assert effective_rank(np.sqrt([2.0, 1.0, 1.0])) == pytest.approx(2**1.5)


def test_effective_rank_of_energies_is_that_of_roy_and_vetterli_of_the_gram_matrix(rng):
    A = rng.normal(size=(6, 4))
    sigma = np.linalg.svd(A, compute_uv=False)
    of_gram = np.linalg.svd(A.T @ A, compute_uv=False)
    assert effective_rank(sigma) == pytest.approx(effective_rank(of_gram, power=1))


def test_effective_rank_of_roy_and_vetterli_takes_shares_of_the_singular_values():
    assert effective_rank(np.array([2.0, 1.0, 1.0]), power=1) == pytest.approx(2**1.5)
    assert effective_rank(np.array([2.0, 1.0, 1.0])) < 2**1.5


@pytest.mark.parametrize("f", [energy_kept, effective_rank])
@pytest.mark.parametrize("sigma", [[0.0, 0.0], [np.nan, 1.0]])
def test_a_zero_matrix_has_no_spectrum(f, sigma):
    with pytest.raises(InputError, match="zero matrix has no spectrum"):
        f(np.array(sigma))
