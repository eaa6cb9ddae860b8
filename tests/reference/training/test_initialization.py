import math

import numpy as np
import pytest
import torch
from scipy.stats import kstest, norm, uniform

from mathlm.errors import ConfigError
from mathlm.reference import (
    he_normal,
    he_uniform,
    orthogonal,
    xavier_normal,
    xavier_uniform,
)

MAKERS = [he_normal, he_uniform, orthogonal, xavier_normal, xavier_uniform]
N_OUT, N_IN = 300, 700
VARIANCES = pytest.mark.parametrize(
    ("make", "variance", "kurtosis"),
    [
        (xavier_uniform, 2 / (N_IN + N_OUT), 9 / 5),
        (xavier_normal, 2 / (N_IN + N_OUT), 3),
        (he_uniform, 2 / N_IN, 9 / 5),
        (he_normal, 2 / N_IN, 3),
    ],
)


@VARIANCES
@pytest.mark.parametrize("gain", [None, 0.5])
def test_the_variance_is_that_of_the_definition(rng, make, variance, kurtosis, gain):
    """The mean of N squares has standard deviation σ² √((kurtosis - 1) / N); five of them."""
    if gain is not None:
        variance *= gain**2 / (2 if make in (he_normal, he_uniform) else 1)
    W = make(rng, N_OUT, N_IN, **({} if gain is None else {"gain": gain}))
    bound = 5 * variance * math.sqrt((kurtosis - 1) / W.size)
    assert W.shape == (N_OUT, N_IN)
    assert abs(np.mean(W**2) - variance) < bound
    assert abs(W.mean()) < 5 * math.sqrt(variance / W.size)


@VARIANCES
def test_the_distribution_is_the_named_one(rng, make, variance, kurtosis):
    s = math.sqrt(variance)
    law = norm(0, s) if kurtosis == 3 else uniform(-s * 3**0.5, 2 * s * 3**0.5)
    assert kstest(make(rng, N_OUT, N_IN).ravel(), law.cdf).pvalue > 1e-4


@pytest.mark.parametrize(
    ("make", "theirs"),
    [
        (xavier_uniform, torch.nn.init.xavier_uniform_),
        (he_uniform, torch.nn.init.kaiming_uniform_),
    ],
)
def test_the_bound_of_the_uniform_ones_is_that_of_torch(rng, make, theirs):
    """The largest of N uniform magnitudes is short of the bound by a share of 1/N or so."""
    options = {"nonlinearity": "relu"} if make is he_uniform else {}
    bound = theirs(torch.empty(N_OUT, N_IN), **options).abs().max().item()
    assert np.abs(make(rng, N_OUT, N_IN)).max() == pytest.approx(bound, rel=20 / (N_OUT * N_IN))


@pytest.mark.parametrize("make", [he_normal, he_uniform])
def test_he_weights_keep_the_mean_square_through_a_rectifier(rng, make):
    """The rectified half keeps E[relu(z)²] = Var z / 2 = 1 for inputs of mean square 1.

    A row's mean square varies with its weights and inputs: 2 % is 5 standard errors at least.
    """
    x = rng.normal(size=(400, 400))
    y = np.maximum(x @ make(rng, 2000, 400).T, 0)
    assert np.mean(y**2) == pytest.approx(np.mean(x**2), rel=0.02)


@pytest.mark.parametrize(("n_out", "n_in"), [(5, 5), (7, 3), (3, 7), (1, 4), (4, 1)])
def test_orthogonal_weights_have_equal_singular_values(rng, n_out, n_in):
    W = orthogonal(rng, n_out, n_in, gain=1.5)
    assert W.shape == (n_out, n_in)
    np.testing.assert_allclose(np.linalg.svd(W, compute_uv=False), 1.5, rtol=1e-12)


@pytest.mark.parametrize(("n_out", "n_in"), [(4, 4), (5, 3), (3, 5)])
def test_orthogonal_weights_are_the_factor_of_the_matrix_that_is_drawn(n_out, n_in):
    """G = QR with a positive diagonal of R, where G is as tall as it is wide or taller."""
    G = np.random.default_rng(3).normal(size=sorted((n_out, n_in), reverse=True))
    W = orthogonal(np.random.default_rng(3), n_out, n_in)
    R = (W if n_out >= n_in else W.T).T @ G
    np.testing.assert_allclose(R, np.triu(R), atol=1e-14)
    assert (np.diag(R) > 0).all()


def test_orthogonal_weights_favor_no_direction():
    """A uniform rotation has E W = 0, each entry of variance 1/n; a bare QR has a sign bias."""
    rng, n = np.random.default_rng(1), 4000
    draws = np.array([orthogonal(rng, 3, 3) for _ in range(n)])
    assert np.abs(draws.mean(0)).max() < 5 * math.sqrt(1 / 3 / n)
    assert np.abs((draws**2).mean(0) - 1 / 3).max() < 5 * math.sqrt(0.09 / n)


@pytest.mark.parametrize("make", MAKERS)
def test_the_generator_decides_the_weights(make):
    a, b, c = (make(np.random.default_rng(seed), 4, 3) for seed in (1, 1, 2))
    np.testing.assert_array_equal(a, b)
    assert not np.array_equal(a, c)


@pytest.mark.parametrize("make", MAKERS)
@pytest.mark.parametrize(
    ("numbers", "text"),
    [
        ((0, 3), "need n_out >= 1 and n_in >= 1, got 0 and 3"),
        ((3, 0), "need n_out >= 1 and n_in >= 1, got 3 and 0"),
        ((3, 3, 0.0), "gain=0.0 must be positive and finite"),
        ((3, 3, math.nan), "gain=nan must be positive"),
        ((3, 3, math.inf), "gain=inf must be positive and finite"),
    ],
)
def test_impossible_numbers_are_refused(rng, make, numbers, text):
    with pytest.raises(ConfigError, match=text):
        make(rng, *numbers)
