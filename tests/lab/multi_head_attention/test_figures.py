import numpy as np
import pytest

from lab.multi_head_attention import figures

TABLE = np.array([[0.9, 0.1], [0.2, 0.8]])
FIGURES = {
    "lookups": lambda: figures.lookups_by_heads(
        {1: 0.5, 2: 0.0}, {1: 0.4, 2: 0.0}, {"wide": 0.5}
    ),
    "reads": lambda: figures.head_reads(
        {"two heads": TABLE, "again": TABLE}, ["agent", "place"]
    ),
    "lens": lambda: figures.lens_plane(["a", "b"], TABLE, ("first", "second"), marked=["b"]),
    "spectra": lambda: figures.circuit_spectra({"asks": TABLE[:, ::-1] + 1}, 1),
    "cache": lambda: figures.cache_sizes([1, 10], {"model": [1.0, 10.0]}),
    "tiles": lambda: figures.tile_plan(8, 2),
    "memory": lambda: figures.attention_memory([1, 2, 4], {"plain": [1.0, 4.0, 16.0]}),
    "recall": lambda: figures.recall_capacity([1, 2], {"softmax": [1.0, 1.0]}, width=2),
    "pruning": lambda: figures.pruning_curves({"random": ([0, 1], [[1.0, 2.0], [1.0, 3.0]])}),
    "pattern": lambda: figures.harm_by_pattern([0.1, 0.9], [0.5, -0.1], "score"),
    "harm": lambda: figures.head_harm([[0.1, -0.2], [0.0, 0.4]]),
}


def drawn(figure):
    return [ax for ax in figure.axes if ax.get_label() != "<colorbar>"]


@pytest.mark.parametrize("draw", FIGURES.values(), ids=FIGURES)
def test_figures_have_labels_and_fit_a_phone(draw):
    figure = draw()
    panels = drawn(figure)
    assert panels[-1].get_xlabel()
    assert panels[0].get_ylabel()
    assert figure.get_figwidth() <= 6.4


def test_memory_that_grows_with_the_square_is_said_to():
    legend = drawn(FIGURES["memory"]())[0].get_legend()
    assert "T^{2.00}" in legend.get_texts()[0].get_text()


def test_half_of_the_tiles_off_the_diagonal_are_left_out():
    """4 by 4 tiles: 6 left out, 6 whole, 4 on the diagonal."""
    kinds = drawn(figures.tile_plan(7, 2))[0].images[0].get_array()
    assert [(kinds == kind).sum() for kind in range(3)] == [6, 6, 4]
    assert (kinds[0, 1], kinds[1, 0]) == (0, 1)  # no query sees a later key


def test_lookups_draw_the_bound_over_each_bar():
    ax = drawn(FIGURES["lookups"]())[0]
    assert [bar.get_height() for bar in ax.patches] == [0.5, 0.0]
    assert [line.get_ydata()[0] for line in ax.lines] == [0.4, 0.0, 0.5]


def test_pruning_shows_the_mean_of_several_orders_and_a_mark():
    figure = figures.pruning_curves(
        {"random": ([0, 1], [[1.0, 2.0], [1.0, 3.0]])}, {"limit": 9.0}
    )
    lines = drawn(figure)[0].lines
    np.testing.assert_array_equal(lines[0].get_ydata(), [1.0, 2.5])
    assert lines[1].get_ydata()[0] == 9.0


def test_harm_is_drawn_with_zero_in_the_middle_of_the_colors():
    image = drawn(FIGURES["harm"]())[0].images[0]
    np.testing.assert_allclose(image.get_array(), np.cbrt([[0.1, 0.0], [-0.2, 0.4]]))
    assert image.norm(0) == 0.5


def test_sharing_draws_a_box_for_each_key_head_and_one_for_the_latent_vector():
    """Eight queries each; 8, 2 and 1 key heads; 8 that are made, and the vector they share."""
    figure = figures.sharing()
    assert [len(ax.patches) for ax in figure.axes] == [16, 10, 9, 17]
    assert figure.get_figwidth() <= 6.4
