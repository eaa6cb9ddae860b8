import numpy as np
import pytest
from numpy.testing import assert_allclose

from lab.generation.edits import edited_texts
from mathlm.errors import InputError


def world(prefix):
    """First token 0 or 1, evenly; 0 is followed by 0 with 0.9, 1 by 0 with 0.2."""
    if not prefix:
        return np.array([0.5, 0.5])
    return np.array([[0.9, 0.1], [0.2, 0.8]])[prefix[-1]]


def test_an_edit_that_changes_nothing_gives_the_model():
    found = edited_texts(world, lambda prefix, p: p, 3)
    assert_allclose(found.stepwise, found.model, rtol=1e-12)
    assert_allclose(found.whole, found.model, rtol=1e-12)
    assert_allclose(found.weight, 1.0, rtol=1e-12)


def test_a_constraint_by_hand():
    """The second token must be 0: of the whole texts 00 has 0.45 and 10 has 0.10, so 9 to 2;
    token by token the first is drawn evenly and the second is forced."""
    found = edited_texts(world, lambda x, p: p * [1, len(x) == 0], 2)
    assert found.ids.tolist() == [[0, 0], [0, 1], [1, 0], [1, 1]]
    assert_allclose(found.stepwise, [0.5, 0, 0.5, 0])
    assert_allclose(found.whole, [9 / 11, 0, 2 / 11, 0])
    assert_allclose(found.weight, [0.9, 0.9, 0.2, 0.2])


def test_the_weights_turn_one_distribution_into_the_other():
    found = edited_texts(world, lambda prefix, p: p**2.5, 4)
    product = found.stepwise * found.weight
    assert_allclose(product / product.sum(), found.whole, rtol=1e-12)
    assert_allclose([found.stepwise.sum(), found.model.sum()], 1.0, rtol=1e-12)
    assert_allclose(found.whole, found.model**2.5 / (found.model**2.5).sum(), rtol=1e-12)


def test_the_mean_weight_of_a_constraint_is_the_chance_to_meet_it():
    found = edited_texts(world, lambda x, p: p * [1, len(x) < 2], 4)
    meets = (found.ids[:, 2:] == 0).all(1)
    assert_allclose(found.stepwise @ found.weight, found.model[meets].sum(), rtol=1e-12)


def test_what_cannot_be_reached_may_leave_nothing():
    found = edited_texts(world, lambda x, p: p * [1, 0] if 1 not in x else 0 * p, 2)
    assert_allclose(found.stepwise, [1, 0, 0, 0])


def test_a_dead_end_and_a_bad_edit_are_named():
    with pytest.raises(InputError, match=r"the edit behind \(0,\) has shape \(2,\).* sum 0"):
        edited_texts(world, lambda x, p: p * (not x), 2)
    with pytest.raises(InputError, match="smallest entry -1"):
        edited_texts(world, lambda x, p: p * [1, -2], 2)
    with pytest.raises(InputError, match=r"2\^30 texts are more than"):
        edited_texts(world, lambda x, p: p, 30)
    with pytest.raises(InputError, match="length=0 must be at least 1"):
        edited_texts(world, lambda x, p: p, 0)
