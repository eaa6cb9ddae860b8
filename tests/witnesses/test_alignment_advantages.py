import numpy as np
import pytest
from witnesses.alignment import generalized_advantages, group_scores, leave_one_out_scores

from mathlm.errors import InputError


def test_three_tokens_by_hand():
    """γ = 1, λ = ½: δ = (0.5, 0, 1) from values (1, 1.5, 1.5) and a last reward of 2.5."""
    found = generalized_advantages([0.0, 0.0, 2.5], [1.0, 1.5, 1.5], 1.0, 0.5)
    assert found.tolist() == [0.75, 0.5, 1.0]


def test_without_trust_in_values_it_is_what_came_less_what_was_expected(rng):
    r, V = rng.normal(size=(2, 6))
    found = generalized_advantages(r, V, 0.9, 1.0)
    came = [sum(0.9 ** (k - t) * r[k] for k in range(t, 6)) for t in range(6)]
    assert found == pytest.approx(np.array(came) - V)


def test_with_full_trust_it_is_one_step(rng):
    r, V = rng.normal(size=(2, 4))
    found = generalized_advantages(r, V, 0.9, 0.0, last_value=2.0)
    assert found == pytest.approx(r + 0.9 * np.array([*V[1:], 2.0]) - V)


def test_group_scores_by_hand():
    assert group_scores([[1.0, 3.0]]).tolist() == [[-1.0, 1.0]]
    assert group_scores([[1.0, 3.0]], eps=1.0).tolist() == [[-0.5, 0.5]]


def test_equal_rewards_have_scores_of_0():
    assert group_scores([[0.1, 0.1, 0.1]]).tolist() == [[0.0, 0.0, 0.0]]


def test_leave_one_out_by_hand():
    assert leave_one_out_scores([[1.0, 2.0, 6.0]]).tolist() == [[-3.0, -1.5, 4.5]]


@pytest.mark.parametrize(
    "call",
    [
        lambda: group_scores([[1.0], [2.0]]),
        lambda: leave_one_out_scores([1.0, 2.0]),
        lambda: generalized_advantages([1.0], [1.0, 2.0], 1, 1),
        lambda: generalized_advantages([1.0], [1.0], 1, 1.5),
    ],
)
def test_what_cannot_be_is_refused(call):
    with pytest.raises(InputError):
        call()
