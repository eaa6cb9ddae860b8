import pytest

from lab.interpretability import figures
from mathlm.errors import InputError

FIGURES = {
    "curves": lambda: figures.depth_curves({"Paris": [0.0, 0.1, 0.9]}, "probability"),
    "shares": lambda: figures.largest_shares({"a": 1.0, "b": -2.0}, "logit"),
}


@pytest.mark.parametrize("draw", FIGURES.values(), ids=FIGURES)
def test_axes_are_labeled_and_the_figure_fits_a_phone(draw):
    figure = draw()
    panels = [ax for ax in figure.axes if ax.get_label() != "<colorbar>"]
    assert all(ax.get_xlabel() and ax.get_ylabel() for ax in panels)
    assert figure.get_figwidth() <= 6.4
    figure.canvas.draw()


def test_shares_that_have_no_bar_are_summed_up():
    """Of 4, -3, 2, 1 and 0.5 the first two have a bar; the others make 3.5."""
    shares = {"a": 1.0, "b": 4.0, "c": 0.5, "d": -3.0, "e": 2.0}
    ax = figures.largest_shares(shares, "logit", most=3).axes[0]
    assert [patch.get_width() for patch in ax.patches] == [4.0, -3.0, 3.5]
    assert [label.get_text() for label in ax.get_yticklabels()] == ["b", "d", "3 others"]


def test_a_sum_of_nothing_is_refused():
    with pytest.raises(InputError, match="0 shares"):
        figures.largest_shares({}, "logit")
