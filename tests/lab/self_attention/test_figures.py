import numpy as np

from lab.self_attention import figures
from mathlm import plot


def test_attention_steps_writes_every_entry():
    fig = figures.attention_steps(
        {"S": [[0.0, 2.0], [1.0, 0.5]], "A": [[0.1, 0.9], [0.6, 0.4]]}
    )
    texts = [[t.get_text() for t in ax.texts] for ax in fig.axes]
    assert texts == [["0.00", "2.00", "1.00", "0.50"], ["0.10", "0.90", "0.60", "0.40"]]


def test_influence_maps_leave_zeros_white_and_share_one_scale():
    maps = {"all": np.ones((2, 2)), "causal": np.tril(np.full((2, 2), 5.0))}
    images = [ax.images[0] for ax in plot.influence_maps(maps).axes[:2]]
    assert images[1].get_array().mask.tolist() == [[False, True], [False, False]]
    assert {image.norm.vmax for image in images} == {5.0}


def test_peeking_runs_mark_what_is_left_when_the_future_is_hidden():
    curves = {"causal": [3.0, 2.0], "sees": [3.0, 0.5]}
    ax = figures.peeking_runs([0, 1], curves, {"causal": 2.0, "sees": 4.0}).axes[0]
    assert [line.get_ydata()[0] for line in ax.get_lines()] == [3.0, 2.0, 3.0, 4.0]
    assert ax.get_ylim()[1] > 4.0


def test_caught_bugs_draw_a_square_for_each_failing_check():
    ax = figures.caught_bugs(["a", "b"], ["x", "y"], [[True, False], [True, True]]).axes[0]
    (squares,) = [line for line in ax.get_lines() if line.get_marker() == "s"]
    assert squares.get_xydata().tolist() == [[0, 0], [0, 1], [1, 1]]


def test_cost_by_length_is_logarithmic_on_both_axes():
    fig = figures.cost_by_length([1, 10], {"plain": [1.0, 100.0]}, {"plain": [2.0, 20.0]})
    assert {(ax.get_xscale(), ax.get_yscale()) for ax in fig.axes} == {("log", "log")}
    assert [ax.get_lines()[0].get_ydata()[1] for ax in fig.axes] == [100.0, 20.0]


def test_reach_by_distance_starts_at_distance_zero():
    ax = figures.reach_by_distance({"rnn": [1.0, 0.5, 0.25]}).axes[0]
    assert ax.get_lines()[0].get_xdata().tolist() == [0, 1, 2]
    assert ax.get_yscale() == "log"


def test_head_maps_name_the_tokens_below_and_on_the_left():
    words = ["the", "dog"]
    fig = plot.head_maps(words, {name: np.eye(2) for name in "abcd"})
    for ax in fig.axes[2:]:
        assert [t.get_text() for t in ax.get_xticklabels()] == words
    for ax in fig.axes[::2]:
        assert [t.get_text() for t in ax.get_yticklabels()] == words


def test_head_grid_shows_every_table_on_the_scale_from_0_to_1():
    fig = figures.head_grid({"a": np.zeros((3, 2)), "b": np.full((3, 2), 0.4)})
    images = [ax.images[0] for ax in fig.axes[:2]]
    assert [image.get_clim() for image in images] == [(0, 1), (0, 1)]
    assert [image.get_array().shape for image in images] == [(3, 2), (3, 2)]


def test_sink_by_layer_draws_percent_above_and_norms_below():
    top, bottom = figures.sink_by_layer([0.0, 0.5], [1.0, 100.0]).axes
    assert [bar.get_height() for bar in top.patches] == [0.0, 50.0]
    assert bottom.get_lines()[0].get_ydata().tolist() == [1.0, 100.0]


def test_loss_bars_write_each_loss_beside_its_bar():
    ax = figures.loss_bars({"whole": 3.0, "cut": 6.5}).axes[0]
    assert [bar.get_width() for bar in ax.patches] == [3.0, 6.5]
    assert [t.get_text().strip() for t in ax.texts] == ["3.00", "6.50"]
