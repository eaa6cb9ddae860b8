from itertools import combinations, product

import numpy as np
import pytest
from numpy.testing import assert_allclose

from lab.optimization import gradient_noise
from mathlm.errors import InputError


@pytest.fixture
def gradients(rng):
    return rng.normal([1.0, 0.0, -0.5], 1.0, size=(6, 3))


def mean_square(gradients, batches):
    return np.mean([(gradients[list(b)].mean(0) ** 2).sum() for b in batches])


@pytest.mark.parametrize("b", [1, 2, 3])
def test_square_is_the_mean_over_all_batches_drawn_with_replacement(gradients, b):
    expected = mean_square(gradients, product(range(6), repeat=b))
    assert_allclose(gradient_noise.batch_gradient_square(gradients, b), expected, rtol=1e-12)


@pytest.mark.parametrize("b", [1, 2, 4, 6])
def test_square_is_the_mean_over_all_batches_drawn_without(gradients, b):
    expected = mean_square(gradients, combinations(range(6), b))
    found = gradient_noise.batch_gradient_square(gradients, b, replace=False)
    assert_allclose(found, expected, rtol=1e-12)


def test_moments_by_hand():
    """Gradients (3, ±1): mean (3, 0), each at distance 1 from it."""
    gradients = np.array([[3.0, 1.0], [3.0, -1.0]])
    assert gradient_noise.gradient_moments(gradients) == (9.0, 1.0)
    assert gradient_noise.simple_noise_scale(gradients) == 1 / 9


def test_at_the_simple_noise_scale_half_of_the_square_is_noise(gradients):
    scale = gradient_noise.simple_noise_scale(gradients)
    square, trace = gradient_noise.gradient_moments(gradients)
    assert_allclose(trace / scale, square)


def test_two_batch_sizes_give_the_simple_noise_scale(gradients):
    small, big = (gradient_noise.batch_gradient_square(gradients, b) for b in (2, 5))
    found = gradient_noise.simple_noise_scale_from_batches(2, small, 5, big)
    assert_allclose(found, gradient_noise.simple_noise_scale(gradients), rtol=1e-12)


def test_one_example_has_no_noise():
    assert gradient_noise.batch_gradient_square(np.array([[3.0, 4.0]]), 1, replace=False) == 25


def test_what_has_no_answer_is_refused():
    with pytest.raises(InputError, match=r"shape \(0, 2\)"):
        gradient_noise.gradient_moments(np.ones((0, 2)))
    with pytest.raises(InputError, match="finite"):
        gradient_noise.gradient_moments(np.array([[np.inf]]))
    with pytest.raises(InputError, match="mean gradient is zero"):
        gradient_noise.simple_noise_scale(np.array([[1.0], [-1.0]]))
    with pytest.raises(InputError, match="small=4, big=4"):
        gradient_noise.simple_noise_scale_from_batches(4, 1.0, 4, 1.0)
    with pytest.raises(InputError, match="as -1, which must be positive, and tr Σ as 4"):
        gradient_noise.simple_noise_scale_from_batches(1, 3.0, 2, 1.0)


@pytest.mark.parametrize(("b", "replace"), [(0, True), (7, False)])
def test_batches_that_cannot_be_drawn_are_refused(gradients, b, replace):
    with pytest.raises(InputError, match=f"batch_size={b} must lie between 1 and N=6"):
        gradient_noise.batch_gradient_square(gradients, b, replace)


def test_a_batch_of_the_noise_scale_halves_the_progress_of_the_best_step(gradients, rng):
    """Mean loss after a step, over all pairs of examples, minimized over η on the parabola."""
    A = rng.normal(size=(3, 3))
    H = A @ A.T
    scale, eta = gradient_noise.noise_scale(gradients, H)
    pairs = np.array([gradients[list(b)].mean(0) for b in product(range(6), repeat=2)])
    g = gradients.mean(0)
    slope, curvature = g @ g, ((pairs @ H) * pairs).sum(1).mean()
    assert_allclose(slope / curvature, eta / (1 + scale / 2), rtol=1e-12)
    assert_allclose(slope**2 / curvature / 2, eta * slope / (1 + scale / 2) / 2, rtol=1e-12)


def test_equal_curvatures_make_the_noise_scale_the_simple_one(gradients):
    scale, eta = gradient_noise.noise_scale(gradients, 5 * np.eye(3))
    assert_allclose(
        (scale, eta), (gradient_noise.simple_noise_scale(gradients), 0.2), rtol=1e-12
    )


def test_a_hessian_without_curvature_along_the_gradient_is_refused(gradients):
    with pytest.raises(InputError, match="must be positive for a best step"):
        gradient_noise.noise_scale(gradients, -np.eye(3))


def test_batches_that_are_less_noisy_when_smaller_are_refused():
    """E_1 = 1, E_2 = 5: tr Σ = (1 - 5) / (1 - ½) = -8."""
    with pytest.raises(InputError, match="tr Σ as -8"):
        gradient_noise.simple_noise_scale_from_batches(1, 1.0, 2, 5.0)
    with pytest.raises(InputError, match="nan, which must be positive"):
        gradient_noise.simple_noise_scale_from_batches(1, np.nan, 2, 1.0)


def test_a_hessian_of_another_size_and_squares_that_overflow_are_refused():
    with pytest.raises(InputError, match=r"largest entry is 1e\+200"):
        gradient_noise.gradient_moments(np.array([[1e200], [0.0]]))
    with pytest.raises(InputError, match=r"hessian has shape \(2, 2\)"):
        gradient_noise.noise_scale(np.ones((4, 3)), np.eye(2))
