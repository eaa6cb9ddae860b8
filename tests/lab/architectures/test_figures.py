import numpy as np
import pytest

from lab.architectures import figures
from mathlm import plot

TABLE = np.array([[1.0, 0.0], [2.0, 3.0]])
FIGURES = {
    "masks": lambda: plot.mask_panels({"causal": TABLE, "both ways": TABLE + 1}, ["a", "b"]),
    "probes": lambda: plot.probe_table({"GPT": {"fill": 90.0, "go on": np.nan}}),
    "learning": lambda: figures.probe_learning(
        [1, 2], {"GPT": {"fill": [[0.0, 0.5], [0.2, 1.0]]}}
    ),
    "noticed": lambda: figures.noticed_change(
        {"GPT": [0.0, 0.5], "BERT": [0.2, 0.5]}, ["a", "b"]
    ),
    "mistakes": lambda: figures.mistake_costs({"small": 1e-3, "large": 9.0}, 8.0),
    "logit": lambda: figures.running_logit(
        {"embedding": [1.0], "attention": [2.0, 3.0], "feed-forward": [-1.0, 0.5]}, ["x", "y"]
    ),
}


def drawn(figure):
    return [ax for ax in figure.axes if ax.get_label() != "<colorbar>"]


@pytest.mark.parametrize("draw", FIGURES.values(), ids=FIGURES)
def test_figures_are_named_and_fit_a_phone(draw):
    figure = draw()
    panels = drawn(figure)
    assert panels[-1].get_xlabel() or panels[-1].get_xticklabels()
    assert panels[0].get_ylabel() or panels[0].get_yticklabels()
    assert figure.get_figwidth() <= 6.4


def test_a_mask_is_drawn_where_there_is_any_influence():
    first, second = drawn(FIGURES["masks"]())
    np.testing.assert_array_equal(first.images[0].get_array(), [[1, 0], [1, 1]])
    assert second.images[0].get_array().all()


def test_equal_choices_of_a_row_have_one_color_and_different_ones_two():
    figure = figures.choice_table(
        {"A": {"norm": "rms", "head": "tied"}, "B": {"norm": "layer", "head": "tied"}}
    )
    colors = [patch.get_facecolor() for patch in drawn(figure)[0].patches]
    assert colors[0] != colors[1]
    assert colors[2] == colors[3]


def test_a_probe_that_was_not_asked_says_so():
    words = [text.get_text() for text in drawn(FIGURES["probes"]())[0].texts]
    assert words == ["90", "not\nasked"]


def test_mistakes_are_sorted_and_say_their_cost():
    ax = drawn(figures.mistake_costs({"large": 9.0, "small": 1e-3}, 8.0))[0]
    assert [label.get_text() for label in ax.get_yticklabels()] == ["small", "large"]
    assert [bar.get_width() for bar in ax.patches] == [1e-3, 9.0]


def test_the_running_logit_ends_at_the_sum_of_all_shares():
    top, below = drawn(FIGURES["logit"]())
    np.testing.assert_allclose(top.lines[0].get_ydata(), [1.0, 2.0, 5.5])
    assert [bar.get_height() for bar in below.patches] == [2.0, 3.0, -1.0, 0.5]


def test_a_change_of_one_half_is_drawn_as_fifty_percent():
    bars = drawn(FIGURES["noticed"]())[0].patches
    assert [bar.get_height() for bar in bars] == [0, 50, 20, 50]


def test_learning_is_the_mean_over_seeds_in_percent():
    line = drawn(FIGURES["learning"]())[0].lines[0]
    np.testing.assert_allclose(line.get_ydata(), [10, 75])
