import numpy as np
import pytest
from numpy.testing import assert_allclose

from mathlm.errors import InputError, InputTypeError, MathLMError
from mathlm.reference import numerical_gradient, numerical_vjp


def test_gradient_of_a_quadratic_form(rng):
    """For f = xᵀAx the gradient is (A + Aᵀ)x; central differences of a quadratic are exact."""
    a, x = rng.normal(size=(4, 4)), rng.normal(size=4)
    assert_allclose(numerical_gradient(lambda x: x @ a @ x, x), (a + a.T) @ x, rtol=1e-8)


def test_gradient_keeps_the_shape_of_x(rng):
    x = rng.normal(size=(2, 3))
    assert_allclose(numerical_gradient(lambda x: np.sin(x).sum(), x), np.cos(x), rtol=1e-8)


def test_vjp_of_a_linear_map_is_its_transpose(rng):
    w, x, dy = rng.normal(size=(3, 5)), rng.normal(size=5), rng.normal(size=3)
    assert_allclose(numerical_vjp(lambda x: w @ x, x, dy), w.T @ dy, rtol=1e-8)


def test_vjp_of_a_curve_is_its_slope_times_dy(rng):
    x, dy = rng.normal(size=(2, 3))
    assert_allclose(numerical_vjp(np.sin, x, dy), np.cos(x) * dy, rtol=1e-8)


def test_an_array_of_one_number_is_one_number():
    f = lambda x: np.array([[x @ x]])  # noqa: E731
    assert_allclose(numerical_gradient(f, np.array([3.0, 4.0])), [6, 8], rtol=1e-8)


def test_vjp_of_several_arguments_has_one_gradient_each(rng):
    """For y = a ⊙ b: da = dy ⊙ b and db = dy ⊙ a."""
    a, b, dy = rng.normal(size=(3, 4))
    da, db = numerical_vjp(np.multiply, (a, b), dy)
    assert_allclose(da, dy * b, rtol=1e-8)
    assert_allclose(db, dy * a, rtol=1e-8)


def test_error_falls_with_the_square_of_the_step():
    """The next term of the expansion of exp is h²/6."""
    x = np.zeros(())
    errors = [numerical_gradient(np.exp, x, step=h) - 1 for h in (1e-2, 1e-3)]
    assert_allclose(errors[0] / errors[1], 100, rtol=1e-3)
    assert_allclose(errors[0], 1e-4 / 6, rtol=1e-3)


def test_x_is_left_as_it_was(rng):
    x = rng.normal(size=3)
    before = x.copy()
    numerical_gradient(lambda x: x @ x, x)
    np.testing.assert_array_equal(x, before)


@pytest.mark.parametrize("dtype", [np.float32, np.int64])
def test_other_dtypes_are_refused(dtype):
    with pytest.raises(TypeError, match=rf"args\[0\] has dtype {np.dtype(dtype)}"):
        numerical_vjp(np.sin, (np.ones(3, dtype),), np.ones(3))


def test_the_argument_that_is_no_array_of_float64_is_named(unchecked):
    with pytest.raises(InputTypeError, match=r"args\[1\] has dtype float32"):
        numerical_vjp(np.multiply, (np.ones(3), np.ones(3, np.float32)), np.ones(3))
    with pytest.raises(InputTypeError, match=r"args\[0\] has dtype list"):
        numerical_vjp(np.sin, [1.0], np.ones(1))


def test_array_function_has_no_gradient():
    with pytest.raises(InputError, match=r"scalar, got shape \(3,\)"):
        numerical_gradient(np.sin, np.ones(3))


def test_dy_of_another_shape_is_refused_instead_of_broadcast():
    with pytest.raises(InputError, match=r"returns shape \(3,\) but dy has shape \(\)"):
        numerical_vjp(np.sin, np.ones(3), np.ones(()))


@pytest.mark.parametrize("step", [0.0, -1e-6, np.nan])
def test_step_must_be_positive(step):
    with pytest.raises(MathLMError, match=f"step={step}"):
        numerical_gradient(np.sum, np.ones(3), step)
