import matplotlib.pyplot as plt
import numpy as np
import pytest

from lab.ingredients import figures


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")


def test_ingredient_costs_mark_what_is_worse_than_another_seed():
    fig = figures.ingredient_costs({"a": [0.0, 0.1], "b": [0.5]}, spread=0.1)
    labels = [label.get_text() for label in fig.axes[0].get_yticklabels()]
    dots = [line for line in fig.axes[0].get_lines() if line.get_marker() == "o"]
    assert labels == ["b", "a"]
    assert dots[1].get_xdata().tolist() == [0.0, 0.1]
    assert dots[0].get_color() != dots[1].get_color()


def test_costs_by_step_size_draw_means_in_order_and_every_seed():
    fig = figures.costs_by_step_size({"a": {2e-3: [3.0, 3.2], 1e-3: [4.0]}})
    mean, *seeds = fig.axes[0].get_lines()
    assert mean.get_ydata() == pytest.approx([4.0, 3.1])
    assert [list(line.get_ydata()) for line in seeds] == [[4.0], [3.0, 3.2]]


def test_loss_figures_draw_their_values():
    fig = figures.loss_slices({"line": ([0, 1], [3.0, 2.0])}, "a", "b")
    assert fig.axes[0].get_lines()[0].get_ydata().tolist() == [3.0, 2.0]
    fig = figures.loss_surface([-1, 0, 1], [-1, 1], np.arange(6.0).reshape(2, 3))
    assert fig.axes[0].get_lines()[0].get_xdata().tolist() == [0]
