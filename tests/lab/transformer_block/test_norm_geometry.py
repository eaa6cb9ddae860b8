import numpy as np
import pytest
from numpy.testing import assert_allclose

from lab.transformer_block.norm_geometry import layer_norm_jacobian, sphere_projection
from mathlm.errors import InputError
from mathlm.reference import layer_norm, numerical_vjp


def test_layer_norm_without_eps_is_the_projection_on_the_sphere(rng):
    x = rng.normal(2.0, 3.0, size=(3, 5, 8))
    plain, _ = layer_norm(x, np.ones(8), np.zeros(8), eps=0.0)
    assert_allclose(sphere_projection(x), plain, rtol=1e-12)


def test_the_sphere_has_radius_root_d_and_lies_in_the_plane_of_mean_0(rng):
    y = sphere_projection(rng.normal(size=(10, 7)))
    assert_allclose((y**2).sum(1), 7)
    assert_allclose(y.sum(1), 0, atol=1e-12)


def test_two_features_leave_a_sign():
    assert_allclose(sphere_projection([[3.0, 1], [-2, 5]]), [[1, -1], [-1, 1]])


@pytest.mark.parametrize("eps", [0.0, 1e-5, 0.5])
def test_jacobian_matches_central_differences(eps, rng):
    x, dy = rng.normal(size=6), rng.normal(size=6)
    numeric = numerical_vjp(lambda x: layer_norm(x, np.ones(6), np.zeros(6), eps)[0], x, dy)
    assert_allclose(dy @ layer_norm_jacobian(x, eps), numeric, rtol=1e-6, atol=1e-9)


def test_two_directions_are_forgotten_and_the_others_divided_by_the_deviation(rng):
    x = rng.normal(size=9)
    singular = np.linalg.svd(layer_norm_jacobian(x, 0.0), compute_uv=False)
    assert_allclose(singular, [1 / x.std()] * 7 + [0, 0], atol=1e-12)


@pytest.mark.parametrize(
    ("x", "message"),
    [
        (np.full((2, 3), 4.0), "are equal"),
        (np.array(3.0), "single number"),
        (np.array([1.0, np.nan]), "NaN"),
    ],
)
def test_vectors_without_a_direction_are_refused(x, message):
    with pytest.raises(InputError, match=message):
        sphere_projection(x)


@pytest.mark.parametrize(("x", "eps"), [(np.ones(3), 0.0), (np.arange(3.0), -1e-5)])
def test_a_jacobian_needs_something_to_divide_by(x, eps):
    with pytest.raises(InputError, match="must be positive"):
        layer_norm_jacobian(x, eps)


@pytest.mark.parametrize("scale", [1e-200, 1e300])
def test_the_projection_does_not_see_scale(scale, rng):
    x = rng.normal(size=(3, 5))
    np.testing.assert_allclose(sphere_projection(scale * x), sphere_projection(x), rtol=1e-12)


@pytest.mark.parametrize(("scale", "eps"), [(1e200, 0.0), (1.0, np.nan)])
def test_a_jacobian_that_would_not_be_finite_is_refused(scale, eps):
    with pytest.raises(InputError, match="finite"):
        layer_norm_jacobian(scale * np.arange(3.0), eps)
