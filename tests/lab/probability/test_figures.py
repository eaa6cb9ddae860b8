import numpy as np
import pytest

from lab.probability import figures
from mathlm import plot
from mathlm.reference import Reliability, reliability_curve, sum_distribution

DIE = np.full(6, 1 / 6)
CURVE = Reliability(np.array([0.2, 0.8]), np.array([0.1, 0.9]), np.array([30, 70]))


FIGURES = {
    "belief": lambda: figures.belief_by_letter(
        {"a": [0.5, 0.4, 0.9], "b": [0.5, 0.6, 0.1]}, "to"
    ),
    "dice": lambda: figures.sums_of_dice(
        {n: sum_distribution(DIE, n) for n in (1, 2, 3, 4)}, 3.5, 1.7
    ),
    "penalties": lambda: figures.penalties(
        [0.1, 0.9], {"log": [2.3, 0.1]}, {"log": [0.9, 0.1]}
    ),
    "step": lambda: figures.probability_step(["cat", "dog"], [0.7, 0.3], [0.6, 0.4]),
    "clouds": lambda: figures.normal_clouds(
        np.array([[0.0, 1.0], [1.0, 0.0]]), np.array([[2.0, 0.0], [1.0, 1.0]]), np.ones(2)
    ),
    "reliability": lambda: plot.reliability({"before": CURVE, "after": CURVE}),
}


@pytest.mark.parametrize("draw", FIGURES.values(), ids=FIGURES)
def test_axes_are_labeled_and_the_figure_fits_a_phone(draw):
    figure = draw()
    axes = figure.axes
    assert all(ax.get_ylabel() for ax in axes if ax.get_subplotspec().is_first_col())
    assert all(ax.get_xlabel() for ax in axes if ax.get_subplotspec().is_last_row())
    assert figure.get_figwidth() <= 6.4


def test_bars_of_dice_have_the_area_of_the_curve():
    figure = figures.sums_of_dice(
        {n: sum_distribution(DIE, n) for n in (1, 2, 3, 4)}, 3.5, np.sqrt(35 / 12)
    )
    for ax in figure.axes:
        area = sum(bar.get_height() * bar.get_width() for bar in ax.patches)
        centers = [bar.get_x() + bar.get_width() / 2 for bar in ax.patches]
        assert area == pytest.approx(1)
        assert np.mean(centers) == pytest.approx(0, abs=1e-12)


def test_belief_starts_before_the_first_letter():
    """Three beliefs for two letters: before, between and after them."""
    ax = FIGURES["belief"]().axes[0]
    assert ax.lines[0].get_xdata().tolist() == [-0.5, 0.5, 1.5]
    assert [text.get_text() for text in ax.get_xticklabels()] == ["t", "o"]


def test_a_calibrated_model_is_drawn_on_the_diagonal(rng):
    c = rng.uniform(size=200_000)
    curve = reliability_curve(c, rng.uniform(size=c.size) < c)
    line = plot.reliability({"calibrated": curve}).axes[0].lines[1]
    np.testing.assert_allclose(line.get_xdata(), line.get_ydata(), atol=0.02)


def test_points_and_ellipses_are_mapped_by_the_matrix():
    """(0, 1) goes to (1, 1) + (0, 1), and the circle of radius 1 touches x = 1 + 2."""
    points, inner, outer = FIGURES["clouds"]().axes[1].lines
    np.testing.assert_allclose(points.get_xydata(), [[1, 2], [3, 2]])
    assert inner.get_xdata().max() == pytest.approx(3, abs=1e-3)
    assert outer.get_xdata().max() == pytest.approx(5, abs=1e-3)
