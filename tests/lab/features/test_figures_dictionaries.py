"""Figures on dictionaries and on steering show what they are given."""

import matplotlib.pyplot as plt
import numpy as np
import pytest

from lab.features import figures


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")


def drawn(ax, label):
    line = next(line for line in ax.lines if line.get_label() == label)
    return np.asarray(line.get_xdata(), float), np.asarray(line.get_ydata(), float)


def test_responses_stand_beside_the_amount_itself():
    ax = figures.code_responses([0, 1, 2], {"price": [0, 0.5, 1.5]}).axes[0]
    assert drawn(ax, "price")[1].tolist() == [0, 0.5, 1.5]
    assert drawn(ax, "as much as there is")[1].tolist() == [0, 1, 2]


def test_cosines_fall_from_left_to_right():
    ax = figures.matched_directions({"a": [0.2, 0.9, 0.5]}).axes[0]
    x, y = drawn(ax, "a")
    assert x.tolist() == [1, 2, 3]
    assert y.tolist() == [0.9, 0.5, 0.2]


def test_shares_are_written_at_the_axis():
    ax = figures.found_by_share([0.02, 0.1], {"a": [1.0, 0.4]}).axes[0]
    assert [t.get_text() for t in ax.get_xticklabels()] == ["2%", "10%"]
    assert drawn(ax, "a")[1].tolist() == [1.0, 0.4]


def test_the_first_question_stands_on_top():
    ax = figures.unit_agreement(["p", "q"], {"a": [0.8, 0.3], "b": [0.1, 0.2]}).axes[0]
    x, y = drawn(ax, "a")
    assert x[y.argmax()] == 0.8
    assert [t.get_text() for t in ax.get_yticklabels()] == ["p", "q"]


def test_effects_are_on_the_left_and_costs_on_the_right():
    left, right = figures.steering_course(
        [0, 1], {"a": [0.1, 0.7]}, {"a": [0.0, 0.3]}, ("share", "nats")
    ).axes
    assert drawn(left, "a")[1].tolist() == [0.1, 0.7]
    assert drawn(right, "a")[1].tolist() == [0.0, 0.3]
    assert (left.get_ylabel(), right.get_ylabel()) == ("share", "nats")
