import pytest

from lab.multi_head_attention.traffic import flash_attention_traffic, plain_attention_traffic
from mathlm.errors import InputError


def test_plain_attention_moves_the_scores_four_times():
    """T = 2, S = 3, d = 1: Q 2, K 3, V 3, Y 2, and 4 x 6 scores: 34."""
    assert plain_attention_traffic(2, 3, 1) == 34


def test_tiles_read_the_keys_once_for_each_tile_of_queries():
    """T = 5 in tiles of 2: three passes over K and V (3 x 2 x 4 = 24), Q and Y 10, 5 sums."""
    assert flash_attention_traffic(5, 4, 1, rows=2) == 24 + 10 + 5


def test_traffic_of_tiles_has_no_term_in_t_times_s_beyond_the_passes():
    few, many = (flash_attention_traffic(1024, 1024, 64, rows=r) for r in (64, 1024))
    assert few - many == 15 * 2 * 1024 * 64


@pytest.mark.parametrize("sizes", [(0, 1, 1), (1, 0, 1), (1, 1, 0)])
def test_sizes_below_one_are_refused(sizes):
    with pytest.raises(InputError, match="=0 must be a whole number of at least 1"):
        plain_attention_traffic(*sizes)
    with pytest.raises(InputError, match="=0 must be a whole number of at least 1"):
        flash_attention_traffic(*sizes, rows=1)


def test_tiles_without_rows_are_refused():
    with pytest.raises(InputError, match="rows=0 must be a whole number of at least 1"):
        flash_attention_traffic(1, 1, 1, rows=0)


@pytest.mark.parametrize("size", [float("nan"), 2.5, "4"])
def test_sizes_that_are_not_whole_numbers_are_refused(unchecked, size):
    with pytest.raises(InputError, match=r"S=.* must be a whole number"):
        plain_attention_traffic(1, size, 1)
    with pytest.raises(InputError, match=r"rows=.* must be a whole number"):
        flash_attention_traffic(1, 1, 1, rows=size)
