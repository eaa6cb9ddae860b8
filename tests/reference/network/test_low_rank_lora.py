import numpy as np
import pytest
import torch

from mathlm.errors import InputError
from mathlm.functional import low_rank_update
from mathlm.reference import low_rank_linear, low_rank_linear_backward, numerical_vjp

BATCHES = [(), (4,), (2, 3)]


def layer(rng, batch, inputs=5, outputs=3, rank=2):
    shapes = (*batch, inputs), (outputs, inputs), (rank, inputs), (outputs, rank)
    return tuple(rng.normal(size=shape) for shape in shapes)


def with_update(x, W, A, B):
    return torch.nn.functional.linear(x, W) + low_rank_update(x, A, B, 0.7)


@pytest.mark.parametrize("batch", BATCHES)
def test_value_and_gradients_are_those_of_the_torch_half(rng, batch):
    args = layer(rng, batch)
    leaves = [torch.from_numpy(a).requires_grad_() for a in args]
    y, cache = low_rank_linear(*args, 0.7)
    dy, expected = rng.normal(size=y.shape), with_update(*leaves)
    expected.backward(torch.from_numpy(dy))
    np.testing.assert_allclose(y, expected.detach().numpy(), rtol=1e-12, atol=1e-13)
    for found, leaf in zip(low_rank_linear_backward(dy, cache), leaves, strict=True):
        np.testing.assert_allclose(found, leaf.grad.numpy(), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("batch", BATCHES)
def test_gradients_are_those_of_finite_differences(rng, batch):
    args = layer(rng, batch)
    y, cache = low_rank_linear(*args, 0.7)
    dy = rng.normal(size=y.shape)
    expected = numerical_vjp(lambda *a: low_rank_linear(*a, 0.7)[0], args, dy)
    for found, right in zip(low_rank_linear_backward(dy, cache), expected, strict=True):
        np.testing.assert_allclose(found, right, rtol=1e-6, atol=1e-8)


def test_gradients_of_the_factors_are_projections_of_that_of_the_matrix(rng):
    x, W, A, B = layer(rng, (4,))
    y, cache = low_rank_linear(x, W, A, B, 0.7)
    _, dW, dA, dB = low_rank_linear_backward(rng.normal(size=y.shape), cache)
    np.testing.assert_allclose(dA, 0.7 * B.T @ dW, rtol=1e-12)
    np.testing.assert_allclose(dB, 0.7 * dW @ A.T, rtol=1e-12)


def test_where_one_factor_is_zero_only_it_gets_a_gradient(rng):
    x, W, A, B = layer(rng, (4,))
    y, cache = low_rank_linear(x, W, A, 0 * B)
    _, _, dA, dB = low_rank_linear_backward(rng.normal(size=y.shape), cache)
    assert not dA.any()
    assert dB.all()


def test_a_worked_vector():
    """W = 1 (2 × 2), A = (1, 2), B = (3, 0)ᵀ: (1, 1) + s (3·3, 0), s = 1/2 and 1."""
    A, B = np.array([[1.0, 2]]), np.array([[3.0], [0]])
    y, _ = low_rank_linear(np.ones(2), np.eye(2), A, B, 0.5)
    np.testing.assert_array_equal(y, [5.5, 1])
    np.testing.assert_array_equal(low_rank_linear(np.ones(2), np.eye(2), A, B)[0], [10, 1])


def test_factors_of_other_shapes_are_refused(rng, unchecked):
    x, W, A, B = layer(rng, (4,))
    with pytest.raises(InputError, match=r"A of shape \(5, 2\) and B of shape \(3, 2\) do not"):
        low_rank_linear(x, W, A.T, B)
    for other in ((A[:, 1:], B), (A, B[1:]), (A[1:], B), (A, B[:, 1:])):
        with pytest.raises(InputError, match=r"do not fit W of shape \(3, 5\)"):
            low_rank_linear(x, W, *other)


def test_a_gradient_of_another_shape_is_refused(rng):
    _, cache = low_rank_linear(*layer(rng, (4,)))
    with pytest.raises(InputError, match=r"dy has shape \(4,\), but y has \(4, 3\)"):
        low_rank_linear_backward(np.ones(4), cache)
