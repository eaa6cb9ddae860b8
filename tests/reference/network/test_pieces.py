from itertools import pairwise

import numpy as np
import pytest
from numpy.testing import assert_allclose

from mathlm.errors import InputError
from mathlm.reference import interpolating_network, linear_pieces, tent_network
from mathlm.reference.network.linear import multilayer_perceptron


def random_network(rng, sizes):
    return [(rng.normal(size=(o, i)), rng.normal(size=o)) for i, o in pairwise(sizes)]


@pytest.mark.parametrize("depth", [1, 2, 5, 12])
def test_the_tent_map_has_two_to_the_depth_pieces(depth):
    knots = linear_pieces(tent_network(depth), 0, 1)
    assert_allclose(knots, np.linspace(0, 1, 2**depth + 1), atol=1e-15)


def test_knots_of_an_interpolant_are_found(rng):
    knots = np.sort(rng.uniform(size=10))
    weights = interpolating_network(knots, rng.normal(size=10))
    assert_allclose(linear_pieces(weights, knots[0], knots[-1]), knots, atol=1e-9)


def test_a_knot_that_does_not_bend_is_not_counted():
    weights = interpolating_network([0.0, 0.25, 1.0], [0.0, 0.25, 1.0])
    assert linear_pieces(weights, 0, 1).tolist() == [0, 1]


def test_hinges_that_cancel_leave_one_piece():
    """ReLU(x) - ReLU(-x) = x."""
    weights = [(np.array([[1.0], [-1.0]]), np.zeros(2)), (np.array([[1.0, -1.0]]), None)]
    assert linear_pieces(weights, -1, 1).tolist() == [-1, 1]


@pytest.mark.parametrize("sizes", [[1, 6, 1], [1, 5, 4, 1], [1, 4, 4, 4, 1]])
def test_networks_are_linear_between_their_knots_and_bend_at_them(rng, sizes):
    weights = random_network(rng, sizes)
    knots = linear_pieces(weights, -4, 4)
    names = ["relu"] * (len(weights) - 1) + ["identity"]
    inside = knots[:-1, None] + np.diff(knots)[:, None] * np.array([0.25, 0.5, 0.75])
    y = multilayer_perceptron(inside.reshape(-1, 1), weights, names)[0].reshape(-1, 3)
    assert_allclose(y[:, 0] + y[:, 2], 2 * y[:, 1], atol=1e-9)
    slopes = (y[:, 2] - y[:, 0]) / (inside[:, 2] - inside[:, 0])
    assert np.abs(np.diff(slopes)).min() > 1e-8


def test_one_layer_has_at_most_one_piece_more_than_units(rng):
    counts = [len(linear_pieces(random_network(rng, [1, 7, 1]), -9, 9)) - 1 for _ in range(50)]
    assert max(counts) == 8


def test_a_unit_that_is_zero_everywhere_has_no_knot():
    weights = [(np.array([[0.0], [1.0]]), np.array([0.0, -0.5])), (np.ones((1, 2)), None)]
    assert_allclose(linear_pieces(weights, 0, 1), [0, 0.5, 1])


def test_a_unit_that_the_output_does_not_read_has_no_knot():
    weights = [(np.ones((1, 1)), np.array([-0.5])), (np.zeros((1, 1)), None)]
    assert linear_pieces(weights, 0, 1).tolist() == [0, 1]


@pytest.mark.parametrize("offset", [0.0, 1000.0, -1e6])
@pytest.mark.parametrize("read", [0.0, 1.0])
def test_rounding_of_large_values_between_near_knots_is_no_bend(offset, read, rng):
    """ReLU(x - c) + offset, and at c + 1e-5 a unit that the output reads or does not."""
    for c in rng.uniform(-0.9, 0.9, 20):
        hidden = np.ones((2, 1)), -np.array([c, c + 1e-5])
        knots = linear_pieces([hidden, (np.array([[1.0, read]]), np.array([offset]))], -1, 1)
        expected = [-1, c, c + 1e-5, 1] if read else [-1, c, 1]
        assert_allclose(knots, expected, atol=1e-12)


def test_an_affine_network_is_one_piece():
    assert linear_pieces([(np.array([[2.0]]), None)], 0, 1).tolist() == [0, 1]


@pytest.mark.parametrize("length", [1e-6, 1.0, 1e6])
def test_how_near_two_knots_may_be_is_relative_to_the_interval(length):
    """Around 0; the unit that begins at 0.1 of its half has a second beside it, 1e-12 away."""
    begin = length * np.array([0.1, 0.6, 0.1 + 1e-12])
    weights = [(np.ones((3, 1)), -begin), (np.ones((1, 3)), None)]
    expected = length * np.array([-1, 0.1, 0.6, 1])
    assert_allclose(linear_pieces(weights, -length, length), expected, rtol=1e-11)


@pytest.mark.parametrize("distances", [[1e-12], [1e-12, 2e-12], [1e-12, 2e-12, 8e-10]])
def test_knots_that_are_the_right_end_up_to_rounding_give_way_to_it(distances):
    begin = np.array([0.25, 0.5, *(1 - d for d in distances)])
    weights = [(np.ones((len(begin), 1)), -begin), (np.ones((1, len(begin))), None)]
    assert linear_pieces(weights, 0, 1).tolist() == [0, 0.25, 0.5, 1]


@pytest.mark.parametrize("scale", [1e-200, 1e200])
def test_a_unit_of_any_scale_bends_where_it_begins(scale):
    weights = [(scale * np.ones((1, 1)), np.array([-scale / 2])), (np.ones((1, 1)), None)]
    assert_allclose(linear_pieces(weights, 0, 1), [0, 0.5, 1], rtol=1e-12)


def test_ends_that_are_whole_numbers_become_float64():
    assert linear_pieces([(np.array([[2.0]]), None)], 0, 1).dtype == np.float64


@pytest.mark.parametrize(
    ("weights", "low", "message"),
    [
        ([(np.ones((1, 1)), None)], 1, "low=1 must be less than high=1"),
        ([(np.ones((1, 2)), None)], 0, "one input and one output"),
        ([], 0, "one input and one output"),
        ([(np.full((1, 1), np.nan), None)], 0, "finite"),
        ([(np.ones((1, 1)), None)], -np.inf, "low=-inf .* both finite"),
        ([(np.ones((2, 1)), None), (np.ones((1, 3)), None)], 0, r"layer 2: W \(1, 3\)"),
        ([(np.ones((2, 1)), np.ones(3)), (np.ones((1, 2)), None)], 0, r"b \(3,\) do not fit"),
    ],
)
def test_what_is_no_function_of_a_line_is_refused(weights, low, message):
    with pytest.raises(InputError, match=message):
        linear_pieces(weights, low, 1)
