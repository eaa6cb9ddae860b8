import matplotlib.pyplot as plt
import numpy as np
import pytest

from lab.ingredients import figures


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")


def test_ingredient_costs_mark_what_is_worse_than_another_seed():
    fig = figures.ingredient_costs({"a": [2.0, 2.1], "b": [2.5]}, baseline=2.0, spread=0.1)
    labels = [label.get_text() for label in fig.axes[0].get_yticklabels()]
    dots = [line for line in fig.axes[0].get_lines() if line.get_marker() == "o"]
    assert labels == ["b", "a"]
    assert dots[1].get_xdata().tolist() == [2.0, 2.1]
    assert dots[0].get_color() != dots[1].get_color()


def test_ingredient_sweeps_draw_their_values_in_order():
    left, right = figures.ingredient_sweeps({2e-3: 3.0, 1e-3: 4.0}, {8: 3.5, 4: 3.2}).axes
    assert left.get_lines()[0].get_ydata().tolist() == [4.0, 3.0]
    assert right.get_lines()[0].get_ydata().tolist() == [3.2, 3.5]


def test_loss_figures_draw_their_values():
    fig = figures.loss_slices({"line": ([0, 1], [3.0, 2.0])}, "a", "b")
    assert fig.axes[0].get_lines()[0].get_ydata().tolist() == [3.0, 2.0]
    fig = figures.loss_surface([-1, 0, 1], [-1, 1], np.arange(6.0).reshape(2, 3))
    assert fig.axes[0].get_lines()[0].get_xdata().tolist() == [0]
