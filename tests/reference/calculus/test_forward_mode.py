import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose, assert_array_equal

from mathlm.errors import InputError, InputTypeError
from mathlm.reference import (
    Dual,
    Variable,
    hessian_vector_product,
    numerical_vjp,
    pull_back,
    push_forward,
)
from mathlm.reference.calculus.autodiff import PARTIALS


def mixed(x):
    """A program of every kind of step, from (3,) to (2, 2)."""
    y = np.exp(x) * x[0] - np.tanh(x / 2) + np.maximum(x, 0.1) ** 2
    rows = y.reshape(1, 3) * np.array([[1.0], [2.0]])  # (2, 3)
    return rows @ rows.T / np.sqrt(rows * rows).sum(-1, keepdims=True)


@pytest.mark.parametrize("f", list(PARTIALS), ids=lambda f: f.__name__)
def test_tangents_match_central_differences(f, rng):
    x, t = rng.uniform(0.5, 2, size=(2, f.nin, 3))
    y = f(*(Dual(a, b) for a, b in zip(x, t, strict=True)))
    h = 1e-6
    assert_allclose(y.tangent, (f(*(x + h * t)) - f(*(x - h * t))) / (2 * h), rtol=1e-6)


def test_both_modes_agree_on_every_kind_of_step(rng):
    """⟨dy, J t⟩ = ⟨Jᵀ dy, t⟩ for random dy and t."""
    x, t, dy = rng.normal(size=3), rng.normal(size=3), rng.normal(size=(2, 2))
    inputs = Variable(x)
    back = pull_back(mixed(inputs), [inputs], dy)[0]
    y, forward = push_forward(mixed, x, t)
    assert_allclose((dy * forward).sum(), back @ t, rtol=1e-12)
    assert_allclose(y, mixed(x), rtol=1e-14)
    assert_allclose(back, numerical_vjp(mixed, x, dy), rtol=1e-6)


def test_a_copied_tangent_has_the_shape_of_its_value():
    y = Dual(1.0, 2.0) + np.zeros(3)
    assert_allclose(y.tangent, [2, 2, 2])


def test_exchanged_axes_are_those_of_the_value_and_of_the_tangent(rng):
    """Entry (i, j, k) goes to (k, j, i)."""
    x, t = rng.normal(size=(2, 2, 3, 4))
    y = Dual(x, t).swapaxes(0, 2)
    assert_array_equal(y.value, np.einsum("ijk->kji", x))
    assert_array_equal(y.tangent, np.einsum("ijk->kji", t))


def test_square_of_a_dual_number_is_the_definition():
    """(3 + ε)² = 9 + 6ε."""
    y = Dual(3.0, 1.0) ** 2
    assert (y.value, y.tangent) == (9, 6)


def test_sums_of_a_dual_number_are_those_of_its_parts():
    x = Dual([[1.0, 2.0]], [[3.0, 5.0]])
    assert (x.sum().value, x.sum().tangent, x.sum().shape) == (3, 8, ())
    assert x.sum(axis=1, keepdims=True).tangent.tolist() == [[8]]
    with pytest.raises(InputError, match="a value gave 1 entry that is not finite"):
        Dual([1e308, 1e308], [0.0, 0.0]).sum()


def test_at_a_tie_of_a_maximum_the_constant_does_not_move():
    x = Dual([-1.0, 0.0, 2.0], np.ones(3))
    for y in (np.maximum(x, 0), np.maximum(0, x)):
        assert y.tangent.tolist() == [0, 0, 1]


def test_comparisons_are_those_of_the_values():
    assert (Dual([1.0, 2.0], [0.0, 0.0]) > 1.5).tolist() == [False, True]


def test_a_dual_number_shows_both_parts():
    assert repr(Dual(3.0, 1.0)) == "Dual(array(3.), array(1.))"


def test_a_constant_of_whole_numbers_is_read_in_float64():
    y, dy = push_forward(lambda x: 3, np.zeros(2), np.ones(2))
    assert (y, y.dtype, dy) == (3, np.float64, 0)


@pytest.mark.parametrize(("parts", "name"), [((1j, 1.0), "value"), ((1.0, 1j), "tangent")])
def test_parts_that_are_not_real_are_refused(parts, name):
    with pytest.raises(InputTypeError, match=f"{name} has dtype complex128"):
        Dual(*parts)


def test_what_is_found_can_be_changed_in_place_and_nothing_else_moves():
    x, t, c = np.array([1.0, 2.0]), np.array([3.0, 4.0]), np.array([5.0, 6.0])
    for f in (lambda x: x, lambda x: c, lambda x: x[0] + np.zeros(2)):
        for found in push_forward(f, x, t):
            found *= 10
    _, gradient, Ht = hessian_vector_product(lambda x: (x * c).sum(), x, t)
    gradient *= 10
    Ht += 1
    assert (x.tolist(), t.tolist(), c.tolist()) == ([1, 2], [3, 4], [5, 6])


def test_a_list_as_a_constant_of_a_dual_number_is_its_array():
    """The slope of x² is 2 x, that of x⁰ is 0."""
    y, dy = push_forward(lambda x: x ** [2, 0], np.array([3.0, 5.0]), np.ones(2))
    assert (y.tolist(), dy.tolist()) == ([9, 1], [6, 0])


def test_a_function_that_ignores_x_does_not_move():
    y, dy = push_forward(lambda x: np.ones(2), np.zeros(3), np.ones(3))
    assert (y.tolist(), dy.tolist()) == ([1, 1], [0, 0])


def loss(x, tanh, exp, log):
    h = tanh(x[:6].reshape(3, 2) @ np.eye(2)) if tanh is np.tanh else tanh(x[:6].reshape(3, 2))
    return log(exp(h * x[6]).sum()) + (x * x).sum() / 3


def test_hessian_vector_product_matches_torch(rng):
    x, t = rng.normal(size=7), rng.normal(size=7)
    theirs = torch.autograd.functional.hvp(
        lambda x: loss(x, torch.tanh, torch.exp, torch.log), torch.tensor(x), torch.tensor(t)
    )
    value, gradient, Ht = hessian_vector_product(
        lambda x: loss(x, np.tanh, np.exp, np.log), x, t
    )
    assert_allclose(value, theirs[0], rtol=1e-12)
    assert_allclose(Ht, theirs[1], rtol=1e-12, atol=1e-14)
    assert_allclose(
        gradient,
        numerical_vjp(lambda x: np.asarray(loss(x, np.tanh, np.exp, np.log)), x, np.ones(())),
        rtol=1e-6,
    )


def test_hessian_of_a_linear_function_is_zero():
    value, gradient, Ht = hessian_vector_product(
        lambda x: 2 * x.sum(), np.arange(3.0), np.ones(3)
    )
    assert (value, gradient.tolist(), Ht.tolist()) == (6, [2, 2, 2], [0, 0, 0])


def test_hessian_of_a_constant_is_zero():
    value, gradient, Ht = hessian_vector_product(lambda x: 5.0, np.ones(3), np.ones(3))
    assert (value, gradient.tolist(), Ht.tolist()) == (5, [0, 0, 0], [0, 0, 0])


def test_a_constant_that_is_no_number_has_no_hessian():
    with pytest.raises(InputError, match="constant gave 1 entry that is not finite"):
        hessian_vector_product(lambda x: np.nan, np.ones(3), np.ones(3))


def test_a_value_that_is_not_one_number_has_no_hessian():
    with pytest.raises(InputError, match=r"one number of shape \(\), got shape \(3,\)"):
        hessian_vector_product(np.exp, np.ones(3), np.ones(3))


def test_tangent_of_another_shape_is_refused():
    with pytest.raises(InputError, match=r"tangent has shape \(2,\), value has \(3,\)"):
        Dual(np.ones(3), np.ones(2))


def test_an_infinite_slope_is_refused():
    with pytest.raises(InputError, match="a derivative gave 1 entry that is not finite"):
        np.sqrt(Dual(0.0, 1.0))


def test_functions_without_a_rule_are_refused():
    with pytest.raises(InputTypeError, match=r"no rule for floor.__call__"):
        np.floor(Dual(1.0, 1.0))
