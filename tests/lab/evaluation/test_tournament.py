"""The tournament: results follow the true ratings, and the fit of all games has no order."""

import numpy as np
import pytest

from lab.evaluation import tournament
from mathlm.evaluation import elo_scale


def test_nobody_plays_alone_and_results_follow_the_ratings():
    games = tournament.play(np.array([1400.0, 1000.0]), 4000, seed=0)
    assert all(first != second for first, second, _ in games)
    won = [y if first == 0 else 1 - y for first, _, y in games]
    assert np.mean(won) == pytest.approx(10 / 11, abs=0.02)  # 400 points are ten to one


def test_pairs_are_drawn_evenly():
    games = tournament.play(tournament.TRUE, 30_000, seed=1)
    pairs = np.zeros((6, 6))
    for first, second, _ in games:
        pairs[first, second] += 1
    assert pairs[~np.eye(6, dtype=bool)] == pytest.approx(np.full(30, 1000), abs=130)


def test_the_order_moves_elo_and_not_the_fit():
    games = tournament.play(tournament.TRUE, 300, seed=2)
    spread = tournament.in_many_orders(games, 6, 32, orders=8, seed=0)
    assert spread.stds.min() > 5
    assert 0 <= spread.best <= 1
    forth, back = (tournament.fitted(order, 6).values for order in (games, games[::-1]))
    np.testing.assert_allclose(forth, back, atol=1e-9)


def test_the_fit_finds_the_true_ratings_within_its_errors():
    games = tournament.play(tournament.TRUE, 20_000, seed=3)
    ratings, errors = elo_scale(tournament.fitted(games, 6))
    assert np.abs(ratings - tournament.TRUE).max() < 4 * errors.max() < 40


def test_two_models_on_questions_have_the_odds_of_their_wins():
    """12 questions are answered by the first alone, 4 by the second alone: odds of 3 to 1."""
    right = np.repeat([[1, 1], [1, 0], [0, 1], [0, 0]], [5, 12, 4, 9], axis=0).T.astype(bool)
    first, second = tournament.on_questions(right).values
    assert first - second == pytest.approx(np.log(3), abs=1e-6)
