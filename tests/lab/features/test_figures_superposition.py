"""Figures of probes and of superposition: labels, what is drawn where, and room on a phone."""

import numpy as np
import pytest

from lab.features import figures

DEPTHS = {0: (0.8, 0.7, 0.85), 2: (0.9, 0.88, 0.95)}
FIGURES = {
    "probes": lambda: figures.probe_layers(
        {"parts": {"task": DEPTHS}, "names": {"task": DEPTHS}},
        {"parts": {"commonest": 0.3}, "names": {"commonest": 0.7}},
    ),
    "sharing": lambda: figures.sharing_losses(
        [0.1, 0.9], [0.0, 0.2], {"alone": [0.03, 0.1], "shared": [0.0, 0.3]}, 4 / 7
    ),
    "arrows": lambda: figures.feature_arrows(
        {"p = 1": np.eye(2), "rare": -np.eye(2)}, [1, 0.5]
    ),
    "held": lambda: figures.features_held([1.0, 0.1], {5: [5, 10], 10: [10, 20]}, 40),
    "readout": lambda: figures.readout_curves(
        [2, 4], {"threshold": [1.0, 0.5]}, ([1, 2, 3], [1.0, 0.9, 0.7]), 2.5
    ),
}


@pytest.mark.parametrize("draw", FIGURES.values(), ids=FIGURES)
def test_figures_have_labels_and_fit_a_phone(draw):
    figure = draw()
    assert all(ax.get_xlabel() for ax in figure.axes)
    assert figure.axes[0].get_ylabel()
    assert figure.get_figwidth() <= 6.4


def test_probes_show_the_ends_of_their_intervals():
    bars = FIGURES["probes"]().axes[0].containers[0]
    points, _, (stems,) = bars
    assert points.get_ydata().tolist() == [0.8, 0.9]
    ends = [segment[:, 1].tolist() for segment in stems.get_segments()]
    np.testing.assert_allclose(ends, [[0.7, 0.85], [0.88, 0.95]])


def test_arrows_are_the_columns():
    """Columns (1, 0) and (0, 1): a line from the origin and a point for each."""
    lines = FIGURES["arrows"]().axes[0].lines
    assert [line.get_xydata().tolist() for line in lines] == [
        [[0, 0], [1, 0]], [[1, 0]], [[0, 0], [0, 1]], [[0, 1]],
    ]  # fmt: skip


def test_each_width_has_a_level_line_of_its_own():
    lines = FIGURES["held"]().axes[0].lines
    assert [line.get_ydata()[0] for line in lines] == [5, 5, 10, 10]


def test_the_rule_and_the_trials_stand_where_they_should():
    *_, trials, rule = FIGURES["readout"]().axes[0].lines
    assert trials.get_xydata().tolist() == [[2, 1.0], [4, 0.5]]
    assert rule.get_xdata()[0] == 2.5
