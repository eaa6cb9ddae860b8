import math

import mpmath
import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from mathlm import reference as ref
from mathlm.errors import InputError, InputTypeError

F = torch.nn.functional
TORCH = {
    "relu": F.relu,
    "sigmoid": torch.sigmoid,
    "tanh": torch.tanh,
    "gelu": F.gelu,
    "gelu_tanh": lambda x: F.gelu(x, approximate="tanh"),
    "silu": F.silu,
}
EVERY = pytest.mark.parametrize("name", TORCH)
SHAPES = pytest.mark.parametrize("shape", [(), (7,), (3, 5), (2, 3, 5)], ids=str)
HUGE = np.array([1e3, 1e4, 1e155, 1e308])


def pair(name):
    return getattr(ref, name), getattr(ref, f"{name}_backward")


@EVERY
@SHAPES
def test_value_and_gradient_are_those_of_torch(name, shape, rng):
    x, dy = rng.normal(size=(2, *shape)) * 4
    f, backward = pair(name)
    leaf = torch.tensor(x, requires_grad=True)
    theirs = TORCH[name](leaf)
    theirs.backward(torch.tensor(dy))
    y, cache = f(x)
    assert_allclose(y, theirs.detach(), rtol=1e-12, atol=1e-14)
    assert_allclose(backward(dy, cache), leaf.grad, rtol=1e-12, atol=1e-14)


@EVERY
@SHAPES
def test_gradient_is_the_one_of_finite_differences(name, shape, rng):
    x, dy = rng.normal(size=(2, *shape))
    f, backward = pair(name)
    numeric = ref.numerical_vjp(lambda x: np.asarray(f(x)[0]), np.asarray(x), np.asarray(dy))
    assert_allclose(backward(dy, f(x)[1]), numeric, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("shape", [(7,), (3, 5), (2, 3, 5)], ids=str)
def test_gated_unit_is_silu_times_value_with_gradients_of_autograd(shape, rng):
    gate, value, dy = rng.normal(size=(3, *shape))
    leaves = [torch.tensor(a, requires_grad=True) for a in (gate, value)]
    theirs = F.silu(leaves[0]) * leaves[1]
    theirs.backward(torch.tensor(dy))
    y, cache = ref.swiglu(gate, value)
    assert_allclose(y, theirs.detach(), rtol=1e-12, atol=1e-14)
    for ours, leaf in zip(ref.swiglu_backward(dy, cache), leaves, strict=True):
        assert_allclose(ours, leaf.grad, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("shape", [(7,), (3, 5), (2, 3, 5)], ids=str)
def test_gradients_of_the_gated_unit_are_those_of_finite_differences(shape, rng):
    gate, value, dy = rng.normal(size=(3, *shape))
    numeric = ref.numerical_vjp(lambda g, v: ref.swiglu(g, v)[0], (gate, value), dy)
    ours = ref.swiglu_backward(dy, ref.swiglu(gate, value)[1])
    for found, right in zip(ours, numeric, strict=True):
        assert_allclose(found, right, rtol=1e-6, atol=1e-8)


@EVERY
def test_far_out_an_activation_is_its_limit_and_so_is_its_slope(name):
    """(value at +x, at -x, slope at +x, at -x); warnings are errors here."""
    zeros, ones = np.zeros(4), np.ones(4)
    saturated = {"sigmoid": (ones, zeros, zeros, zeros), "tanh": (ones, -ones, zeros, zeros)}
    limits = saturated.get(name, (HUGE, zeros, ones, zeros))
    f, backward = pair(name)
    for x, value, slope in ((HUGE, limits[0], limits[2]), (-HUGE, limits[1], limits[3])):
        y, cache = f(x)
        assert_array_equal(y, value)
        assert_array_equal(backward(np.ones(4), cache), slope)


def tail(name, x):
    """Value and slope with 60 digits."""
    exact = {
        "sigmoid": lambda x: 1 / (1 + mpmath.exp(-x)),
        "tanh": mpmath.tanh,
        "gelu": lambda x: x * mpmath.erfc(-x / mpmath.sqrt(2)) / 2,
        "gelu_tanh": lambda x: (
            x * (1 + mpmath.tanh(mpmath.sqrt(2 / mpmath.pi) * (x + 0.044715 * x**3))) / 2
        ),
        "silu": lambda x: x / (1 + mpmath.exp(-x)),
    }[name]
    with mpmath.workdps(60):
        return float(exact(mpmath.mpf(x))), float(mpmath.diff(exact, mpmath.mpf(x)))


@pytest.mark.parametrize("name", ["sigmoid", "tanh", "gelu", "gelu_tanh", "silu"])
@pytest.mark.parametrize("x", [-25.0, -6.5, -1e-9, 0.0, 0.5, 6.5, 25.0])
def test_tails_keep_their_digits(name, x):
    f, backward = pair(name)
    y, cache = f([x])
    value, slope = tail(name, x)
    assert_allclose(y, [value], rtol=1e-11)
    assert_allclose(backward([1.0], cache), [slope], rtol=1e-11)


def test_slope_of_relu_at_zero_is_zero():
    _, cache = ref.relu([-1.0, -0.0, 0.0, 1.0])
    assert_array_equal(ref.relu_backward([5.0, 5.0, 5.0, 5.0], cache), [0, 0, 0, 5])


def test_values_by_hand():
    """σ(ln 3) = 3/4 with slope 3/16; tanh(ln 2) = (2 - 1/2) / (2 + 1/2) = 3/5, slope 16/25;
    silu(ln 3) = (3/4) ln 3."""
    y, cache = ref.sigmoid([math.log(3)])
    assert_allclose([y[0], ref.sigmoid_backward([1.0], cache)[0]], [3 / 4, 3 / 16], rtol=1e-14)
    y, cache = ref.tanh([math.log(2)])
    assert_allclose([y[0], ref.tanh_backward([1.0], cache)[0]], [3 / 5, 16 / 25], rtol=1e-14)
    assert_allclose(ref.silu([math.log(3)])[0], [0.75 * math.log(3)], rtol=1e-14)


def test_approximate_gelu_is_off_by_less_than_5e_4():
    x = np.linspace(-8, 8, 4001)
    gap = np.abs(ref.gelu(x)[0] - ref.gelu_tanh(x)[0]).max()
    assert 4e-4 < gap < 5e-4


@given(x=st.floats(-1e4, 1e4))
def test_sigmoid_of_minus_x_is_the_complement(x):
    assert ref.sigmoid([-x])[0][0] + ref.sigmoid([x])[0][0] == pytest.approx(1, abs=1e-15)


@given(x=st.floats(-1e4, 1e4))
def test_tanh_is_a_stretched_sigmoid(x):
    assert_allclose(ref.tanh([x])[0], 2 * ref.sigmoid([2 * x])[0] - 1, atol=1e-15)


@EVERY
@pytest.mark.parametrize(
    ("x", "error", "message"),
    [
        (
            [0.0, math.nan],
            InputError,
            r"x holds 1 NaN or infinite entries, the first at \(1,\)",
        ),
        ([[0.0], [-math.inf]], InputError, r"the first at \(1, 0\)"),
        ([], InputError, r"x is empty, of shape \(0,\)"),
        (["1.0"], InputTypeError, "x has dtype <U3, expected real numbers"),
        (np.array([1j]), InputTypeError, "x has dtype complex128"),
    ],
)
def test_what_is_no_finite_number_is_refused(name, x, error, message):
    with pytest.raises(error, match=message):
        pair(name)[0](x)


@EVERY
def test_a_gradient_that_would_be_broadcast_is_refused(name):
    f, backward = pair(name)
    with pytest.raises(InputError, match=r"dy has shape \(3,\), but y has \(2, 3\)"):
        backward(np.ones(3), f(np.ones((2, 3)))[1])


def test_gate_and_value_of_two_shapes_are_refused():
    with pytest.raises(InputError, match=r"gate has shape \(3, 1\) and value has shape \(3,\)"):
        ref.swiglu(np.ones((3, 1)), np.ones(3))
    with pytest.raises(InputError, match="value holds 1 NaN"):
        ref.swiglu([1.0], [math.nan])
    with pytest.raises(InputError, match=r"dy has shape \(1,\), but y has \(3,\)"):
        ref.swiglu_backward([1.0], ref.swiglu(np.ones(3), np.ones(3))[1])
