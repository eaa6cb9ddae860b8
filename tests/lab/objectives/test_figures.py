import numpy as np
import pytest

from lab.objectives import figures
from mathlm import plot

FIGURES = {
    "pairs": lambda: figures.predicted_measured(
        [1, 2], {"heads": ([1.0, 2.0], [1.1, 2.1])}, ("steps", "loss"), "xy"
    ),
    "panels": lambda: plot.curve_panels(
        [1, 2], {"loss": {"a": [1.0, 2.0], "b": [2.0, 1.0]}, "ece": {"a": [0.1, 0.2]}}, "steps"
    ),
    "bars": lambda: figures.score_bars(
        {"GPT": {"next word": 0.4, "hole": 0.2}}, "right", {"hole": 0.1}
    ),
    "asked": lambda: figures.pattern_of_targets({"causal": (["a", "b"], [False, True])}),
}


@pytest.mark.parametrize("draw", FIGURES.values(), ids=FIGURES)
def test_figures_are_named_and_fit_a_phone(draw):
    figure = draw()
    assert all(ax.get_xlabel() or ax.get_yticklabels() for ax in figure.axes)
    assert figure.get_figwidth() <= 6.4


def test_predictions_are_a_line_and_measures_are_circles():
    line, dots = FIGURES["pairs"]().axes[0].lines
    assert line.get_ydata().tolist() == [1.0, 2.0]
    assert line.get_linestyle() == "-"
    assert dots.get_ydata().tolist() == [1.1, 2.1]
    assert dots.get_linestyle() == "None"
    assert line.get_color() == dots.get_color()


def test_both_axes_are_logarithmic_when_asked():
    ax = FIGURES["pairs"]().axes[0]
    assert ax.get_xscale() == ax.get_yscale() == "log"


def test_each_panel_has_its_label_and_its_curves():
    first, second = FIGURES["panels"]().axes
    assert (first.get_ylabel(), second.get_ylabel()) == ("loss", "ece")
    assert [line.get_label() for line in first.lines] == ["a", "b"]


def test_panels_with_one_axis_have_titles():
    figure = plot.curve_panels([1], {"x": {"a": [1.0]}, "y": {"a": [2.0]}}, "t", sharey=True)
    assert [ax.get_title() for ax in figure.axes] == ["x", "y"]


def test_a_guess_is_a_line_across_its_group():
    (line,) = FIGURES["bars"]().axes[0].lines
    np.testing.assert_allclose(line.get_ydata(), 0.1)


def test_several_seeds_are_dots_on_a_bar_of_their_mean():
    ax = figures.score_bars({"GPT": {"next word": [0.2, 0.6]}}, "right").axes[0]
    assert ax.patches[0].get_height() == pytest.approx(0.4)
    np.testing.assert_allclose(ax.lines[0].get_ydata(), [0.2, 0.6])


def test_a_place_that_is_asked_for_has_another_color():
    one, two = FIGURES["asked"]().axes[0].patches
    assert one.get_facecolor() != two.get_facecolor()
