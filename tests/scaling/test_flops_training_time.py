"""Days of training, against published runs."""

import pytest

from mathlm.errors import InputError
from mathlm.scaling import training_days


def test_gpt_3_took_3640_days_of_a_petaflop_a_second():
    """Brown et al. (2020), table D.1: 3.14e23 operations are 3,640 petaflop/s-days."""
    assert training_days(3.14e23, 1e15, 1.0) == pytest.approx(3640, rel=0.002)


def test_time_by_hand():
    """8.64e20 operations, 100 devices of 1e14 at 50 %: 172,800 seconds."""
    assert training_days(8.64e20, 1e14, 0.5, 100) == 2.0


def test_two_fifths_of_one_device_are_reached_unless_others_are_asked_for():
    """8.64e18 operations of 4e13 a second: 216,000 seconds."""
    assert training_days(8.64e18, 1e14) == pytest.approx(2.5, rel=1e-12)


BAD = {
    "flops": ({"flops": 0}, "flops=0 must be a positive, finite number"),
    "rate": ({"flops_per_second": float("inf")}, "flops_per_second=inf must be"),
    "share": ({"utilization": 1.5}, "utilization=1.5 is a share: at most 1"),
    "no share": ({"utilization": 0.0}, "utilization=0.0 must be a positive"),
    "devices": ({"devices": 0}, "devices=0 must be an integer of at least 1"),
}


@pytest.mark.parametrize(("changes", "message"), BAD.values(), ids=BAD.keys())
def test_numbers_out_of_range_are_refused(changes, message):
    with pytest.raises(InputError, match=message):
        training_days(**{"flops": 1e20, "flops_per_second": 1e14} | changes)
