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


@pytest.mark.parametrize("order", [0, 1])
def test_every_part_of_a_block_is_named(order):
    named = texts(figures.block_flow().axes[order])
    assert {"attention", "feed-forward"} <= set(named)
    assert named.count("norm") == 2


def test_shapes_and_parameters_of_a_block_add_up():
    named = " ".join(texts(figures.block_shapes().axes[0]))
    assert named.count("(T\\times D)") == 3
    assert named.count("$2D$ parameters") == 2
    assert "$4D^2+4D$" in named
    assert "$8D^2+5D$" in named
