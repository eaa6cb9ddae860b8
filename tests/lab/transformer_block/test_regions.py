import itertools

import numpy as np
import pytest

from lab.transformer_block.regions import most_regions
from mathlm.errors import InputError, InputTypeError


def test_pancake_and_cake_cuts_by_hand():
    """A cut through the middle of all pieces: 1, 2, 4, 7, 11; in space 4 cuts give 15."""
    assert [most_regions(n, 2) for n in range(5)] == [1, 2, 4, 7, 11]
    assert most_regions(4, 3) == 15


def test_few_hyperplanes_can_halve_every_region():
    assert [most_regions(n, 9) for n in range(10)] == [2**n for n in range(10)]


def test_random_lines_reach_the_number(rng):
    """Every region of two or more lines has a corner: look at the four sides of each."""
    w, b, found = rng.normal(size=(6, 2)), rng.normal(size=6), set()
    for i, j in itertools.combinations(range(6), 2):
        corner = np.linalg.solve(w[[i, j]], -b[[i, j]])
        for side in itertools.product([-1, 1], repeat=2):
            near = corner + 1e-7 * np.linalg.solve(w[[i, j]], side)
            found.add(tuple(w @ near + b > 0))
    assert len(found) == most_regions(6, 2)


def test_the_last_hyperplane_splits_as_many_regions_as_it_is_cut_into():
    for n, d in itertools.product(range(1, 8), range(1, 5)):
        assert most_regions(n, d) == most_regions(n - 1, d) + most_regions(n - 1, d - 1)


@pytest.mark.parametrize(("n", "d"), [(True, 2), (3, False)])
def test_numbers_that_are_no_integers_are_refused(n, d):
    with pytest.raises(InputTypeError, match="must be an integer"):
        most_regions(n, d)


@pytest.mark.parametrize(("n", "d"), [(-1, 2), (3, -2)])
def test_negative_numbers_are_refused(n, d):
    with pytest.raises(InputError, match="must not be negative"):
        most_regions(n, d)
