"""Bytes on each device under ZeRO, against the paper's example and by hand."""

import pytest

from mathlm.errors import InputError
from mathlm.scaling import sharded_memory


@pytest.mark.parametrize(("stage", "gigabytes"), [(0, 120), (1, 31.4), (2, 16.6), (3, 1.9)])
def test_the_stages_give_the_figure_of_the_paper(stage, gigabytes):
    """Rajbhandari et al. (2020), figure 1: 7.5 billion parameters on 64 devices, 2 + 2 + 12."""
    total = sum(sharded_memory(7_500_000_000, 64, stage).values()) / 1e9
    assert total == pytest.approx(gigabytes, abs=0.05)


def test_each_stage_divides_one_part_more():
    """100 parameters on 4 devices: shares of 25, times 12, 2 and 2 bytes."""
    found = [list(sharded_memory(100, 4, stage).values()) for stage in range(4)]
    whole = [200, 200, 1200]
    assert found == [whole, [200, 200, 300], [200, 50, 300], [50, 50, 300]]


def test_shares_that_are_uneven_are_rounded_up():
    """10 parameters on 4 devices: the largest share is 3."""
    assert sharded_memory(10, 4)["weights"] == 6


@pytest.mark.parametrize("stage", range(4))
def test_one_device_keeps_everything(stage):
    sizes = {"weight_bytes": 4, "gradient_bytes": 4, "optimizer_bytes": 8}
    parts = {"weights": 400, "gradients": 400, "optimizer": 800}
    assert sharded_memory(100, 1, stage, **sizes) == parts


BAD = {
    "parameters": ({"parameters": 0}, "parameters=0 must be an integer of at least 1"),
    "devices": ({"devices": 0}, "devices=0 must be an integer of at least 1"),
    "stage": ({"stage": 4}, "stage=4 is none of 0, 1, 2 and 3"),
    "weights": ({"weight_bytes": -2}, "weight_bytes=-2 must be an integer of at least 0"),
    "gradients": ({"gradient_bytes": -2}, "gradient_bytes=-2 must be an integer of at least 0"),
    "states": ({"optimizer_bytes": -2}, "optimizer_bytes=-2 must be an integer of at least 0"),
}


@pytest.mark.parametrize(("changes", "message"), BAD.values(), ids=BAD.keys())
def test_numbers_out_of_range_are_refused(changes, message):
    with pytest.raises(InputError, match=message):
        sharded_memory(**{"parameters": 100, "devices": 2} | changes)
