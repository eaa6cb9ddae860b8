import numpy as np
import pytest

from lab.calculus import figures
from mathlm.reference import Variable


def texts(ax):
    return [t.get_text() for t in ax.texts]


def test_secants_go_through_their_two_points():
    """x² from 3: for h = 1 the line is 9 + 7(x - 3)."""
    ax = figures.secants(lambda x: x**2, 3.0, 6.0, [1.0, 0.5]).axes[0]
    x, y = ax.lines[1].get_xydata().T
    np.testing.assert_allclose(y, 9 + 7 * (x - 3))
    assert ax.lines[2].get_xydata().tolist() == [[4, 16]]


def test_errors_are_drawn_as_given_and_zero_at_the_floor():
    ax = figures.difference_errors(
        np.array([1e-1, 1e-2]), {"a": np.array([1e-3, 0])}, {"a": 1e-2}
    ).axes[0]
    assert ax.lines[0].get_ydata().tolist() == [1e-3, 1e-17]
    assert ax.lines[1].get_xdata() == [1e-2, 1e-2]
    assert (ax.get_xscale(), ax.get_yscale()) == ("log", "log")


def test_changes_are_drawn_in_proportion():
    ax = figures.amplification(["x", "y"], [(0, 1), (0, 3)], [3]).axes[0]
    lengths = [line.get_xdata()[1] for line in ax.lines[1::2]]
    assert lengths[1] == pytest.approx(3 * lengths[0])
    assert "× 3" in texts(ax)


def test_the_arrow_on_the_map_starts_below_the_point_and_follows_the_gradient():
    ax = figures.landscape(lambda x, y: x**2 + y**2, (3.0, 4.0), (6.0, 8.0)).axes[0]
    point, arrow = ax.lines[1], ax.collections[-1]
    assert [float(c[0]) for c in point.get_data_3d()] == [3, 4, 25]
    tip, start = np.asarray(arrow._segments3d[0])  # drawn from the tip
    np.testing.assert_allclose(start, [3, 4, -35])  # 0.7 of the height below the lowest point
    np.testing.assert_allclose(tip - start, [1.5, 2.0, 0], atol=1e-12)  # (0.6, 0.8), times 2.5


def test_steepest_direction_is_marked_at_the_gradient():
    ax = figures.slope_by_direction(np.array([6.0, 8.0])).axes[0]
    circle = ax.lines[0].get_ydata()
    assert circle.max() == pytest.approx(10, rel=1e-4)
    assert (circle[0], circle[-1]) == (pytest.approx(6), pytest.approx(8))
    assert texts(ax) == ["gradient: 10 at 53.1°"]


def test_arrows_start_at_the_point_and_only_one_way_is_the_minimum():
    axes = figures.downhill({"round": (1, 1), "long": (1, 10)}, (3.0, 4.0)).axes
    ends = [[t.xy for t in ax.texts] for ax in axes]
    assert all(pair[0] == (0, 0) for pair in ends)
    np.testing.assert_allclose(ends[0][1], np.array([3, 4]) * (1 - 3.2 / 5))
    np.testing.assert_allclose(
        ends[1][1], np.array([3, 4]) - 3.2 * np.array([3, 40]) / 40.11, rtol=1e-3
    )


def test_graph_shows_values_gradients_and_local_slopes():
    """y = x · x + x at 3: value 12, slope 7; the edges into x · x carry 3 each."""
    x = Variable(3.0, "x")
    found = texts(figures.computation_graph(x * x + x).axes[0])
    assert {"x\n3", "×\n9", "+\n12", "7"} <= set(found)
    assert found.count("3") == 2


def test_graph_of_arrays_shows_shapes():
    x, w = Variable(np.ones((4, 2)), "x"), Variable(np.ones((3, 2)), "W")
    found = set(texts(figures.computation_graph((x @ w.T).sum(), show="shapes").axes[0]))
    assert {"x\n(4, 2)", "W\n(3, 2)", "T\n(2, 3)", "@\n(4, 3)", "Σ\n()"} <= found


def test_graph_runs_from_left_to_right():
    x = Variable(1.0, "x")
    ax = figures.computation_graph(np.exp(np.exp(x))).axes[0]
    place = {t.get_text().split("\n")[0]: t.get_position()[0] for t in ax.texts}
    assert place["x"] == 0
    assert sorted({t.get_position()[0] for t in ax.texts if "\n" in t.get_text()}) == [0, 1, 2]


def test_costs_are_drawn_as_given():
    left, right = figures.gradient_cost([1, 2], {"a": [1, 1.5]}, [1, 10], {"b": [3, 30]}).axes
    assert left.lines[0].get_ydata().tolist() == [1, 1.5]
    assert right.lines[0].get_ydata().tolist() == [3, 30]


def test_each_surface_has_its_panel():
    figure = figures.critical_points(
        {"bowl": lambda x, y: x**2 + y**2, "edge": lambda x, y: x * y}
    )
    assert [ax.get_title() for ax in figure.axes] == ["bowl", "edge"]


def test_curves_along_a_line_and_the_best_step_are_drawn():
    eta = np.array([0.0, 1.0, 2.0])
    ax = figures.line_through_loss(eta, 1 + (eta - 1) ** 2, eta, -eta, 1.0).axes[0]
    assert ax.lines[0].get_ydata().tolist() == [2, 1, 2]
    assert ax.lines[3].get_xdata() == [1.0, 1.0]


def test_negative_curvatures_are_shown_by_their_size():
    ax = figures.curvature_spectrum(np.array([3.0, -2.0, 5.0, -4.0, 0.0])).axes[0]
    assert ax.lines[0].get_ydata().tolist() == [5, 3]
    assert ax.lines[1].get_ydata().tolist() == [4, 2]


def test_limits_are_drawn_for_runs_that_come_near_them():
    run = {"step": np.array([0, 1]), "loss": np.ones(2), "sharpness": np.array([1.0, 2.0])}
    top = figures.edge_of_stability({0.1: run, 1.0: run}).axes[0]
    assert [line.get_ydata() for line in top.lines[1:]][1] == [2.0, 2.0]
    assert len(top.lines) == 3
