import numpy as np
import pytest
from numpy.testing import assert_allclose

from lab.neural_networks.representation import (
    approximation_errors,
    even_error,
    jump,
    mean_pieces,
    random_error,
    random_pieces,
    wave,
)
from mathlm.reference import linear_pieces, tent_network


def test_even_kinks_at_a_jump_leave_one_piece_wrong():
    """The jump is at a knot, so on one piece of length 1/m the error falls from 1 to 0:
    ∫(1 - t m)² dt = 1/(3 m)."""
    assert_allclose(even_error(jump, 128), np.sqrt(1 / 384), rtol=0.03)  # on a grid


def test_the_error_of_a_smooth_curve_is_below_its_bound():
    """The largest error is at most max|g''| / 8m², so the root mean square is too."""
    for m in (8, 32):
        assert even_error(wave, m) < 4 * np.pi**2 / 8 / m**2


def test_random_kinks_with_the_best_weights_are_no_worse_than_a_constant():
    assert random_error(wave, 4, seed=0) < np.sqrt(0.5)
    assert random_error(wave, 128, seed=0) < 0.01


def test_errors_have_an_entry_for_every_width():
    found = approximation_errors([4, 8])
    assert list(found) == ["wave", "jump"]
    for curves in found.values():
        assert all(len(errors) == 2 for errors in curves.values())


def test_one_random_layer_has_at_most_one_piece_more_than_units():
    assert all(random_pieces(1, 8, seed) <= 9 for seed in range(20))


@pytest.mark.parametrize("depth", [2, 4])
def test_random_depth_is_far_from_what_depth_can_do(depth):
    can = len(linear_pieces(tent_network(8), 0, 1)) - 1
    assert 4 < mean_pieces(depth, 16) < 40 < can
