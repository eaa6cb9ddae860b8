import numpy as np
import pytest
import torch

from mathlm.errors import InputError
from mathlm.reference import linear, linear_backward, numerical_vjp

BATCHES = [(), (4,), (2, 3)]


def layer(rng, batch, inputs=5, outputs=3):
    return (
        rng.normal(size=(*batch, inputs)),
        rng.normal(size=(outputs, inputs)),
        rng.normal(size=outputs),
    )


@pytest.mark.parametrize("batch", BATCHES)
def test_value_is_the_one_of_torch(rng, batch):
    x, W, b = layer(rng, batch)
    y, _ = linear(x, W, b)
    expected = torch.nn.functional.linear(*map(torch.from_numpy, (x, W, b)))
    np.testing.assert_allclose(y, expected.numpy(), rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("batch", BATCHES)
def test_gradients_are_those_of_finite_differences(rng, batch):
    args = layer(rng, batch)
    y, cache = linear(*args)
    dy = rng.normal(size=y.shape)
    expected = numerical_vjp(lambda *a: linear(*a)[0], args, dy)
    for found, right in zip(linear_backward(dy, cache), expected, strict=True):
        np.testing.assert_allclose(found, right, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("batch", BATCHES)
def test_gradients_are_those_of_autograd(rng, batch):
    args = layer(rng, batch)
    leaves = [torch.from_numpy(a).requires_grad_() for a in args]
    y, cache = linear(*args)
    dy = rng.normal(size=y.shape)
    torch.nn.functional.linear(*leaves).backward(torch.from_numpy(dy))
    for found, leaf in zip(linear_backward(dy, cache), leaves, strict=True):
        np.testing.assert_allclose(found, leaf.grad.numpy(), rtol=1e-12, atol=1e-12)


def test_without_a_shift_there_is_no_gradient_for_it(rng):
    x, W, _ = layer(rng, (4,))
    y, cache = linear(x, W)
    dx, dW = linear_backward(np.ones_like(y), cache)
    np.testing.assert_array_equal(y, x @ W.T)
    assert (dx.shape, dW.shape) == (x.shape, W.shape)


@pytest.mark.parametrize("rows", [1, 2, 3, 7])
def test_rank_of_the_weight_gradient_is_at_most_the_number_of_rows(rng, rows):
    x, W, b = layer(rng, (rows,), inputs=6, outputs=6)
    y, cache = linear(x, W, b)
    _, dW, _ = linear_backward(rng.normal(size=y.shape), cache)
    assert np.linalg.matrix_rank(dW) == min(rows, 6)


def test_rows_and_columns_of_the_worked_product():
    """(1·7 + 2·8 + 3·9, 4·7 + 5·8 + 6·9) = (50, 122)."""
    y, _ = linear(np.array([7.0, 8, 9]), np.array([[1.0, 2, 3], [4, 5, 6]]))
    np.testing.assert_array_equal(y, [50.0, 122.0])


def test_whole_numbers_are_read_in_float64(unchecked):
    """100 · 2 + 100 · 1 is beyond 127."""
    x, W = np.array([100, 100], np.int8), np.array([[2, 1]], np.int8)
    y, cache = linear(x, W, np.array([1], np.int8))
    dx, dW, db = linear_backward(np.array([3.0]), cache)
    assert (y.tolist(), dx.tolist(), dW.tolist(), db.tolist()) == (
        [301],
        [6, 3],
        [[300] * 2],
        [3],
    )
    assert y.dtype == np.float64


def test_weights_stored_the_wrong_way_round_are_refused(rng):
    with pytest.raises(InputError, match=r"\(4, 5\) does not fit W of shape \(5, 3\)"):
        linear(rng.normal(size=(4, 5)), rng.normal(size=(5, 3)))


def test_a_single_number_and_weights_of_three_axes_are_refused(unchecked):
    with pytest.raises(InputError, match=r"x of shape \(\) does not fit W"):
        linear(np.array(1.0), np.ones((1, 1)))
    with pytest.raises(InputError, match=r"does not fit W of shape \(2, 3, 3\)"):
        linear(np.ones(3), np.ones((2, 3, 3)))


def test_a_shift_of_another_width_is_refused(rng):
    with pytest.raises(InputError, match=r"b has shape \(5,\), expected \(3,\)"):
        linear(rng.normal(size=(4, 5)), rng.normal(size=(3, 5)), rng.normal(size=5))


def test_a_gradient_of_another_shape_is_refused(rng):
    x, W, b = layer(rng, (4,))
    _, cache = linear(x, W, b)
    with pytest.raises(InputError, match=r"dy has shape \(4,\), but y has \(4, 3\)"):
        linear_backward(np.ones(4), cache)


@pytest.mark.parametrize("bad", [np.ones((2, 3)) + 1j, np.ones((0, 3))])
def test_complex_and_empty_arrays_are_refused(bad, unchecked):
    with pytest.raises(InputError, match=r"^x has .*; expected real numbers, at least one"):
        linear(bad, np.ones((4, 3)))
    with pytest.raises(InputError, match=r"^W has .*; expected real numbers, at least one"):
        linear(np.ones(3), bad)
