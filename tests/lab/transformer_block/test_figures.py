import numpy as np
import pytest
from numpy.testing import assert_allclose

from lab.transformer_block import figures


def texts(ax):
    return [t.get_text() for t in ax.texts]


def test_the_gap_of_a_bend_is_half_of_the_violated_sum():
    curves = {"line": lambda x: 2 * x, "bent": lambda x: np.maximum(2 * x, 0)}
    straight, bent = figures.bend(np.linspace(-2, 2, 9), curves, (-1, 1)).axes
    assert_allclose(straight.lines[2].get_ydata(), [0, 0])
    assert_allclose(bent.lines[2].get_ydata(), [0, 1])


def test_each_network_has_a_panel_and_all_corners():
    x, y = np.array([[0.0, 0], [0, 1], [1, 0], [1, 1]]), np.array([0, 1, 1, 0])
    figure = figures.switches(x, y, {"sum": lambda x: x.sum(1, keepdims=True)})
    off, on = figure.axes[0].collections[-2:]
    assert_allclose(off.get_offsets(), [[0, 0], [1, 1]])
    assert_allclose(on.get_offsets(), [[0, 1], [1, 0]])


def test_the_threshold_stands_in_the_last_space_only():
    points, defective = np.array([[1.0, 1], [2, 1]]), np.array([True, False])
    first, last = figures.factory(
        {"a": points, "b": 2 * points}, defective, (0.7, 1.3), 0.4
    ).axes
    assert len(first.lines) == 0
    assert last.lines[0].get_ydata()[0] == 0.4


def test_moved_points_have_arrows_and_marked_ones_names():
    def push(x):
        return x + np.maximum(x[:, :1] - x[:, 1:], 0) / 4 * [1, -1]

    ax = figures.projection_cycle(push, np.array([[4.0, 2]]), 5).axes[0]
    assert texts(ax) == ["(4, 2) → (4.5, 1.5)"]
    assert_allclose(ax.lines[0].get_xydata()[:, 0] <= ax.lines[0].get_xydata()[:, 1], True)


def test_output_size_is_drawn_for_every_epsilon():
    ax = figures.epsilon_effect(
        np.array([0.1, 1]), {1e-5: [0.5, 1.0]}, {1e-5: [0.7, 1.0]}
    ).axes[0]
    assert_allclose([line.get_ydata() for line in ax.lines], [[0.5, 1], [0.7, 1]])


def test_vectors_are_seen_along_the_diagonal():
    """(1, 1, 1) itself is seen as the origin; (1, −1, 0) at √2 to the right."""
    points = np.array([[1.0, 1, 1], [1, -1, 0]])
    ax = figures.norm_geometry(points, {"same": points}).axes[0]
    assert_allclose(ax.lines[-1].get_xydata(), [[0, 0], [np.sqrt(2), 0]], atol=1e-12)


def test_only_the_post_norm_block_has_norms_on_the_line_of_sums():
    post, pre = figures.block_flow().axes
    on_the_line = [
        [t.get_text() for t in ax.texts if t.get_position()[0] == 0] for ax in (post, pre)
    ]
    assert on_the_line == [["x", "y", "+", "norm", "+", "norm"], ["x", "y", "+", "+"]]


def test_gradients_stand_left_and_spreads_right():
    runs = {"pre-norm": {"gradient": [2.0, 1], "spread": [0.5, 0.0]}}
    left, right = figures.depth_panels(runs).axes
    assert_allclose(left.lines[0].get_ydata(), [2, 1])
    assert_allclose(right.lines[0].get_ydata(), [0.5, 1e-16])


def test_the_better_run_is_drawn_and_infinity_at_the_edge():
    runs = [
        {"kind": "a", "depth": 4, "warmup": 0.0, "held_out": loss} for loss in (3.0, 2.5, "inf")
    ]
    runs += [{"kind": "a", "depth": 4, "warmup": 0.25, "held_out": "inf"}]
    ax = figures.depth_training(runs, 3.28).axes[0]
    assert [line.get_xdata().tolist() for line in ax.lines[:2]] == [[2.5], [4.2]]


@pytest.mark.parametrize("order", [0, 1])
def test_every_part_of_a_block_is_named(order):
    named = texts(figures.block_flow().axes[order])
    assert {"attention", "feed-forward"} <= set(named)
    assert named.count("norm") == 2
