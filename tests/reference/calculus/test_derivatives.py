import math

import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose

from mathlm.errors import InputError, InputTypeError
from mathlm.reference import (
    complex_step_slope,
    directional_derivative,
    gradient,
    hessian,
    jacobian_by_columns,
    jacobian_by_rows,
    numerical_gradient,
    secant_slope,
    symmetric_slope,
)

JACOBIANS = pytest.mark.parametrize("jacobian", [jacobian_by_rows, jacobian_by_columns])


def two_outputs(x):
    return [x[0] ** 2 + x[1], x[0] * x[1]]


def test_secant_of_a_parabola_is_its_slope_plus_h():
    """((3 + h)² - 9)/h = 6 + h."""
    assert_allclose(
        [secant_slope(lambda x: x**2, 3.0, h) for h in (1, 0.1, -0.5)], [7, 6.1, 5.5]
    )


def test_symmetric_slope_of_a_cubic_is_off_by_h_squared():
    """((x+h)³ - (x-h)³)/2h = 3x² + h²."""
    assert_allclose(symmetric_slope(lambda x: x**3, 2.0, 0.1), 12.01, rtol=1e-12)


def test_steps_that_are_not_given_are_near_the_best():
    """Rounding of 1e-16 over h, and the error of the slope: 1e-8 and 1e-10 or so."""
    assert secant_slope(math.exp, 1.0) == pytest.approx(math.e, rel=1e-7)
    assert symmetric_slope(math.exp, 1.0) == pytest.approx(math.e, rel=1e-9)


def test_complex_step_of_a_square_is_exact_for_every_step():
    """Im (3 + i h)² = 6 h."""
    assert [complex_step_slope(lambda z: z * z, 3.0, h) for h in (0.5, 1, 2)] == [6, 6, 6]


def test_complex_step_is_exact_where_differences_have_no_digit_left():
    """The slope of exp(x)/x at 1 is 0; of sin at 1, cos(1)."""
    assert complex_step_slope(np.sin, 1.0) == pytest.approx(math.cos(1), rel=1e-15)


@pytest.mark.parametrize("h", [1e-17, 1e-16])
@pytest.mark.parametrize("slope", [secant_slope, symmetric_slope])
def test_a_step_that_is_lost_in_rounding_is_refused(slope, h):
    """1 - 1e-16 does not round to 1, but 1 + 1e-16 does."""
    with pytest.raises(InputError, match=rf"x \+ h rounds to x for x=1.0, h={h}"):
        slope(math.exp, 1.0, h)


def test_complex_step_refuses_functions_that_drop_the_imaginary_part():
    with pytest.raises(InputError, match=r"real number 2.0 for a complex one"):
        complex_step_slope(abs, -2.0)
    with pytest.raises(InputError, match="h=0"):
        complex_step_slope(np.sin, 1.0, 0)


def test_gradient_of_a_quadratic_form(rng):
    """∇ xᵀAx = (A + Aᵀ)x."""
    A, x = rng.normal(size=(4, 4)), rng.normal(size=4)
    ours = gradient(lambda x: (x * (x.reshape(1, 4) @ A.T)).sum(), x)
    assert_allclose(ours, (A + A.T) @ x, rtol=1e-12)


def test_slopes_of_a_bowl_to_the_north_the_east_and_along_the_gradient():
    """f = x² + y² at (3, 4): gradient (6, 8), of length 10."""
    f, x = (lambda x: (x * x).sum()), np.array([3.0, 4.0])
    directions = np.array([[0, 1.0], [1.0, 0], [0.6, 0.8]])
    assert_allclose([directional_derivative(f, x, u) for u in directions], [8, 6, 10])


@pytest.mark.parametrize("u", [[1.0, 1.0], [0.0, 0.0], [0.1, 0.9]])
def test_directions_that_are_not_of_length_one_are_refused(u):
    with pytest.raises(InputError, match="not 1; a slope needs a unit vector"):
        directional_derivative(lambda x: x.sum(), np.ones(2), np.array(u))


@JACOBIANS
def test_jacobian_by_hand(jacobian):
    """(x² + y, xy) has rows (2x, 1) and (y, x)."""
    assert_allclose(jacobian(two_outputs, np.array([3.0, 2.0])), [[6, 1], [2, 3]])


@JACOBIANS
def test_jacobian_of_one_number_is_a_slope(jacobian):
    assert jacobian(lambda x: x * x, np.array([3.0])).tolist() == [[6]]


@JACOBIANS
def test_jacobian_matches_torch(jacobian, rng):
    W, x = rng.normal(size=(4, 3)), rng.normal(size=3)
    ours = jacobian(lambda x: np.tanh(x.reshape(1, 3) @ W.T).reshape(4), x)
    V = torch.tensor(W)
    theirs = torch.autograd.functional.jacobian(lambda x: torch.tanh(V @ x), torch.tensor(x))
    assert_allclose(ours, theirs, rtol=1e-12)


@JACOBIANS
def test_an_output_that_does_not_depend_on_x_has_a_row_of_zeros(jacobian):
    assert_allclose(jacobian(lambda x: [x[0], 5.0], np.ones(2)), [[1, 0], [0, 0]])


@JACOBIANS
@pytest.mark.parametrize("x", [np.ones((2, 2)), np.ones(0)], ids=["matrix", "empty"])
def test_points_that_are_not_vectors_are_refused(jacobian, x):
    with pytest.raises(InputError, match=r"expected a vector \(n,\) with n ≥ 1"):
        jacobian(two_outputs, x)


@JACOBIANS
def test_values_that_are_not_vectors_are_refused(jacobian):
    with pytest.raises(InputError, match=r"f must return a vector, got shape \(\)"):
        jacobian(lambda x: x.sum(), np.ones(2))


def test_hessian_matches_torch(rng):
    x = rng.normal(size=4)
    theirs = torch.autograd.functional.hessian(
        lambda x: torch.exp(x[0] * x[1]) + (torch.tanh(x) ** 2).sum(), torch.tensor(x)
    )
    ours = hessian(lambda x: np.exp(x[0] * x[1]) + (np.tanh(x) ** 2).sum(), x)
    assert_allclose(ours, theirs, rtol=1e-12, atol=1e-14)


def test_hessian_of_a_power_with_a_variable_exponent_by_hand():
    """x^y: y(y - 1) x^(y - 2), x^(y - 1) (1 + y log x) and x^y log² x; at y = 0 too."""
    for x, y in [(2.0, 3.0), (0.5, -1.5), (2.0, 0.0)]:
        log = math.log(x)
        mixed = x ** (y - 1) * (1 + y * log)
        expected = [[y * (y - 1) * x ** (y - 2), mixed], [mixed, x**y * log**2]]
        found = hessian(lambda z: z[0] ** z[1], np.array([x, y]))
        assert_allclose(found, expected, rtol=1e-12)


def test_hessian_is_the_jacobian_of_the_gradient(rng):
    x, h = rng.normal(size=3), 1e-5
    f = lambda x: np.sin(x).sum() * (x * x).sum()  # noqa: E731
    columns = [(gradient(f, x + h * e) - gradient(f, x - h * e)) / (2 * h) for e in np.eye(3)]
    assert_allclose(hessian(f, x), np.array(columns).T, rtol=1e-6, atol=1e-8)


def test_gradient_matches_central_differences(rng):
    x = rng.normal(size=(2, 3))
    f = lambda x: (np.exp(x) / (1 + x * x)).sum()  # noqa: E731
    assert_allclose(gradient(f, x), numerical_gradient(f, x), rtol=1e-6)


def test_gradient_of_a_constant_is_zero():
    assert_allclose(gradient(lambda x: 3.0, np.ones(2)), [0, 0])


def test_a_constant_that_is_no_number_is_refused_by_that_name():
    with pytest.raises(InputError, match="constant gave 1 entry that is not finite"):
        gradient(lambda x: math.nan, np.ones(2))


def test_gradient_needs_one_number_and_real_ones():
    with pytest.raises(InputError, match=r"y has shape \(2,\): give dy"):
        gradient(np.exp, np.ones(2))
    with pytest.raises(InputTypeError, match="complex128"):
        gradient(np.exp, np.ones(2) * 1j)


def test_directional_derivative_needs_one_number():
    with pytest.raises(InputError, match=r"one number, got shape \(2,\)"):
        directional_derivative(np.exp, np.ones(2), np.array([1.0, 0.0]))


@pytest.mark.parametrize("f", [secant_slope, symmetric_slope, complex_step_slope])
@pytest.mark.parametrize(("x", "h"), [(float("nan"), 0.1), (1.0, float("nan"))])
def test_a_slope_that_is_no_number_is_refused(f, x, h):
    with pytest.raises(InputError, match="f must be finite there"):
        f(lambda z: z * z, x, h)
