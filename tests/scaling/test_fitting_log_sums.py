"""The search that all fits share, on a law whose minimum is known."""

import math

import numpy as np
import pytest

from mathlm.errors import InputError
from mathlm.scaling.fitting import least_minimum, minimise, require_minimum, slopes
from mathlm.scaling.power_law import straight

X = np.geomspace(10, 1e6, 16)
LAW, MIDDLE = straight(X, 2 + 3 * X**-0.3, True, math.inf)
TRUTH = np.array([[math.log(3) - 0.3 * MIDDLE, -0.3, math.log(2)]])
NAMES = ["the power", "the offset"]
NO_OFFSET = np.array([[1.0, -0.1, -800.0]])  # exp(-800) is 0: nothing pulls it back


@pytest.mark.parametrize("order", [1, -1])
def test_the_least_of_the_ends_is_taken(order):
    starts = np.concatenate([TRUTH + 0.1, NO_OFFSET])[::order]
    assert least_minimum(LAW, starts, NAMES) == pytest.approx(TRUTH, rel=1e-7)


def test_a_term_that_is_nowhere_seen_is_refused():
    end = minimise(LAW, NO_OFFSET)
    with pytest.raises(InputError, match="do not determine the offset: its share of the fit"):
        require_minimum(LAW, end, NAMES)


def test_each_data_set_of_many_has_its_own_end():
    many = LAW.rows(np.array([0, 0]))
    many.target[1] += 1  # e times the law
    ends = minimise(many, np.repeat(TRUTH + 0.1, 2, 0))
    assert ends[:1] == pytest.approx(TRUTH, rel=1e-6)
    assert ends[1:] == pytest.approx(TRUTH + np.array([1, 0, 1]), rel=1e-6)


def test_residuals_of_one_sign_leave_the_whole_gradient():
    """Each is 0.2: of what they pull at a term, nothing cancels, so the share left is 1."""
    off = TRUTH + np.array([0.2, 0, 0.2])
    assert slopes(LAW, off).unevenness == pytest.approx(1)


def test_exact_data_end_the_search_at_once():
    assert minimise(LAW, TRUTH + 0.1, steps=15) == pytest.approx(TRUTH, rel=1e-7)
