import numpy as np
import pytest

from lab.perplexity.block_error import block_error
from mathlm.errors import InputError


def test_blocks_of_one_are_the_standard_error_of_the_mean(rng):
    x = rng.normal(size=500)
    assert block_error(x, 1) == pytest.approx(x.std(ddof=1) / np.sqrt(500))


def test_it_is_the_spread_of_the_mean_where_neighbors_depend_on_each_other(rng):
    """Each value stands ten times: 100 free values of variance 1, an error of 0.1."""
    x = np.repeat(rng.normal(size=(400, 100)), 10, axis=1)
    found = np.mean([block_error(row, 50) for row in x])
    assert found == pytest.approx(x.mean(1).std(), rel=0.1)
    assert np.mean([block_error(row, 1) for row in x]) < 0.5 * found  # neighbors ignored


def test_tokens_after_the_last_full_block_are_left_out():
    assert block_error(np.array([1.0, 1, 3, 3, 99]), 2) == 1.0


@pytest.mark.parametrize("length", [0, 3, 5])
def test_two_blocks_are_needed(length):
    with pytest.raises(InputError, match="fewer than two blocks"):
        block_error(np.ones(5), length)
