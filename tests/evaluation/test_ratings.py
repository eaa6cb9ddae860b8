"""Elo's scale by hand, and as gradient steps on the likelihood of Bradley and Terry."""

import math

import numpy as np
import pytest
import torch

from mathlm.align import fit_strengths
from mathlm.errors import InputError
from mathlm.evaluation import elo_expected, elo_ratings, elo_scale


def test_400_points_are_odds_of_ten_to_one():
    assert elo_expected(1400, 1000) == pytest.approx(10 / 11)
    assert elo_expected([1000, 1200], 1000) == pytest.approx([0.5, 1 / (1 + 10**-0.5)])
    assert elo_expected(1e6, 0) == 1
    assert elo_expected(0, 1e6) == 0


def test_two_games_by_hand():
    """1000 each: ± 8; then 1008 against 1000, a tie: E = 1/(1 + 10^(-8/400))."""
    found = elo_ratings([(0, 1, 1), (0, 2, 0.5)], 3)
    gap = 16 * (0.5 - 1 / (1 + 10 ** (-8 / 400)))
    assert found == pytest.approx([1008 + gap, 992, 1000 - gap])
    assert found.mean() == pytest.approx(1000)


@pytest.mark.parametrize("result", [0.0, 0.5, 1.0])
def test_a_game_is_a_gradient_step_on_the_log_likelihood(result):
    ratings = torch.tensor([1100.0, 950.0], dtype=torch.float64, requires_grad=True)
    win = torch.sigmoid((ratings[0] - ratings[1]) * math.log(10) / 400)
    likelihood = result * win.log() + (1 - result) * (1 - win).log()
    (slope,) = torch.autograd.grad(likelihood, ratings)
    step = 16 * (400 / math.log(10)) * slope
    expected = float(elo_expected(1100, 950))
    assert step.tolist() == pytest.approx([16 * (result - expected), -16 * (result - expected)])


def test_strengths_become_ratings():
    """3 wins of 4: a gap of log 3 nats, 400 log₁₀ 3 points."""
    strengths = fit_strengths([[0, 3], [1, 0]])
    ratings, errors = elo_scale(strengths)
    assert ratings[0] - ratings[1] == pytest.approx(400 * math.log10(3))
    assert ratings.mean() == pytest.approx(1000)
    # the variance of a log-odds is 1/3 + 1/1, and each has half of the gap
    assert errors[0] == pytest.approx(400 / math.log(10) * math.sqrt(4 / 3) / 2)


def test_a_constant_step_wanders_where_the_fit_of_all_games_stands():
    """Two equal players, 2,000 games: the ratings keep moving about, the fit comes to rest."""
    rng = np.random.default_rng(0)
    results = rng.integers(0, 2, 2000)
    played = [(0, 1, y) for y in results.tolist()]
    gaps = [np.subtract(*elo_ratings(played[:n], 2)) for n in range(1500, 2000, 20)]
    wins = results.sum()
    fitted, _ = elo_scale(fit_strengths([[0, wins], [2000 - wins, 0]]))
    assert np.std(gaps) > 10 > abs(fitted[0] - fitted[1]) / 2


@pytest.mark.parametrize(
    ("games", "message"),
    [
        ([(0, 1, 1), (0, 0, 1)], "game 1 is of 0 and 0"),
        ([(0, 3, 1)], "game 0 is of 0 and 3: need two different items of 0 to 2"),
        ([(0, 1, 2)], "game 0 has the result 2"),
    ],
)
def test_games_that_are_none_are_refused(games, message):
    with pytest.raises(InputError, match=message):
        elo_ratings(games, 3)
