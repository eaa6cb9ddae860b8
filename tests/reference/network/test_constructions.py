import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from mathlm.errors import InputError, InputTypeError
from mathlm.reference import (
    all_bits,
    interpolating_network,
    multilayer_perceptron,
    parity_folds,
    parity_network,
    parity_tree,
    tent_network,
)


def run(x, weights):
    names = ["relu"] * (len(weights) - 1) + ["identity"]
    return multilayer_perceptron(x, weights, names)[0]


def hidden(weights):
    return [len(b) for _, b in weights[:-1]]


def test_two_bits_give_the_table_of_xor():
    x, y = all_bits(2)
    assert x.tolist() == [[0, 0], [0, 1], [1, 0], [1, 1]]
    assert y.ravel().tolist() == [0, 1, 1, 0]


def test_one_bit_is_its_own_parity():
    x, y = all_bits(1)
    assert x.tolist() == y.tolist() == [[0], [1]]


def test_rows_count_in_binary_and_their_parity_is_that_of_python():
    x, y = all_bits(5)
    assert ["".join(str(int(b)) for b in row) for row in x] == [f"{i:05b}" for i in range(32)]
    assert y.ravel().tolist() == [i.bit_count() % 2 for i in range(32)]


def test_the_largest_table_has_twenty_bits_and_counts_to_a_million():
    x, y = all_bits(20)
    assert_array_equal(x @ 2.0 ** np.arange(19, -1, -1), np.arange(2**20))
    assert y.mean() == 0.5  # half of the numbers below a power of two have odd parity


@pytest.mark.parametrize("build", [parity_network, parity_folds, parity_tree])
@pytest.mark.parametrize("n", [2, 3, 4, 5, 7, 8, 9])
def test_every_construction_computes_parity(build, n):
    x, y = all_bits(n)
    assert_array_equal(run(x, build(n)), y)


def test_parity_of_one_bit_is_the_bit():
    assert run(np.array([[0.0], [1.0]]), parity_network(1)).ravel().tolist() == [0, 1]


@pytest.mark.parametrize("n", [2, 5, 10])
def test_parity_in_one_layer_has_one_unit_a_bit(n):
    assert hidden(parity_network(n)) == [n]


@pytest.mark.parametrize(
    ("n", "depth"), [(2, 1), (3, 2), (4, 2), (5, 3), (8, 3), (9, 4), (16, 4)]
)
def test_folds_have_two_units_in_each_of_log_n_layers(n, depth):
    assert hidden(parity_folds(n)) == [2] * depth


def test_tree_of_eight_bits_halves_its_layers():
    assert hidden(parity_tree(8)) == [8, 4, 2]
    assert hidden(parity_tree(5)) == [5, 3, 2]


def test_tent_map_by_hand():
    """t(0.3) = 0.6, t(0.6) = 0.8, t(0.8) = 0.4."""
    x = np.array([[0.3]])
    assert_allclose([run(x, tent_network(k)).item() for k in (1, 2, 3)], [0.6, 0.8, 0.4])


def test_interpolant_equals_that_of_numpy(rng):
    knots, values = np.sort(rng.normal(size=9)), rng.normal(size=9)
    x = np.linspace(knots[0], knots[-1], 200)
    found = run(x[:, None], interpolating_network(knots, values))[:, 0]
    assert_allclose(found, np.interp(x, knots, values), atol=1e-11)


def test_points_of_whole_numbers_without_a_sign_are_met(unchecked):
    """In eight bits 3 - 9 would be 250, and -1 would be 255."""
    knots, values = (np.array(a, dtype=np.uint8) for a in ([1, 2, 4], [9, 3, 5]))
    found = run(knots[:, None], interpolating_network(knots, values))
    assert found.ravel().tolist() == [9, 3, 5]


def test_interpolant_is_constant_left_of_its_first_knot():
    weights = interpolating_network([0.0, 1.0], [5.0, 7.0])
    assert run(np.array([[-3.0]]), weights).item() == 5


@pytest.mark.parametrize("m", [4, 16, 64])
def test_error_of_an_interpolant_is_below_its_bound(m):
    """For x², g'' = 2 and the bound 2/(8 m²) is met in the middle of every piece."""
    knots = np.linspace(0, 1, m + 1)
    x = np.linspace(0, 1, 2 * m + 1)
    error = run(x[:, None], interpolating_network(knots, knots**2))[:, 0] - x**2
    assert_allclose(np.abs(error).max(), 1 / (4 * m**2), rtol=1e-9)


@pytest.mark.parametrize(
    ("build", "n", "message"),
    [
        (all_bits, 0, "n=0 must lie between 1 and 20"),
        (all_bits, 21, "n=21 must lie between 1 and 20"),
        (parity_network, 0, "n=0 must be at least 1"),
        (parity_folds, 1, "n=1 must be at least 2"),
        (parity_tree, 1, "n=1 must be at least 2"),
        (tent_network, 0, "depth=0 must be at least 1"),
    ],
)
def test_sizes_out_of_range_are_refused(build, n, message):
    with pytest.raises(InputError, match=message):
        build(n)


@pytest.mark.parametrize(
    "build", [all_bits, parity_network, parity_folds, parity_tree, tent_network]
)
@pytest.mark.parametrize("n", [2.5, True])
def test_a_size_that_is_no_integer_is_refused(build, n, unchecked):
    with pytest.raises(InputTypeError, match=f"={n} must be an integer"):
        build(n)


@pytest.mark.parametrize(
    ("knots", "values", "message"),
    [
        ([0.0], [1.0], "at least 2"),
        ([0.0, 1.0], [1.0, 2.0, 3.0], r"knots \(2,\) and values \(3,\)"),
        ([0.0, 0.0], [1.0, 2.0], "increase strictly"),
        ([0.0, 1.0], [1.0, np.nan], "finite"),
        ([0.0, np.inf], [1.0, 1.0], "finite"),
        ([[0.0, 1.0]], [[1.0, 2.0]], r"knots \(1, 2\) and values \(1, 2\)"),
        ([0.0, 1.0, 1.0 + 1e-15], [0.0, 0.0, 1e300], "behind knot 1 is beyond float64"),
    ],
)
def test_knots_that_make_no_function_are_refused(knots, values, message, unchecked):
    with pytest.raises(InputError, match=message):
        interpolating_network(knots, values)
