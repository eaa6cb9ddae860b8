from itertools import product

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.linear_model import Ridge

from lab.initialization import regression
from mathlm import reference as ref
from mathlm.errors import InputError


@pytest.fixture
def data(rng):
    return rng.normal(size=(8, 3)) * [1.0, 2.0, 0.5], rng.normal(size=8)


@pytest.mark.parametrize("penalty", [0.1, 1, 50.0])
def test_ridge_matches_scikit_learn(data, penalty):
    x, y = data
    expected = Ridge(alpha=penalty, fit_intercept=False).fit(x, y).coef_
    assert_allclose(regression.ridge_regression(x, y, penalty), expected, rtol=1e-10)


def test_ridge_is_a_minimum_of_its_objective(data):
    x, y = data
    w = regression.ridge_regression(x, y, 0.7)
    loss = lambda w: float(0.5 * ((y - x @ w) ** 2).sum() + 0.35 * w @ w)  # noqa: E731
    assert_allclose(ref.numerical_gradient(loss, w), 0, atol=1e-7)


def test_without_a_penalty_it_is_least_squares(data):
    x, y = data
    assert_allclose(regression.ridge_regression(x, y, 0), np.linalg.lstsq(x, y)[0], rtol=1e-10)


@pytest.mark.parametrize("p", [0.0, 0.3, 0.5])
def test_dropout_weights_minimize_the_loss_averaged_over_all_masks(data, p):
    x, y = data
    masks = np.array(list(product((0, 1), repeat=3)))  # one mask serves for every row
    chance = np.prod(np.where(masks, 1 - p, p), axis=1)

    def loss(w):
        dropped = (x[None] * masks[:, None] / (1 - p)) @ w  # (8 masks, 8 examples)
        return float(0.5 * chance @ ((y - dropped) ** 2).sum(1))

    w = regression.dropout_regression(x, y, p)
    assert_allclose(ref.numerical_gradient(loss, w), 0, atol=1e-6)


def test_dropout_of_standardized_inputs_is_ridge(data):
    """With Σ_n x_nj² = 1 for each j the penalty is p/(1-p) for each weight."""
    x, y = data
    x = x / np.linalg.norm(x, axis=0)
    assert_allclose(
        regression.dropout_regression(x, y, 0.2), regression.ridge_regression(x, y, 0.25)
    )


def test_what_has_no_answer_is_refused(data):
    x, y = data
    with pytest.raises(InputError, match="penalty=-1"):
        regression.ridge_regression(x, y, -1)
    with pytest.raises(InputError, match="p=1"):
        regression.dropout_regression(x, y, 1)
    with pytest.raises(InputError, match=r"\(8, 3\) and y has shape"):
        regression.ridge_regression(x, y[:7], 1)
    with pytest.raises(InputError, match="singular"):
        regression.ridge_regression(np.ones((4, 2)), np.ones(4), 0)
    with pytest.raises(InputError, match="finite"):
        regression.ridge_regression(x * np.nan, y, 1)


def test_inputs_whose_squares_overflow_are_refused():
    with pytest.raises(InputError, match=r"the largest input is 1e\+200"):
        regression.dropout_regression(np.full((3, 1), 1e200), np.ones(3), 0.5)
