import numpy as np
import pytest

from lab.fine_tuning import figures


def series(ax):
    return [line.get_ydata() for line in ax.get_lines() if len(line.get_ydata()) > 2]


def test_parts_of_an_answer_stand_in_pairs():
    fig = figures.answer_by_place({"first": 4.0, "end": 6.0}, {"first": 2.0, "end": 0.5})
    heights = [bar.get_height() for bar in fig.axes[0].patches]
    assert heights == [4.0, 6.0, 2.0, 0.5]
    assert [t.get_text() for t in fig.axes[0].get_xticklabels()] == ["first", "end"]


def test_new_losses_are_on_the_left_and_old_ones_on_the_right():
    fig = figures.losses_by_step(
        [0, 1, 2], {"full": [3.0, 2.0, 1.0]}, {"full": [2.0, 2.1, 2.4]}
    )
    left, right = fig.axes
    assert series(left)[0].tolist() == [3.0, 2.0, 1.0]
    assert series(right)[0].tolist() == [2.0, 2.1, 2.4]
    assert "bits/byte" in right.get_ylabel()


def test_gain_runs_to_the_right_and_forgetting_upward():
    curves = {"steps": ([0.1, 0.2, 0.3], [0.0, 0.1, 0.4])}
    fig = figures.gain_and_forgetting(curves, {"LoRA": (0.25, 0.05)})
    line, point = fig.axes[0].get_lines()[:2]
    assert (list(line.get_xdata()), list(line.get_ydata())) == curves["steps"]
    assert (list(point.get_xdata()), list(point.get_ydata())) == ([0.25], [0.05])


def test_both_losses_of_a_line_and_the_parabola_are_drawn():
    t = np.linspace(0, 1, 5)
    fig = figures.losses_on_line(t, 2 - t, 1 + t**2, 1 + t**2 / 2)
    new, old = fig.axes
    np.testing.assert_array_equal(series(new)[0], 2 - t)
    np.testing.assert_array_equal(series(old), [1 + t**2, 1 + t**2 / 2])


def test_a_divergence_has_its_interval():
    fig = figures.divergence_on_line(
        [0.0, 0.5, 1.0], [0.0, 0.1, 0.3], [0.0, 0.01, 0.02], [0, 0.08, 0.3]
    )
    bars = fig.axes[0].collections[0].get_segments()
    assert bars[2][:, 1] == pytest.approx([0.28, 0.32])


def test_bowls_have_their_minima_and_ways():
    path = np.array([[0.0, 0.0], [0.5, 0.2], [1.0, 0.5]])
    fig = figures.two_bowls((np.eye(2), np.array([1.0, 0.5])), np.diag([2.0, 1.0]), {"a": path})
    lines = fig.axes[0].get_lines()
    stars = [(x.get_xdata()[0], x.get_ydata()[0]) for x in lines if x.get_marker() == "*"]
    assert stars == [(1.0, 0.5), (0.0, 0.0)]
    np.testing.assert_array_equal(lines[-1].get_xydata(), path)


def test_shares_and_sweeps_have_logarithmic_axes():
    for fig in (
        figures.kept_by_curvature([0.1, 1.0, 10.0], {"pull": [0.1, 0.5, 0.9]}),
        figures.loss_by_examples([8, 64, 512], {"pretrained": [3.0, 2.0, 1.5]}),
        figures.step_size_sweep([1e-4, 1e-3, 1e-2], {"full": [0, 1, 2]}, {"full": [0, 0, 3]}),
    ):
        assert all(ax.get_xscale() == "log" for ax in fig.axes)
        assert all(len(series(ax)) == 1 for ax in fig.axes)
