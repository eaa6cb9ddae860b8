import numpy as np
import pytest

from lab.embeddings.isotropy import (
    mean_cosine,
    partition_isotropy,
    remove_top_components,
    whiten,
)
from mathlm.errors import InputError
from mathlm.reference import cosine_similarity, covariance, pca


@pytest.fixture
def cloud(rng):
    return rng.normal(size=(40, 5)) * np.array([3.0, 1, 1, 1, 0.5]) + 2


def test_mean_cosine_is_the_mean_over_all_pairs(cloud):
    pairs = [cosine_similarity(cloud[i], cloud[j]) for i in range(40) for j in range(i)]
    assert mean_cosine(cloud) == pytest.approx(np.mean(pairs), rel=1e-12)


def test_opposite_vectors_have_mean_cosine_minus_one():
    assert mean_cosine(np.array([[2.0, 0], [-3.0, 0]])) == pytest.approx(-1.0, rel=1e-12)


def test_the_corners_of_a_simplex_reach_the_lower_bound():
    """N unit vectors whose sum is 0: mean cosine -1/(N - 1)."""
    corners = np.eye(4) - 0.25
    assert mean_cosine(corners) == pytest.approx(-1 / 3, rel=1e-12)


def test_partition_isotropy_is_the_quotient_of_its_definition(cloud):
    _, vectors = np.linalg.eigh(cloud.T @ cloud)
    z = [np.exp(cloud @ (sign * c)).sum() for c in vectors.T for sign in (1, -1)]
    assert partition_isotropy(cloud) == pytest.approx(min(z) / max(z), rel=1e-9)


def test_partition_isotropy_of_a_cross_is_one():
    """Z is the same along every axis of ±e_i."""
    assert partition_isotropy(np.vstack([np.eye(3), -np.eye(3)])) == pytest.approx(1.0)


def test_partition_isotropy_does_not_overflow():
    """Two equal vectors of length 500: Z = 2 exp(±500) along them, a quotient of exp(-1000)."""
    assert partition_isotropy(np.full((2, 1), 500.0)) == 0.0
    assert partition_isotropy(np.full((2, 1), 350.0)) == pytest.approx(np.exp(-700))


def test_removing_no_component_centers(cloud):
    expected = cloud - cloud.mean(axis=0)
    np.testing.assert_array_equal(remove_top_components(cloud, 0), expected)


@pytest.mark.parametrize("k", [1, 3])
def test_the_k_largest_variances_go_and_the_others_stay(cloud, k):
    left = np.sort(np.linalg.eigvalsh(covariance(remove_top_components(cloud, k))))[::-1]
    before = pca(cloud)[0]
    np.testing.assert_allclose(left[: 5 - k], before[k:], rtol=1e-10)
    np.testing.assert_allclose(left[5 - k :], 0, atol=1e-12)


def test_removing_is_a_projection(cloud):
    """What is left lies along the axes that stay: doing it for them changes nothing."""
    once, U = remove_top_components(cloud, 2), pca(cloud)[1][:, 2:]
    np.testing.assert_allclose(once @ U @ U.T, once, atol=1e-12)
    np.testing.assert_allclose(once @ U, (cloud - cloud.mean(0)) @ U, atol=1e-12)


def test_white_vectors_have_the_identity_as_covariance(cloud):
    white = whiten(cloud)
    np.testing.assert_allclose(white.mean(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(covariance(white), np.eye(5), atol=1e-12)


def test_whitening_moves_vectors_by_a_symmetric_positive_matrix(cloud):
    centered = cloud - cloud.mean(axis=0)
    W = np.linalg.lstsq(centered, whiten(cloud), rcond=None)[0]
    np.testing.assert_allclose(W, W.T, atol=1e-12)
    assert (np.linalg.eigvalsh(W) > 0).all()


def test_whitening_twice_is_whitening_once(cloud):
    np.testing.assert_allclose(whiten(whiten(cloud)), whiten(cloud), atol=1e-12)


def test_single_precision_is_computed_in_double(cloud):
    single = cloud.astype(np.float32)
    for f in (whiten, lambda v: remove_top_components(v, 1)):
        np.testing.assert_array_equal(f(single), f(single.astype(np.float64)))


def test_both_repairs_take_the_mean_cosine_to_zero(cloud):
    assert mean_cosine(cloud) > 0.4
    assert abs(mean_cosine(whiten(cloud))) < 0.05
    assert abs(mean_cosine(remove_top_components(cloud, 0))) < 0.05


@pytest.mark.parametrize("k", [-1, 5])
def test_components_that_are_not_there_are_refused(cloud, k):
    with pytest.raises(InputError, match=f"k={k} components of 5 cannot go"):
        remove_top_components(cloud, k)


def test_a_flat_cloud_has_no_whitening(cloud):
    with pytest.raises(InputError, match="40 vectors do not spread in all 5 directions"):
        whiten(remove_top_components(cloud, 1))


def test_a_zero_vector_has_no_cosine(cloud):
    cloud[7] = 0
    with pytest.raises(InputError, match="vector 7 is zero"):
        mean_cosine(cloud)


@pytest.mark.parametrize("f", [mean_cosine, partition_isotropy, whiten])
def test_one_vector_or_infinity_is_no_cloud(f):
    with pytest.raises(InputError, match=r"shape \(1, 2\), expected \(N, D\)"):
        f(np.ones((1, 2)))
    with pytest.raises(InputError, match="NaN or infinite"):
        f(np.array([[1.0, np.inf], [1.0, 2.0]]))


@pytest.mark.parametrize("scale", [1e140, 1e-200])
def test_the_mean_cosine_does_not_depend_on_the_scale(rng, scale):
    v = rng.normal(size=(6, 3))
    assert mean_cosine(v * scale) == pytest.approx(mean_cosine(v), abs=1e-12)


@pytest.mark.parametrize("measure", [mean_cosine, partition_isotropy, whiten])
def test_vectors_whose_squares_overflow_are_refused(rng, measure):
    with pytest.raises(InputError, match="sums of its square may be infinite"):
        measure(rng.normal(size=(6, 3)) * 1e200)
