"""The game on rows written by hand: prices, what is shown, and the grade."""

import pytest

from lab.scaling_laws.game import ScalingGame
from mathlm.errors import InputError


def rows(seeds=(0, 1)):
    """Two widths; the loss of seed 1 is that of seed 0 times 1.02."""
    table = {8: [(1, 3.0), (4, 2.5)], 16: [(2, 3.2), (8, 2.0)]}
    return [
        {
            "width": w, "parameters": w, "seed": s, "flop": float(c),
            "tokens": 1024 * c // (w // 8),
            "loss": loss * 1.02**s,
        }
        for w, readings in table.items() for s in seeds for c, loss in readings
    ]  # fmt: skip


def test_a_run_shows_its_readings_up_to_what_was_paid_for():
    game = ScalingGame(rows(), purse=7, target=4)
    assert [r["loss"] for r in game.buy(16, 1)] == [3.2]
    assert game.left == 5
    assert len(game.buy(8, 4)) == 2
    assert game.left == 1
    assert sorted(r["loss"] for r in game.runs) == [2.5, 3.0, 3.2]


def test_a_longer_part_of_a_run_costs_the_difference_and_a_shorter_one_nothing():
    game = ScalingGame(rows(), purse=4, target=4)
    _ = game.buy(8, 1), game.buy(8, 4), game.buy(8, 1)
    assert game.left == 0
    assert len(game.runs) == 2


def test_what_the_purse_does_not_hold_or_nobody_sells_is_refused():
    game = ScalingGame(rows(), purse=3, target=4)
    with pytest.raises(
        InputError, match=r"takes 4\.00e\+00 FLOP more, and 3\.00e\+00 are left"
    ):
        game.buy(8, 4)
    with pytest.raises(InputError, match="no reading of width 24"):
        game.buy(24, 4)
    assert game.runs == []


def test_the_grade_by_hand():
    """At 4 FLOP width 8 has 2.5, width 16 the root of 3.2 · 2; each times the root of 1.02."""
    game = ScalingGame(rows(), purse=3, target=4)
    best, other = 2.5 * 1.02**0.5, (3.2 * 2.0) ** 0.5 * 1.02**0.5
    verdict = game.predict(16, 2.5, 2.6)
    assert (verdict.best, verdict.holds) == (8, True)
    assert verdict.measured == pytest.approx(other)
    assert verdict.lost == pytest.approx(other / best - 1)
    assert verdict.score == pytest.approx(0.1)
    missed = game.predict(8, 2.6, 2.7)
    assert missed.score == pytest.approx(0.1 + 40 * (2.6 - best))
    assert "misses it" in str(missed)
    assert "a worse choice" in str(verdict)


@pytest.mark.parametrize("guess", [(24, 2, 3), (8, 3, 2)])
def test_a_prediction_that_cannot_be_graded_is_refused(guess):
    with pytest.raises(InputError, match=r"the width must be one of \[8, 16\]"):
        ScalingGame(rows(), purse=3, target=4).predict(*guess)
