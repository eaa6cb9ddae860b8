import numpy as np
import pytest
from numpy.testing import assert_allclose

from lab.perplexity.soft_targets import smoothed_target, unsmoothed
from mathlm.errors import InputError
from mathlm.reference import label_smoothed_cross_entropy, label_smoothed_cross_entropy_backward

P = np.array([0.7, 0.2, 0.1, 0.0])


def test_by_hand():
    """Nine tenths of each, and a fortieth more."""
    assert_allclose(smoothed_target(P, 0.1), [0.655, 0.205, 0.115, 0.025])


def test_at_the_smoothed_distribution_no_logit_is_pulled():
    """Labels 7 : 2 : 1 : 0, and the gradient of the package's loss summed over them."""
    labels, eps = np.repeat(np.arange(3), [7, 2, 1]), 0.3
    z = np.tile(np.log(smoothed_target(P, eps)), (10, 1))
    _, cache = label_smoothed_cross_entropy(z, labels, eps)
    pull = label_smoothed_cross_entropy_backward(1.0, cache)
    assert np.abs(pull).max() > 0.01
    assert_allclose(pull.sum(0), 0, atol=1e-15)


def test_the_way_back(rng):
    p = rng.dirichlet(np.ones(6), size=(3, 2))
    assert_allclose(unsmoothed(smoothed_target(p, 0.2), 0.2), p, atol=1e-15)
    assert unsmoothed(smoothed_target(P, 0.1), 0.1)[3] == 0


def test_what_was_not_smoothed_has_no_way_back():
    with pytest.raises(InputError, match=r"smallest entry 0 is below ε / V = 0\.025"):
        unsmoothed(P, 0.1)
    with pytest.raises(InputError, match="smoothing=1 must be at least 0 and below 1"):
        unsmoothed(P, 1)
    with pytest.raises(InputError, match="smoothing=2 is outside"):
        smoothed_target(P, 2)
