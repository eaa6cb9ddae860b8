import numpy as np
import pytest

from mathlm import plot
from mathlm.errors import InputError

WORDS = ["The", " capital", "\n", " $"]
TABLE = np.array([[0.1, -0.4, 0.0, 1.0], [0.0, 0.0, 0.2, 0.5]])
TOPS = [["a", " b", "c", "$x$"], ["e", "f", "g", "h"]]
FIGURES = {
    "lens": lambda: plot.lens_table(WORDS, ["embedding", "1"], TOPS, np.abs(TABLE)),
    "maps": lambda: plot.patching_maps({"stream": TABLE, "attention": TABLE / 2}, WORDS),
    "curves": lambda: plot.depth_curves({"Paris": [0.0, 0.1, 0.9]}, "probability"),
    "shares": lambda: plot.largest_shares({"a": 1.0, "b": -2.0}, "logit"),
}


@pytest.mark.parametrize("draw", FIGURES.values(), ids=FIGURES)
def test_axes_are_labeled_and_the_figure_fits_a_phone(draw):
    figure = draw()
    panels = [ax for ax in figure.axes if ax.get_label() != "<colorbar>"]
    assert all(ax.get_xlabel() and ax.get_ylabel() for ax in panels)
    assert figure.get_figwidth() <= 6.4
    figure.canvas.draw()


def test_the_lens_has_the_embedding_at_the_bottom_and_shows_spaces():
    ax = FIGURES["lens"]().axes[0]
    assert ax.get_ylim()[0] < ax.get_ylim()[1]  # row 0 is at the bottom
    assert [text.get_text() for text in ax.texts][:4] == ["a", "␣b", "c", r"\$x\$"]
    assert [label.get_text() for label in ax.get_xticklabels()] == [
        "The",
        "␣capital",
        "⏎",
        r"␣\$",
    ]


def test_maps_share_a_scale_around_zero():
    images = [ax.images[0] for ax in FIGURES["maps"]().axes if ax.images]
    assert {image.get_clim() for image in images[:2]} == {(-1.0, 1.0)}


def test_rows_of_some_layers_bear_their_numbers():
    ax = plot.patching_maps({"stream": TABLE}, WORDS, layers=[4, 9]).axes[0]
    assert [label.get_text() for label in ax.get_yticklabels()] == ["4", "9"]
    with pytest.raises(InputError, match=r"layers=\[4\] must name each of 2 rows"):
        plot.patching_maps({"stream": TABLE}, WORDS, layers=[4])


def test_shares_that_have_no_bar_are_summed_up():
    """Of 4, -3, 2, 1 and 0.5 the first two have a bar; the others make 3.5."""
    shares = {"a": 1.0, "b": 4.0, "c": 0.5, "d": -3.0, "e": 2.0}
    ax = plot.largest_shares(shares, "logit", most=3).axes[0]
    assert [patch.get_width() for patch in ax.patches] == [4.0, -3.0, 3.5]
    assert [label.get_text() for label in ax.get_yticklabels()] == ["b", "d", "3 others"]


def test_tables_that_do_not_fit_are_refused():
    with pytest.raises(InputError, match=r"\(2, 4\) and 2 rows of tops must be \(2, 3\)"):
        plot.lens_table(WORDS[:3], ["0", "1"], TOPS, TABLE)
    with pytest.raises(InputError, match=r"table 'x' \(2, 4\) must be \(layers, 3\)"):
        plot.patching_maps({"x": TABLE}, WORDS[:3])
    with pytest.raises(InputError, match="0 shares"):
        plot.largest_shares({}, "logit")
