"""Metrics of one ability: by hand, by the binomial law, and what correlation does."""

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose

from lab.explanations.emergence import (
    answer_scores,
    enough_steps_right,
    exact_match_from_loss,
    sigmoid_accuracy,
    step_accuracy_needed,
    whole_task_accuracy,
)
from mathlm.errors import InputError


def test_three_steps_of_60_and_90_per_cent():
    assert_allclose(whole_task_accuracy([0.6, 0.9], 3), [0.216, 0.729], rtol=1e-14)


def test_the_step_accuracy_gives_the_whole_back():
    assert step_accuracy_needed(0.729, 3) == pytest.approx(0.9, rel=1e-14)


def test_nine_of_ten_steps_by_hand():
    """10 a⁹ (1 - a) + a¹⁰ at a = 0.8 and 0.9."""
    assert_allclose(
        enough_steps_right([0.8, 0.9], 10, 9), [0.37580963840, 0.7360989291], rtol=1e-9
    )


def test_all_steps_and_no_step():
    assert_allclose(enough_steps_right([0.3], 4, 4), whole_task_accuracy([0.3], 4), rtol=1e-14)
    assert_allclose(enough_steps_right([0.3], 4, 0), 1, rtol=1e-14)


def test_enough_steps_are_those_of_draws(rng):
    drawn = (rng.uniform(size=(100_000, 6)) < 0.7).sum(1) >= 4
    assert drawn.mean() == pytest.approx(enough_steps_right([0.7], 6, 4)[0], abs=0.006)


def test_a_loss_of_log_two_halves_with_each_token():
    assert_allclose(exact_match_from_loss([math.log(2)], 3), [1 / 8], rtol=1e-14)


def test_a_sigmoid_at_its_middle_and_far_away():
    found = sigmoid_accuracy([2, 1e-9, 4, 4000], middle=2, slope=math.log(3) / 2, chance=0.2)
    assert_allclose(found, [0.6, 0.8, 0.4, 0.2], atol=1e-8)


def test_scores_of_three_answers_by_hand():
    right = np.array([[True, True], [True, False], [False, False]])
    logp = -np.array([[0.1, 0.2], [0.3, 1.0], [2.0, 3.0]])
    expected = {"token": 0.5, "exact": 1 / 3, "loss": 1.1, "independent": 2 / 9}
    assert answer_scores(right, logp) == pytest.approx(expected)


def test_mistakes_that_come_together_leave_more_answers_whole():
    right = np.array([[True] * 3] * 2 + [[False] * 3] * 2)
    found = answer_scores(right, np.zeros((4, 3)))
    assert (found["exact"], found["independent"]) == (0.5, 0.125)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: whole_task_accuracy([1.1], 2), "between 0 and 1"),
        (lambda: whole_task_accuracy([math.nan], 2), "between 0 and 1"),
        (lambda: whole_task_accuracy([0.5], 0), "0 steps"),
        (lambda: step_accuracy_needed(0, 2), "whole=0"),
        (lambda: enough_steps_right([0.5], 3, 4), "needed=4"),
        (lambda: exact_match_from_loss([-1], 3), "loss"),
        (lambda: sigmoid_accuracy([1], 1, -1), "slope=-1"),
        (lambda: answer_scores(np.ones((2, 2), bool), np.ones((2, 2))), "0 or less"),
    ],
    ids=["above", "nan", "no step", "zero", "needed", "loss", "slope", "logp"],
)
def test_careless_arguments_are_named(call, words):
    with pytest.raises(InputError, match=words):
        call()
