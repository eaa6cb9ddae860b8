import numpy as np
import pytest

from lab.positional_encoding import figures
from mathlm.errors import InputError


def test_raw_index_draws_both_panels():
    fig = figures.raw_index([1, 2], [0.0, 1.0], [0.0, 0.5], [1, 10], {"a": [1.0, 0.1]})
    left, right = fig.axes
    assert left.get_lines()[1].get_ydata().tolist() == [0.0, 0.5]
    assert right.get_lines()[0].get_ydata().tolist() == [1.0, 0.1]


def test_each_pair_of_features_has_a_panel():
    fig = figures.frequency_bands(np.arange(12.0).reshape(3, 4))
    assert [ax.get_lines()[1].get_ydata().tolist() for ax in fig.axes] == [
        [1, 5, 9],
        [3, 7, 11],
    ]


def test_the_heatmap_shows_the_table_between_minus_one_and_one():
    image = figures.encoding_heatmap([[0.0, 1.0], [-0.5, 0.5]]).axes[0].images[0]
    assert image.get_array().tolist() == [[0.0, 1.0], [-0.5, 0.5]]
    assert image.get_clim() == (-1, 1)


def test_sine_and_cosine_marks_equal_heights():
    left = figures.sine_and_cosine((30.0, 150.0)).axes[0]
    heights = [line.get_ydata()[0] for line in left.get_lines()[-2:]]
    np.testing.assert_allclose(heights, 0.5)


def test_curves_by_distance_and_the_trained_range():
    fig = figures.by_token_distance(
        [1, 2, 4], {"a": [1, 2, 3]}, "score", seen=2, yscale="symlog"
    )
    ax = fig.axes[0]
    assert ax.get_lines()[0].get_ydata().tolist() == [1, 2, 3]
    assert ax.patches[0].get_x() == 1
    assert ax.get_yscale() == "symlog"


def test_learned_geometry_starts_at_distance_one():
    fig = figures.learned_geometry(np.eye(3), [0.5, 0.25])
    assert fig.axes[1].get_lines()[0].get_xdata().tolist() == [1, 2]


def test_arcs_end_where_the_trained_length_ends():
    """1/10 of a turn a token: 5 tokens reach 4/10, 9 tokens 8/10."""
    ax = figures.angle_arcs([2 * np.pi / 10], 5, 9).axes[0]
    met, beyond = ax.patches[2], ax.patches[1]
    np.testing.assert_allclose((met.theta1, met.theta2), (0, 144))
    np.testing.assert_allclose((beyond.theta1, beyond.theta2), (144, 288))


@pytest.mark.parametrize("pairs", [0, 9])
def test_arcs_of_more_pairs_than_circles_are_refused(pairs):
    with pytest.raises(InputError, match=f"{pairs} frequencies: one to eight"):
        figures.angle_arcs(np.ones(pairs), 4, 8)


def test_frequency_scaling_draws_ratios_by_wavelength():
    ax = figures.frequency_scaling([6.0, 60.0], {"linear": [0.5, 0.5]}, 30.0).axes[0]
    assert ax.get_lines()[0].get_ydata().tolist() == [0.5, 0.5]


def test_relative_terms_draw_a_line_a_head_and_the_buckets():
    left, right = figures.relative_terms([0, 1], [[0, -1], [0, -2]], [0, 1]).axes
    assert [line.get_ydata().tolist() for line in left.get_lines()] == [[0, -1], [0, -2]]
    assert right.get_lines()[0].get_ydata().tolist() == [0, 1]


def test_loss_by_position_averages_seeds_and_lets_a_scheme_end():
    fig = figures.loss_by_position(
        [8, 24], {"rope": [[1, 2], [3, 4]], "learned": [[5]]}, trained=16
    )
    rope, learned, border = fig.axes[0].get_lines()
    assert rope.get_ydata().tolist() == [2, 3]
    assert learned.get_xdata().tolist() == [8]
    assert border.get_xdata()[0] == 16
