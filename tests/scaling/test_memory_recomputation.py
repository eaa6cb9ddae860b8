"""Numbers in memory with segments that are computed again, by hand."""

import pytest

from mathlm.errors import InputError
from mathlm.scaling import kept_with_segments


def test_the_ends_keep_one_block_and_all_blocks():
    """12 blocks of 160 numbers with streams of 10: 12 · 10 + 160, and 10 + 12 · 160."""
    assert kept_with_segments(12, 12, 10, 160) == 280
    assert kept_with_segments(12, 1, 10, 160) == 1930


def test_the_last_segment_may_be_shorter():
    """10 blocks in 4 segments: three blocks in the longest."""
    assert kept_with_segments(10, 4, 1, 100) == 304


def test_the_least_is_at_the_root_for_blocks_that_keep_what_they_read():
    """64 blocks, stream and block alike: 8 segments of 8, 2 · sqrt(64)."""
    found = {s: kept_with_segments(64, s, 1, 1) for s in range(1, 65)}
    assert min(found, key=found.get) == 8
    assert found[8] == 16


BAD = {
    "blocks": ((0, 1, 1, 1), "blocks=0 must be an integer of at least 1"),
    "segments": ((4, 5, 1, 1), "segments=5 must be at most blocks=4"),
    "no segments": ((4, 0, 1, 1), "segments=0 must be an integer of at least 1"),
    "stream": ((4, 2, 0, 1), "stream=0 must be an integer"),
    "block": ((4, 2, 1, 0), "block=0 must be an integer of at least 1"),
}


@pytest.mark.parametrize(("args", "message"), BAD.values(), ids=BAD.keys())
def test_numbers_out_of_range_are_refused(args, message):
    with pytest.raises(InputError, match=message):
        kept_with_segments(*args)
