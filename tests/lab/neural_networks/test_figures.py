import numpy as np
from numpy.testing import assert_allclose

from lab.neural_networks import figures


def legend(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


def test_arrow_of_a_neuron_starts_at_the_foot_of_its_line():
    """The point of 2x + y = 3 nearest to the origin is (1.2, 0.6)."""
    ax = figures.neuron_plane([2.0, 1.0], -3.0).axes[0]
    assert_allclose(ax.lines[0].get_xydata()[1], [1.2, 0.6])


def test_values_stand_left_and_slopes_right():
    x = np.linspace(-1, 1, 5)
    left, right = figures.activation_curves(x, {"square": (x**2, 2 * x)}).axes
    assert_allclose(left.lines[0].get_ydata(), x**2)
    assert_allclose(right.lines[0].get_ydata(), 2 * x)
    assert legend(left) == ["square"]


def test_sizes_by_depth_are_drawn_on_a_log_axis():
    ax = figures.gradient_chain({"half": 0.5 ** np.arange(5)}).axes[0]
    assert ax.get_yscale() == "log"
    assert_allclose(ax.lines[0].get_ydata(), [1, 0.5, 0.25, 0.125, 0.0625])


def test_every_number_of_a_trace_is_written():
    W, dW = [np.array([[2.0, 3.0]])], [np.array([[-0.25, 0.5]])]
    figure = figures.traced_network([[1, 4], [5]], [[0.125, 0], [-1]], W, dW, ("in", "out"))
    texts = {t.get_text() for t in figure.axes[0].texts}
    assert {"2", "−0.2500", "3", "0.5000", "1", "0.1250", "5", "−1.0000", "in", "out"} <= texts


def test_losses_and_slopes_have_a_panel_each():
    z = np.linspace(-1, 1, 3)
    figure = figures.loss_slopes(z, {"a": z, "b": 2 * z}, {"a": 3 * z, "b": 4 * z})
    drawn = [line.get_ydata() for ax in figure.axes for line in ax.lines]
    assert_allclose(drawn, [z, 2 * z, 3 * z, 4 * z])


def test_folded_points_that_coincide_share_a_label():
    x = np.array([[0.0, 0], [0, 1], [1, 0], [1, 1]])
    y = np.array([[0.0], [1], [1], [0]])
    hidden = np.array([[0.0, 0], [1, 0], [1, 0], [2, 1]])
    texts = [t.get_text() for t in figures.xor_fold(x, y, hidden).axes[1].texts]
    assert texts == ["00", "01, 10", "11"]


def test_losses_are_sorted_and_levels_marked():
    ax = figures.sorted_losses([0.5, 0.1, 0.3], {"half": 0.5}).axes[0]
    assert ax.lines[-1].get_ydata().tolist() == [0.1, 0.3, 0.5]
    assert ax.lines[0].get_ydata()[0] == 0.5
    assert ax.texts[0].get_text() == "half"


def test_shares_are_drawn_in_percent():
    ax = figures.share_solved([1, 2, 4], {"relu": [0, 0.5, 1]}, "hidden units").axes[0]
    assert ax.lines[0].get_ydata().tolist() == [0, 50, 100]
    assert [t.get_text() for t in ax.get_xticklabels()] == ["1", "2", "4"]


def test_each_panel_has_its_curves():
    panels = {"one": {"a": [1, 2]}, "two": {"b": [3, np.nan], "c": [1, 1]}}
    figure = figures.power_of_width([2, 4], panels, "error")
    assert [ax.get_title() for ax in figure.axes] == ["one", "two"]
    assert legend(figure.axes[1]) == ["b", "c"]
    assert figure.axes[0].get_ylabel() == "error"


def test_confusions_are_written_and_mistakes_are_bold():
    ax = figures.confusion(np.array([[5, 2], [0, 7]]), "ab").axes[0]
    assert [(t.get_text(), t.get_weight()) for t in ax.texts] == [
        ("5", "normal"),
        ("2", "bold"),
        ("7", "normal"),
    ]


def test_images_come_in_rows_of_six(rng):
    figure = figures.image_row(rng.normal(size=(7, 8, 8)), [str(i) for i in range(7)])
    assert len(figure.axes) == 12
    assert [ax.get_title() for ax in figure.axes][:7] == [str(i) for i in range(7)]


def test_learning_curves_keep_their_names():
    ax = figures.learning_curves([1, 2], {"train": [1, 0.5], "test": [1, 0.8]}).axes[0]
    assert legend(ax) == ["train", "test"]
    assert ax.lines[1].get_ydata().tolist() == [1, 0.8]
