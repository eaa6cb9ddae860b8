import numpy as np
import pytest

from lab.embeddings import figures
from mathlm.errors import InputError

UNIT = np.eye(3)
CLOUD = np.array([[0.0, 0.1], [1.0, 0.9], [2.0, 2.2], [3.0, 2.8], [4.0, 0.0], [9.0, 9.0]])
FIGURES = {
    "identity": lambda: figures.score_identity(np.arange(3.0), {"a": np.arange(3.0)}),
    "training": lambda: figures.scores_while_training(
        [0, 1], {"WordSim": [0.1, 0.3]}, "epochs"
    ),
    "ratios": lambda: figures.log_ratios(list("abcdef"), {("x", "y"): tuple(CLOUD.T)}),
    "analogies": lambda: figures.analogy_scores({"family": 9}, {"a": [0.5], "b": [0.2]}),
    "ratings": lambda: figures.human_ratings({"WordSim": (CLOUD[:, 0] / 9, CLOUD[:, 1])}),
    "spread": lambda: figures.cosine_spread({"raw": CLOUD[:, 0] / 9}),
    "rows": lambda: figures.rows_touched([1, 10], {"bound": [1, 10], "measured": [1, 8]}),
    "motion": lambda: figures.row_motion({"SGD": [1, 1], "Adam": [1, 2]}, 1),
    "senses": lambda: figures.senses_by_layer([1, 0.9], [1, 0.8], [0.5, 1]),
}


@pytest.mark.parametrize("draw", FIGURES.values(), ids=FIGURES)
def test_axes_are_labeled_and_the_figure_fits_a_phone(draw):
    figure = draw()
    figure.draw_without_rendering()
    shared = [ax for ax in figure.axes if ax.get_xlabel() or ax.get_ylabel()]
    assert shared
    assert all(ax.get_xlabel() for ax in figure.axes[-1:])
    assert figure.get_figwidth() <= 6.4


def test_a_table_of_cosines_writes_each_number_once():
    first, second = figures.cosine_tables(["a", "b", "c"], {"one": UNIT, "two": UNIT / 2}).axes
    assert [t.get_text() for t in first.texts] == [f"{x:.2f}" for x in UNIT.ravel()]
    assert second.get_title() == "two"


def test_bars_stand_for_percent_and_name_how_many_were_asked():
    (ax,) = figures.analogy_scores({"family": 9, "plural": 4}, {"all": [0.5, 0.25]}).axes
    assert [bar.get_width() for bar in ax.patches] == [50, 25]
    assert [label.get_text() for label in ax.get_yticklabels()] == ["family (9)", "plural (4)"]


def test_the_title_of_log_ratios_is_their_correlation():
    """(1, 2, 3) and (1, 3, 2) have covariance 0.5 and variances 1: correlation 0.5."""
    x, y = np.array([1.0, 2, 3]), np.array([1.0, 3, 2])
    (ax,) = figures.log_ratios(list("abc"), {("k", "q"): (x, y)}).axes
    assert ax.get_title() == "correlation 0.50"


def test_measured_rows_are_dots_and_formulas_are_lines():
    (ax,) = figures.rows_touched([1, 10], {"bound": [1, 10], "measured": [1, 8]}).axes
    assert [line.get_marker() for line in ax.lines] == ["None", "o"]


def test_the_last_lookup_is_marked():
    (ax,) = figures.row_motion({"SGD": [0.1, 0.1, 0.1]}, 2).axes
    assert list(ax.lines[-1].get_xdata()) == [2, 2]


def test_each_sense_has_its_own_mark_in_every_panel():
    figure = figures.sense_maps(
        {"a": CLOUD, "b": CLOUD}, {"river": [0, 1, 2], "money": [3, 4, 5]}
    )
    for ax in figure.axes:
        assert [line.get_marker() for line in ax.lines] == ["s", "o"]
        np.testing.assert_array_equal(ax.lines[0].get_xydata(), CLOUD[:3])


def test_histograms_mark_their_means():
    (ax,) = figures.cosine_spread({"raw": np.array([0.2, 0.4])}).axes
    assert ax.lines[0].get_xdata()[0] == pytest.approx(0.3)


def test_distances_are_shares_of_that_at_the_last_lookup():
    (ax,) = figures.row_motion({"SGD": [0.2, 0.4, 0.6]}, 2).axes
    np.testing.assert_allclose(ax.lines[0].get_ydata(), [0.5, 1.0, 1.5])


@pytest.mark.parametrize("last", [0, 1, 4])
def test_a_motion_without_a_length_at_the_last_lookup_is_refused(last):
    with pytest.raises(InputError, match=f"SGD: last={last} of 3 steps"):
        figures.row_motion({"SGD": [0.0, 0.4, 0.6]}, last)
