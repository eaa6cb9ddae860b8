import numpy as np
import pytest

from lab.estimation.block_model import BlockModel, block_codes
from lab.probability.letter_models import letter_model, log_probabilities


def test_blocks_are_numbers_in_base_27():
    assert block_codes(np.array([1, 0, 2, 26]), 2).tolist() == [27, 2, 2 * 27 + 26]


def test_it_is_the_model_in_tables(rng):
    """Sorted lists and tables of all histories are two ways to hold the same counts."""
    text, other = rng.integers(0, 27, 3000) // 5, rng.integers(0, 27, 200) // 5
    for order, q in enumerate(BlockModel(text, 4, 3.0).probabilities(other), start=1):
        table = letter_model(text, order, 3.0)
        np.testing.assert_allclose(np.log(q[order - 1 :]), log_probabilities(table, other))


def test_first_letters_have_shorter_histories():
    """Before any history, counts of letters alone: (1 + 1/27) / (2 + 1) for each of two."""
    *_, q = BlockModel(np.array([3, 4]), 2, 1.0).probabilities(np.array([4, 3]))
    assert q[0] == pytest.approx((1 + 1 / 27) / 3)


def test_a_block_never_seen_has_a_probability():
    *_, q = BlockModel(np.array([1, 1, 1, 1]), 3, 0.5).probabilities(np.array([2, 3, 4]))
    assert (q > 0).all()
