"""Figures of explanations: labels, what is drawn where, and room on a phone."""

import numpy as np
import pytest

from lab.explanations import figures

ROW = ([10, 100], [0.5, 0.2], [0.6, 0.1])
FIGURES = {
    "errors": lambda: figures.falling_errors(
        {"by data": {"s = 2": ROW}, "by size": {"s = 2": ROW}},
        ["tokens", "weights"],
        "loss [bits]",
    ),
    "exponents": lambda: figures.exponents_foretold({"data": ([0.5, 1.0], [0.4, 1.1])}),
    "grokking": lambda: figures.two_accuracies(
        {"decay": {"step": [0, 5], "train": [0.1, 1.0], "test": [0.0, 0.5]}}
    ),
    "frequencies": lambda: figures.frequency_maps(
        {"before": np.eye(3)[:, [2, 0, 1]], "after": np.eye(3)}
    ),
    "metrics": lambda: figures.metrics_of_runs(
        [1, 10],
        {"token": [0.5, 0.9], "exact": [0, 0.6], "independent": [0.1, 0.7], "loss": [2, 1]},
        "step",
    ),
    "peak": lambda: figures.interpolation_peak(
        [5, 10], {"drawn": [[1, 9], [2, 7], [4, 8]]}, ([5, 12], [2, 7]), 10
    ),
    "stuck": lambda: figures.stuck_by_width([1, 2, 4], {"relu": [1.0, 0.5, 0.2]}),
    "ranks": lambda: figures.known_by_rank({2: [1, 1, -1, 1, -1, -1, 1, -1]}),
}


@pytest.mark.parametrize("draw", FIGURES.values(), ids=FIGURES)
def test_figures_have_labels_and_fit_a_phone(draw):
    figure = draw()
    assert all(ax.get_xlabel() or ax.get_label() == "<colorbar>" for ax in figure.axes)
    assert figure.axes[0].get_ylabel()
    assert figure.get_figwidth() <= 6.4


def test_points_are_what_was_measured_and_lines_what_was_foretold():
    line, points = FIGURES["errors"]().axes[1].lines
    assert line.get_xydata().tolist() == [[10, 0.6], [100, 0.1]]
    assert points.get_xydata().tolist() == [[10, 0.5], [100, 0.2]]


def test_the_diagonal_is_where_both_exponents_are_equal():
    diagonal = FIGURES["exponents"]().axes[0].lines[0].get_xydata()
    np.testing.assert_array_equal(diagonal[:, 0], diagonal[:, 1])


def test_ranks_are_put_together_between_powers_of_two():
    """Rank 1; ranks 2 and 3; ranks 4 to 7: shares 1, 1/2, 1/2."""
    curve, capacity, _ = FIGURES["ranks"]().axes[0].lines
    assert curve.get_xydata().tolist() == [[1.5, 1], [3, 0.5], [6, 0.5]]
    assert capacity.get_xdata()[0] == 4


def test_units_stand_in_the_order_of_their_frequency():
    image = FIGURES["frequencies"]().axes[0].images[0]
    np.testing.assert_array_equal(image.get_array(), np.eye(3))


def test_the_middle_draw_is_shown_and_the_peak_is_marked():
    line, drawn, threshold = FIGURES["peak"]().axes[0].lines
    np.testing.assert_array_equal(line.get_xydata(), [[5, 2], [np.nan] * 2, [12, 7]])
    assert drawn.get_xydata().tolist() == [[5, 2], [10, 8]]
    assert threshold.get_xdata()[0] == 10


def test_a_width_at_which_all_fail_has_no_point_on_a_log_axis():
    for ax in FIGURES["stuck"]().axes:
        np.testing.assert_array_equal(ax.lines[0].get_ydata(), [np.nan, 0.5, 0.2])


def test_exact_answers_stand_with_the_sharp_metrics():
    sharp, smooth = FIGURES["metrics"]().axes
    assert sharp.lines[1].get_ydata().tolist() == [0, 0.6]
    assert smooth.lines[0].get_ydata().tolist() == [2, 1]
