"""What the figures draw, read back from their axes."""

import numpy as np
import pytest

from lab.evaluation import figures

SHARES = {
    "set one": {"sum": (0.5, 0.42, 0.6), "byte": (0.7, 0.6, 0.8)},
    "set two": {"byte": (0.3, 0.2, 0.4)},
}
FIGURES = {
    "dots": lambda: figures.interval_dots(
        SHARES, "right answers", {"set one": 0.5, "set two": 0.25}
    ),
    "letters": lambda: figures.letter_bars(
        {"by letter": [0.7, 0.1, 0.1, 0.1], "right": [0.25] * 4}, "right"
    ),
    "coverage": lambda: figures.coverage_curves([0.1, 0.2], {"Wilson": [0.94, 0.96]}),
    "ratings": lambda: figures.ratings(
        ["a", "b"], [1010, 990], {"Elo": ([1020, 980], [5, 5]), "all": ([1005, 995], [2, 2])}
    ),
    "seen": lambda: figures.seen_and_fresh(
        [0, 4], {"test": [[0.6, 0.5], [0.9, 1.0]], "fresh": [[0.6, 0.6], [0.5, 0.6]]}, 0.6
    ),
}


@pytest.mark.parametrize("draw", FIGURES.values(), ids=FIGURES)
def test_axes_are_named_and_fit_a_phone(draw):
    figure = draw()
    for ax in figure.axes:
        assert ax.get_ylabel()
        assert ax.get_xlabel() or ax.get_xticklabels()
    assert figure.get_figwidth() <= 6.4


def test_a_dot_has_its_interval_and_each_set_its_chance():
    ax = FIGURES["dots"]().axes[0]
    chance = [line for line in ax.lines if line.get_linestyle() == "--"]
    assert [line.get_ydata()[0] for line in chance] == [0.5, 0.25]
    bars = [c for c in ax.collections if hasattr(c, "get_segments")]
    ends = [segment[:, 1].tolist() for c in bars for segment in c.get_segments()]
    assert ends == [pytest.approx(x) for x in ([0.42, 0.6], [0.6, 0.8], [0.2, 0.4])]


def test_a_way_has_one_color_and_one_name_in_all_sets():
    figure = FIGURES["dots"]()
    assert [t.get_text() for t in figure.legends[0].get_texts()] == ["sum", "byte"]


def test_bars_are_the_choices_and_lines_the_right_ones():
    ax = FIGURES["letters"]().axes[0]
    assert [p.get_height() for p in ax.patches] == [0.7, 0.1, 0.1, 0.1]
    assert [float(line.get_ydata()[0]) for line in ax.lines] == [0.25] * 4


def test_the_nominal_coverage_is_drawn():
    curve, nominal = FIGURES["coverage"]().axes[0].lines
    np.testing.assert_allclose(curve.get_ydata(), [0.94, 0.96])
    np.testing.assert_allclose(nominal.get_ydata(), 0.95)


def test_true_ratings_stand_behind_both_methods():
    ax = FIGURES["ratings"]().axes[0]
    assert [float(line.get_ydata()[0]) for line in ax.lines[:2]] == [1010, 990]
    ends = [s[:, 1].tolist() for c in ax.collections for s in c.get_segments()]
    assert ends[:2] == [[1015, 1025], [975, 985]]


def test_each_seed_is_a_dot_on_the_line_of_the_means():
    ax = FIGURES["seen"]().axes[0]
    np.testing.assert_allclose(ax.lines[0].get_ydata(), [0.55, 0.95])
    np.testing.assert_allclose(
        [ax.lines[i].get_ydata() for i in (1, 2)], [[0.6, 0.9], [0.5, 1]]
    )
    np.testing.assert_allclose(ax.lines[-1].get_ydata(), 0.6)
