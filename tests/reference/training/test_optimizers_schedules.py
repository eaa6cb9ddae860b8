import math

import pytest
from numpy.testing import assert_allclose

from mathlm.errors import ConfigError
from mathlm.optim import noam
from mathlm.reference import noam_rate


def test_the_peak_of_the_paper():
    """D = 512, 4,000 steps of warm-up: 1 / √(512 · 4000) = 0.000698771."""
    assert_allclose(noam_rate(3999, 512, 4000), 0.000698771, rtol=1e-6)
    around = [noam_rate(t, 512, 4000) for t in (3998, 3999, 4000)]
    assert max(around) == around[1]


def test_it_rises_in_a_line_and_falls_with_the_root():
    assert_allclose(noam_rate(9, 16, 100), 10 * noam_rate(0, 16, 100), rtol=1e-14)
    assert_allclose(noam_rate(399, 16, 100), noam_rate(99, 16, 100) / 2, rtol=1e-14)


def test_a_width_of_one_and_one_step_of_warmup_are_the_least():
    """min(1, 1), then 1 / √2."""
    assert [noam_rate(0, 1, 1), noam_rate(1, 1, 1)] == [1, 2**-0.5]


def test_half_a_step_is_refused(unchecked):
    with pytest.raises(ConfigError, match=r"step=0\.5 must be a whole number"):
        noam_rate(0.5, 8, 4)


def test_it_is_the_schedule_of_the_other_half():
    for step in (0, 1, 7, 8, 100, 10_000):
        assert math.isclose(noam_rate(step, 24, 8), noam(24, 8)(step), rel_tol=1e-15)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((-1, 8, 4), "step=-1 must be a whole number of at least 0"),
        ((0, 0, 4), "d_model=0 must be a whole number of at least 1"),
        ((0, 8, 0), "warmup=0 must be a whole number of at least 1"),
    ],
)
def test_numbers_outside_their_range_are_refused(arguments, message):
    with pytest.raises(ConfigError, match=message):
        noam_rate(*arguments)
