import math

import numpy as np
import pytest
from numpy.testing import assert_allclose

from mathlm import reference as ref
from mathlm.errors import InputError


def test_two_equal_logits():
    """Z = 1 + 1, so the loss is (ln 2)²."""
    assert ref.z_loss([0.0, 0.0])[0] == pytest.approx(math.log(2) ** 2, rel=1e-15)


@pytest.mark.parametrize("shape", [(4,), (3, 4), (2, 3, 4)], ids=str)
def test_the_backward_pass_is_that_of_finite_differences(shape, rng):
    z, dy = rng.normal(size=shape), rng.normal(size=shape[:-1])
    dz = ref.z_loss_backward(dy, ref.z_loss(z)[1])
    expected = ref.numerical_vjp(lambda x: ref.z_loss(x)[0], z, dy)
    assert_allclose(dz, expected, rtol=1e-6, atol=1e-9)


def test_its_gradients_do_not_sum_to_zero(rng):
    """Over the classes they sum to 2 log Z; those of a cross-entropy, p - y, to 0."""
    z = rng.normal(size=(6, 5))
    dz = ref.z_loss_backward(np.ones(6), ref.z_loss(z)[1])
    assert_allclose(dz.sum(-1), 2 * ref.logsumexp(z), rtol=1e-12)


def test_a_row_near_zero_and_one_near_ten_thousand_do_not_disturb_each_other():
    z = np.array([[0.1, -0.3], [1e4, 9e3]])
    expected = [np.log(np.exp(0.1) + np.exp(-0.3)) ** 2, 1e8]
    assert_allclose(ref.z_loss(z)[0], expected, rtol=1e-13)


@pytest.mark.parametrize("z", [[np.nan, 0.0], [np.inf, 0.0], [-np.inf, -np.inf]])
def test_logits_without_a_sum_are_refused(z):
    with pytest.raises(InputError):
        ref.z_loss(z)


def test_a_gradient_of_another_shape_is_refused(rng):
    with pytest.raises(InputError):
        ref.z_loss_backward(np.ones(1), ref.z_loss(rng.normal(size=(6, 5)))[1])
