import numpy as np
import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from lab.calculus.flops import backward_cost, count_flops
from mathlm.errors import InputTypeError
from mathlm.reference import Variable, pull_back, push_forward


def test_a_matrix_product_counts_a_multiplication_and_an_addition():
    """(2, 3) @ (3, 5): ten sums of three products, 2 · 2 · 3 · 5 = 60."""
    y, counts = count_flops(np.matmul, np.ones((2, 3)), np.ones((3, 5)))
    assert dict(counts) == {"matmul": 60}
    assert type(y) is np.ndarray


def test_entries_and_sums_are_counted():
    """exp of 6 entries, 6 products, and 2 row sums of 3 numbers: 2 · 2 additions."""
    _, counts = count_flops(lambda x: (np.exp(x) * x).sum(axis=1), np.ones((2, 3)))
    assert dict(counts) == {"exp": 6, "multiply": 6, "add": 4}


def test_moves_are_free():
    _, counts = count_flops(lambda x: x.T.reshape(6)[2:] * 1, np.ones((2, 3)))
    assert dict(counts) == {"multiply": 4}


def test_work_in_place_is_counted():
    def twice(x):
        x += x
        return x

    y, counts = count_flops(twice, np.ones(4))
    assert (y.tolist(), counts["add"]) == ([2, 2, 2, 2], 4)


def test_the_argument_itself_is_not_counted_afterwards():
    x = np.ones(3)
    _, counts = count_flops(np.exp, x)
    np.exp(x)
    assert counts["exp"] == 3
    assert type(x) is np.ndarray


@pytest.mark.parametrize("layers", [1, 2, 4])
def test_backward_products_are_those_that_torch_counts(layers, rng):
    """FlopCounterMode counts matrix products only."""
    arrays = [rng.normal(size=(4, 4)) for _ in range(layers)]
    x = rng.normal(size=(6, 4))

    def gradients(*weights):
        inputs = [Variable(w) for w in weights]
        y = x
        for w in inputs:
            y = y @ w.T
        return pull_back(y.sum(), inputs)

    tensors = [torch.tensor(a, requires_grad=True) for a in arrays]
    with FlopCounterMode(display=False) as counter:
        y = torch.tensor(x)
        for w in tensors:
            y = y @ w.T
        torch.autograd.grad(y.sum(), tensors)
    assert count_flops(gradients, *arrays)[1]["matmul"] == counter.get_total_flops()


def test_functions_that_escape_the_count_are_refused():
    with pytest.raises(InputTypeError, match=r"np.einsum is not counted"):
        count_flops(lambda a: np.einsum("ij,jk", a, a), np.ones((2, 2)))


def test_single_entries_stay_in_the_count():
    """Two picks, one product, one sum of two numbers."""
    _, counts = count_flops(lambda x: x[0] * x[1] + x[0], np.ones(2))
    assert dict(counts) == {"multiply": 1, "add": 1}


def test_scattering_counts_an_addition_an_entry():
    _, counts = count_flops(lambda t: np.add.at(np.zeros(3), [0, 2, 0, 1], t), np.ones(4))
    assert counts["add"] == 4


def test_gradient_of_a_pick_stays_in_the_count(rng):
    """Forwards 3 additions in the sum; backwards 4, one for each picked entry."""

    def pulled(E):
        inputs = [Variable(E)]
        return pull_back((inputs[0][[0, 1, 0, 1]] * 1.0).sum(), inputs)

    assert count_flops(pulled, rng.normal(size=(3,)))[1]["add"] == 3 + 4


def test_a_method_that_escapes_the_count_is_refused():
    with pytest.raises(InputTypeError, match=r"x.dot\(y\) is not counted"):
        count_flops(lambda a: a.dot(a), np.ones(3))


def test_complex_numbers_are_not_cut_to_real_ones():
    with pytest.raises(InputTypeError, match="dtype complex128"):
        count_flops(lambda a: a, np.ones(3) * 1j)


def test_constants_times_variables_and_duals_are_counted_once_a_part():
    """c · (x + ε t): 3 products for the value and 3 for the rate of change."""
    x, c = np.ones(3), np.ones(3)
    forward = count_flops(lambda x, c: push_forward(lambda v: c * v, x, x), x, c)[1]
    assert +forward == {"multiply": 6}
    assert +count_flops(lambda x, c: (c * Variable(x)).value, x, c)[1] == {"multiply": 3}


def test_what_comes_before_a_pick_stays_in_the_count(rng):
    """Three signs change on the way forward and three on the way back."""

    def pulled(x):
        inputs = [Variable(x)]
        return pull_back((-inputs[0])[[0, 1, 0]].sum(), inputs)

    assert count_flops(pulled, rng.normal(size=3))[1]["negative"] == 6


def test_a_layer_costs_one_product_forward_and_one_for_each_gradient():
    """(5, 3) @ (3, 2) is 60 operations; with X fixed, its gradient is not computed."""
    X, W = np.ones((5, 3)), np.ones((3, 2))
    assert backward_cost(np.matmul, X, W) == (60, 120)
    assert backward_cost(np.matmul, X, W, fixed=1) == (60, 60)


def test_a_sum_costs_nothing_on_the_way_back():
    assert backward_cost(lambda x: x.sum(), np.ones(8)) == (7, 0)
