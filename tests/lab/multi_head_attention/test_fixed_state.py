import numpy as np
import pytest

from lab.multi_head_attention.fixed_state import (
    answers,
    delta_rule,
    outer_products,
    pairs,
    recall,
)
from mathlm.errors import InputError


def test_orthonormal_keys_come_back_exactly_from_either_rule(rng):
    k, _ = np.linalg.qr(rng.normal(size=(5, 5)))
    v = rng.normal(size=(5, 3))
    for rule in (outer_products, delta_rule):
        np.testing.assert_allclose(k @ rule(k, v), v, rtol=1e-12, atol=1e-13)


def test_the_squared_error_of_outer_products_is_n_minus_1_over_d():
    """Foreign keys overlap with mean square 1/d; values of length 1 are independent."""
    k, v = pairs(24, 32, sequences=200)
    error = np.square(answers(k, v)["signed outer products"] - v).sum(-1).mean()
    assert abs(error - 23 / 32) < 0.05


def test_the_newest_pair_of_the_delta_rule_is_exact_and_the_oldest_suffers():
    k, v = pairs(64, 32, sequences=50)
    error = np.linalg.norm(answers(k, v)["delta rule"] - v, axis=-1).mean(0)
    assert error[-1] < 1e-12
    assert error[:10].mean() > error[-10:].mean() + 0.2


def test_a_key_that_is_written_again_is_overwritten():
    k, v = pairs(2, 8, 1)
    k[:, 1] = k[:, 0]
    np.testing.assert_allclose(k[:, :1] @ delta_rule(k, v), v[:, 1:], atol=1e-13)
    np.testing.assert_allclose(k[:, :1] @ outer_products(k, v), v.sum(1, keepdims=True))


def test_more_passes_lead_to_all_pairs_if_the_keys_are_independent():
    k, v = pairs(8, 16, 4)
    np.testing.assert_allclose(k @ delta_rule(k, v, passes=200), v, atol=1e-6)


def test_what_the_chapter_says_of_the_four_forms():
    found = recall(16)
    assert found["softmax"] == found["least squares"] == 1
    assert found["signed outer products"] > 0.98 > found["delta rule"] > 0.9
    assert found["elu + 1"] < 0.85


def test_no_state_holds_more_keys_than_its_width():
    k, v = pairs(9, 8, 3)
    assert np.abs(answers(k, v)["least squares"] - v).max() > 0.05
    k, v = pairs(8, 8, 3)
    np.testing.assert_allclose(answers(k, v)["least squares"], v, atol=1e-8)


def test_what_does_not_fit_is_refused(unchecked):
    with pytest.raises(InputError, match="each key needs its value"):
        outer_products(np.ones((3, 2)), np.ones((4, 2)))
    with pytest.raises(InputError, match="must have length 1"):
        delta_rule(np.ones((3, 2)), np.ones((3, 2)))
