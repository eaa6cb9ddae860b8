import json
import math

import numpy as np
import pytest

from lab.reward_models import best_of_n_world as world
from lab.reward_models import over_optimization
from mathlm.align import fit_linear_reward
from mathlm.errors import InputError


def test_the_largest_of_two_has_the_mean_known_in_closed_form():
    """E max(X, Y) = 1/sqrt(pi) for two standard normal numbers; its square has mean 1."""
    mean, square = world.normal_maximum(2)
    assert mean == pytest.approx(1 / math.sqrt(math.pi), rel=1e-9)
    assert square == pytest.approx(1.0, rel=1e-9)
    assert world.normal_maximum(1) == pytest.approx((0.0, 1.0), abs=1e-9)


def test_the_largest_of_three_has_three_halves_of_that_of_two():
    """E max of three standard normal numbers = 3 / (2 sqrt(pi)); David and Nagaraja (2003)."""
    assert world.normal_maximum(3)[0] == pytest.approx(1.5 / math.sqrt(math.pi), rel=1e-9)


def test_the_gold_reward_has_mean_zero_and_bends_down_along_length_only():
    taste = world.standard_taste(0.8)
    z = np.array([[2.0, 1.0, 0.0, 0.0], [-2.0, 1.0, 0.0, 0.0]])
    np.testing.assert_allclose(taste.gold(z), [2.0 + 0.3 - 1.2, -2.0 + 0.3 - 1.2])
    assert abs(taste.gold(taste.answers(200_000)).mean()) < 0.02


def test_both_rewards_are_predicted_within_the_noise_of_a_hundred_thousand_answers():
    taste, proxy = world.standard_taste(0.8), np.array([0.7, -0.2, 0.4, 0.1])
    z = taste.answers(100_000, seed=3)
    for n in (1, 4, 64):
        seen = world.measured(z @ proxy, taste.gold(z), n)
        np.testing.assert_allclose(seen, world.predicted(taste, proxy, n), atol=0.03)


def test_chosen_answers_are_better_more_often_by_the_probability_of_the_model():
    taste = world.Taste(np.array([1.0]), 0.0)
    chosen, rejected = taste.compared(40_000, seed=1)
    difference = (chosen - rejected)[:, 0]
    near = np.abs(np.abs(difference) - 1) < 0.1
    assert (difference[near] > 0).mean() == pytest.approx(1 / (1 + math.exp(-1)), abs=0.02)


def test_members_are_learned_from_other_draws_of_the_same_comparisons():
    chosen, rejected = world.standard_taste().compared(200)
    members = world.resampled(chosen, rejected, members=3, ridge=0.1)
    whole = fit_linear_reward(chosen, rejected, 0.1)
    assert len({tuple(w) for w in members}) == 3
    assert (np.abs(members - whole.weights) < 5 * whole.standard_errors).all()


def test_a_proxy_without_weights_and_the_best_of_none_are_refused():
    with pytest.raises(InputError, match="prefers nothing"):
        world.predicted(world.standard_taste(), np.zeros(4), 2)
    with pytest.raises(InputError, match="n=0 must be at least 1"):
        world.normal_maximum(0)


def test_the_recipe_records_its_table(tmp_path):
    path = tmp_path / "r.json"
    rows = over_optimization.main(
        ["--answers", "200", "--comparisons", "50", "--record", str(path)]
    )
    assert [row["n"] for row in rows] == [1, 2, 4, 8, 16, 64]
    assert json.loads(path.read_text())["rows"][-1]["measured"] == list(rows[-1]["measured"])
