import math

import numpy as np
import pytest
from witnesses.alignment import (
    bradley_terry,
    bradley_terry_backward,
    clipped_objective,
    clipped_objective_backward,
    direct_preference,
    direct_preference_backward,
    identity_preference,
    identity_preference_backward,
)

from mathlm.errors import InputError
from mathlm.reference import numerical_vjp

PREFERENCES = pytest.mark.parametrize(
    ("forward", "backward"),
    [
        (direct_preference, direct_preference_backward),
        (identity_preference, identity_preference_backward),
    ],
    ids=["dpo", "ipo"],
)


def test_equal_rewards_surprise_by_one_bit():
    loss, _ = bradley_terry([1.0], [1.0])
    assert loss[0] == math.log(2)


def test_a_margin_of_two_is_won_88_times_of_100():
    loss, _ = bradley_terry([1.5], [-0.5])
    assert math.exp(-loss[0]) == pytest.approx(1 / (1 + math.exp(-2)))


def test_large_margins_overflow_nothing():
    assert bradley_terry([0.0, 0.0], [-1000.0, 1000.0])[0].tolist() == [0.0, 1000.0]


@pytest.mark.parametrize("side", [0, 1])
def test_bradley_terry_has_its_gradient(rng, side):
    rewards, dy = rng.normal(size=(2, 5)), rng.normal(size=5)

    def f(x):
        return bradley_terry(*(x if i == side else rewards[i] for i in range(2)))[0]

    found = bradley_terry_backward(dy, bradley_terry(*rewards)[1])[side]
    assert found == pytest.approx(numerical_vjp(f, rewards[side], dy), abs=1e-8)


def test_losses_by_hand():
    """Differences of log-ratios 0, 10, 20 at β = 0.1."""
    h, zero = np.array([0.0, 10.0, 20.0]), np.zeros(3)
    dpo, _ = direct_preference((h, zero), (zero, zero), 0.1)
    ipo, _ = identity_preference((h, zero), (zero, zero), 0.1)
    assert dpo == pytest.approx([0.6931471806, 0.3132616875, 0.1269280110], abs=1e-10)
    assert ipo == pytest.approx([25, 25, 225])


@PREFERENCES
@pytest.mark.parametrize("side", [0, 1])
def test_preference_losses_have_their_gradients(rng, forward, backward, side):
    logp, ref, dy = rng.normal(size=(2, 4)), rng.normal(size=(2, 4)), rng.normal(size=4)

    def f(x):
        return forward(tuple(x if i == side else logp[i] for i in range(2)), tuple(ref), 0.3)[0]

    found = backward(dy, forward(tuple(logp), tuple(ref), 0.3)[1])[side]
    assert found == pytest.approx(numerical_vjp(f, logp[side], dy), abs=1e-8)


def test_clipping_by_hand():
    old = np.array([0.5, 0.8, 1.2])
    for new, A, expected in (
        (old + 1, 1.0, -1.2),
        (old - 1, 1.0, -math.exp(-1)),
        (old + 1, -1.0, math.e),
        (old - 1, -1.0, 0.8),
    ):
        loss, _ = clipped_objective(new, old, np.full(3, A))
        assert loss == pytest.approx([expected] * 3, abs=1e-12)


def test_a_cut_ratio_has_no_gradient_and_another_that_of_the_ratio(rng):
    old, dy = rng.normal(size=40), rng.normal(size=40)
    new, A = old + rng.uniform(-0.6, 0.6, 40), rng.normal(size=40)
    found = clipped_objective_backward(dy, clipped_objective(new, old, A)[1])
    slope = numerical_vjp(lambda x: clipped_objective(x, old, A)[0], new, dy)
    assert found == pytest.approx(slope, abs=1e-8)
    assert 5 < (found == 0).sum() < 35


@pytest.mark.parametrize(
    "call",
    [
        lambda: bradley_terry([1.0], [1.0, 2.0]),
        lambda: bradley_terry([math.nan], [1.0]),
        lambda: direct_preference((np.zeros(1),) * 2, (np.zeros(1),) * 2, 0),
        lambda: clipped_objective([0.0], [0.0], [1.0], 1.0),
        lambda: bradley_terry_backward([1.0, 1.0], bradley_terry([0.0], [1.0])[1]),
    ],
)
def test_what_cannot_be_is_refused(call):
    with pytest.raises(InputError):
        call()
