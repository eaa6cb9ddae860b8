import matplotlib.pyplot as plt
import numpy as np
import pytest

from lab.pretraining import figures


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")


def test_bits_by_order_draws_each_order_and_each_compressor():
    fig = figures.bits_by_order([1, 2, 3], [4.0, 3.0, 2.5], {"xz": 2.4, "bz2": 2.5})
    lines = fig.axes[0].get_lines()
    assert lines[0].get_ydata().tolist() == [4.0, 3.0, 2.5]
    assert [line.get_ydata()[0] for line in lines[1:]] == [2.4, 2.5]


def test_bits_in_context_averages_over_octaves():
    """Contexts 1 | 2, 3 | 4 to 7 | 8 alone."""
    fig = figures.bits_in_context({"model": [8.0, 4.0, 2.0, 1.0, 2.0, 3.0, 2.0, 5.0]})
    line = fig.axes[0].get_lines()[0]
    assert line.get_xdata().tolist() == [1, 2, 4, 8]
    assert line.get_ydata().tolist() == [8.0, 3.0, 2.0, 5.0]


def test_bits_in_word_draws_one_bar_a_place_and_model():
    fig = figures.bits_in_word([1, 2], {"a": [4.0, 2.0], "b": [3.0, 1.0]})
    assert sorted(bar.get_height() for bar in fig.axes[0].patches) == [1.0, 2.0, 3.0, 4.0]


def test_schedule_and_long_run_draw_their_series():
    fig = figures.schedule_and_loss([1, 2], [0.1, 0.2], [8.0, 7.0], {"xz": 2.4})
    assert [ax.get_lines()[0].get_ydata()[0] for ax in fig.axes] == [0.1, 8.0]
    fig = figures.long_run([10, 100], [3.0, 2.0], [3.5, 2.5], {"6-gram": 2.1})
    assert np.array_equal(fig.axes[0].get_lines()[1].get_ydata(), [3.5, 2.5])


def test_collision_curves_put_the_measured_points_beside_their_curve():
    fig = figures.collision_curves([0.0, 1.0], {"r": [0.0, 1.0]}, {"r": ([0.5], [0.4])})
    curve, points = fig.axes[0].get_lines()
    assert curve.get_color() == points.get_color()
    assert (points.get_xdata()[0], points.get_ydata()[0]) == (0.5, 0.4)


def test_packed_mask_leaves_blank_who_may_not_attend():
    mask = np.array([[True, False], [False, True]])
    shown = figures.packed_mask(mask, [0, 1]).axes[0].images[0].get_array()
    assert np.ma.filled(shown, -1).tolist() == [[1, -1], [-1, 2]]


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
