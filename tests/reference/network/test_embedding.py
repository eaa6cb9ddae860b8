import math

import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose, assert_array_equal

from mathlm.errors import InputError, InputTypeError
from mathlm.reference import embedding, embedding_backward, numerical_vjp

SHAPES = pytest.mark.parametrize("shape", [(), (6,), (2, 6), (2, 3, 4)], ids=str)


@SHAPES
def test_value_and_gradient_are_those_of_torch(shape, rng):
    ids, table = rng.integers(5, size=shape), rng.normal(size=(5, 3))
    dy = rng.normal(size=(*shape, 3))
    leaf = torch.tensor(table, requires_grad=True)
    theirs = torch.nn.functional.embedding(torch.tensor(ids), leaf)
    theirs.backward(torch.tensor(dy))
    y, cache = embedding(ids, table)
    assert_array_equal(y, theirs.detach())
    assert_allclose(embedding_backward(dy, cache), leaf.grad, rtol=1e-12, atol=1e-14)


@SHAPES
def test_gradient_is_the_one_of_finite_differences(shape, rng):
    ids, table = rng.integers(5, size=shape), rng.normal(size=(5, 3))
    dy = rng.normal(size=(*shape, 3))
    numeric = numerical_vjp(lambda table: embedding(ids, table)[0], table, dy)
    ours = embedding_backward(dy, embedding(ids, table)[1])
    assert_allclose(ours, numeric, rtol=1e-6, atol=1e-8)


def test_it_is_a_one_hot_vector_times_the_table(rng):
    ids, table = np.array([[2, 0], [2, 2]]), rng.normal(size=(4, 3))
    assert_array_equal(embedding(ids, table)[0], np.eye(4)[ids] @ table)


def test_a_row_that_is_read_three_times_gathers_three_gradients():
    """Row 1 is read at 0, 2 and 3: 1 + 100 + 1000; row 2 at 1: 10; rows 0 and 3 never."""
    _, cache = embedding([1, 2, 1, 1], np.zeros((4, 1)))
    dtable = embedding_backward(np.array([[1.0], [10], [100], [1000]]), cache)
    assert_array_equal(dtable, [[0], [1101], [10], [0]])


@pytest.mark.parametrize("ids", [1, [1, 0]])
def test_what_is_read_is_a_copy(ids):
    table = np.ones((2, 3))
    y, _ = embedding(ids, table)
    y += 1
    assert_array_equal(table, 1)


@pytest.mark.parametrize(
    ("ids", "error", "message"),
    [
        ([0, 5], InputError, r"token id 5 at \[1\] is outside 0\.\.4"),
        ([[0, 1], [-1, 2]], InputError, r"token id -1 at \[1, 0\] is outside 0\.\.4"),
        ([0.0, 1.0], InputTypeError, "token ids must be integers, got float64"),
        ([True, False], InputTypeError, "token ids must be integers, got bool"),
        ([], InputError, r"there is no token id: the array is empty, of shape \(0,\)"),
    ],
)
def test_what_is_no_id_is_refused(ids, error, message):
    with pytest.raises(error, match=message):
        embedding(ids, np.zeros((5, 3)))


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (np.zeros(5), r"table has shape \(5,\), expected \(V, D\)"),
        (np.zeros((0, 3)), r"table is empty, of shape \(0, 3\)"),
        (np.full((2, 2), math.nan), "table holds 4 NaN or infinite entries"),
    ],
)
def test_what_is_no_table_is_refused(table, message):
    with pytest.raises(InputError, match=message):
        embedding([0], table)


def test_a_gradient_of_another_shape_is_refused():
    _, cache = embedding([0, 1], np.zeros((5, 3)))
    with pytest.raises(InputError, match=r"dy has shape \(3,\), but y has \(2, 3\)"):
        embedding_backward(np.ones(3), cache)
