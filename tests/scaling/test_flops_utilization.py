"""Model FLOP utilization, against a published run."""

import pytest

from mathlm.errors import InputError
from mathlm.scaling import flop_utilization


def test_palm_used_46_percent():
    """Chowdhery et al. (2022), table 3 and appendix B: 540 billion parameters, 118 blocks of
    48 heads of 256, T = 2048, 238,300 tokens/s on 6,144 chips of 275 TFLOP/s."""
    flops = 238_300 * (6 * 540.35e9 + 12 * 118 * 48 * 256 * 2048)
    assert flop_utilization(flops, 1, 6144 * 275e12) == pytest.approx(0.462, abs=0.001)


def test_a_share_by_hand():
    assert flop_utilization(3e12, 2, 6e12) == 0.25
    assert flop_utilization(12e12, 2, 6e12) == 1


BAD = {
    "operations": ((0, 1, 1), "flops=0 must be a positive, finite number"),
    "time": ((1, 0, 1), "seconds=0 must be a positive, finite number"),
    "peak": ((1, 1, -1), "flops_per_second=-1 must be a positive, finite number"),
    "more than all": ((1.5, 1, 1), "1.5 FLOP in 1 s are 1.5 times the peak of 1 FLOP/s"),
}


@pytest.mark.parametrize(("args", "message"), BAD.values(), ids=BAD.keys())
def test_numbers_out_of_range_are_refused(args, message):
    with pytest.raises(InputError, match=message):
        flop_utilization(*args)
