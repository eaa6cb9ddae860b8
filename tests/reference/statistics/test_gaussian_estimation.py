import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import optimize, stats

from mathlm.errors import InputError
from mathlm.reference import (
    categorical_map,
    categorical_mle,
    categorical_posterior_mean,
    gaussian_map_mean,
    gaussian_mle,
    softmax,
)

COUNTS = np.array([5.0, 0.0, 2.0, 1.0])


def test_relative_frequencies_beat_every_other_distribution(rng):
    p, q = categorical_mle(COUNTS), softmax(rng.normal(size=(1000, 4)))
    seen = COUNTS > 0
    best = COUNTS[seen] @ np.log(p[seen])
    assert (np.log(q) @ COUNTS < best).all()


def test_each_row_of_counts_is_a_sample_of_its_own():
    assert categorical_mle([[3, 1], [0, 5]]).tolist() == [[0.75, 0.25], [0, 1]]


def test_counts_and_numbers_of_a_narrow_kind_are_added_in_float64():
    counts = np.array([255, 0], dtype=np.uint8)
    assert_allclose(categorical_posterior_mean(counts, 1), [256 / 257, 1 / 257])
    x = np.array([0, 1, 1], dtype=np.float32)
    assert_allclose(gaussian_mle(x), [2 / 3, 2 / 9], rtol=1e-15)


def test_map_is_the_maximum_of_the_dirichlet_posterior():
    """The posterior is Dirichlet(n + α); scipy's density is maximized over softmax(z)."""
    alpha = 2.5

    def negative(z):
        return -stats.dirichlet(COUNTS + alpha).logpdf(softmax(np.r_[z, 0.0]))

    found = optimize.minimize(negative, np.zeros(3), tol=1e-12)
    assert_allclose(softmax(np.r_[found.x, 0.0]), categorical_map(COUNTS, alpha), atol=1e-5)


def test_posterior_mean_is_the_mean_of_the_dirichlet_posterior():
    expected = stats.dirichlet(COUNTS + 0.3).mean()
    assert_allclose(categorical_posterior_mean(COUNTS, 0.3), expected)


def test_flat_prior_gives_maximum_likelihood_and_one_more_count_gives_laplace():
    """Laplace's rule: (n + 1) / (N + 4) with 8 counted."""
    assert_allclose(categorical_map(COUNTS, 1), categorical_mle(COUNTS))
    laplace = np.array([6, 1, 3, 2]) / 12
    assert_allclose(categorical_map(COUNTS, 2), laplace)
    assert_allclose(categorical_posterior_mean(COUNTS, 1), laplace)


def test_gaussian_mle_matches_scipy(rng):
    x = rng.normal(2.0, 3.0, size=50)
    mean, std = stats.norm.fit(x)
    assert_allclose(gaussian_mle(x), [mean, std**2])


def test_map_mean_is_the_maximum_of_likelihood_times_prior(rng):
    x = rng.normal(size=7)

    def negative(m):
        return ((x - m) ** 2).sum() / (2 * 1.5) + (m - 4.0) ** 2 / (2 * 0.25)

    found = optimize.minimize_scalar(negative, tol=1e-12).x
    assert_allclose(gaussian_map_mean(x, 1.5, 4.0, 0.25), found, rtol=1e-6)


def test_data_outweighs_the_prior_in_the_end(rng):
    x = rng.normal(size=100_000)
    assert_allclose(gaussian_map_mean(x, 1.0, 100.0, 1.0), x.mean(), atol=2e-3)
    assert_allclose(categorical_map(1e9 * COUNTS, 7), categorical_mle(COUNTS), atol=1e-8)


@pytest.mark.parametrize(
    ("counts", "message"),
    [
        ([1.0, -1.0], "the entry -1.0"),
        ([1.0, np.nan], "the entry nan"),
        ([np.inf, 1.0], "the entry inf"),
        ([], "at least one outcome"),
    ],
)
def test_counts_must_be_counts(counts, message):
    for f in (
        categorical_mle,
        lambda n: categorical_map(n, 2),
        lambda n: categorical_posterior_mean(n, 2),
    ):
        with pytest.raises(InputError, match=message):
            f(counts)


def test_nothing_counted_has_no_maximum():
    for f in (categorical_mle, lambda n: categorical_map(n, 1)):
        with pytest.raises(InputError, match="counts sum to 0"):
            f([0.0, 0.0])


@pytest.mark.parametrize("alpha", [0.5, -1.0, np.inf, np.nan])
def test_map_needs_a_prior_with_an_inner_mode(alpha):
    with pytest.raises(InputError, match=f"alpha={alpha} must be at least 1"):
        categorical_map(COUNTS, alpha)


@pytest.mark.parametrize("alpha", [0, -1.0, np.inf, np.nan])
def test_posterior_mean_needs_a_positive_prior(alpha):
    with pytest.raises(InputError, match=f"alpha={alpha} must be a positive"):
        categorical_posterior_mean(COUNTS, alpha)


@pytest.mark.parametrize("x", [[], [[1.0]], [1.0, np.nan]])
def test_samples_must_be_finite_rows(x):
    for f in (gaussian_mle, lambda x: gaussian_map_mean(x, 1.0, 0.0, 1.0)):
        with pytest.raises(InputError, match="x has"):
            f(x)


@pytest.mark.parametrize("bad", [0.0, -1.0, np.inf, np.nan])
def test_variances_must_be_positive(bad):
    with pytest.raises(InputError, match=f"variance={bad} and prior_variance=1.0"):
        gaussian_map_mean([1.0], bad, 0.0, 1.0)
    with pytest.raises(InputError, match=f"variance=1.0 and prior_variance={bad}"):
        gaussian_map_mean([1.0], 1.0, 0.0, bad)


def test_the_mean_of_a_prior_must_be_finite():
    with pytest.raises(InputError, match="prior_mean=nan"):
        gaussian_map_mean([1.0], 1.0, np.nan, 1.0)
