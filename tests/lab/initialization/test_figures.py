import numpy as np
from matplotlib.colors import to_rgba
from numpy.testing import assert_allclose

from lab.initialization import figures


def curves(ax):
    """Data of the labeled lines of an axis."""
    lines = {line.get_label(): line.get_data() for line in ax.lines}
    return {name: data for name, data in lines.items() if not name.startswith("_")}


def test_signals_have_a_row_for_each_activation_and_two_sides():
    signals = {("relu", "He"): ([1.0, 2.0], [3.0, 4.0]), ("tanh", "He"): ([5.0], [6.0])}
    fig = figures.signal_by_depth(signals)
    assert [ax.get_title() for ax in fig.axes[:2]] == ["relu, activations", "relu, gradients"]
    assert_allclose(curves(fig.axes[1])["He"], [[1, 2], [3, 4]])


def test_the_lowest_held_out_loss_is_marked():
    columns = ("step", "train_loss", "held_out_loss", "memorized", "seen_through")
    run = {name: np.array([3.0, 1.0, 2.0]) for name in columns} | {
        "step": np.array([0, 50, 100])
    }
    fig = figures.memorization(run)
    for ax in fig.axes:
        assert curves(ax)["lowest held-out loss"][0] == [50, 50]
    assert_allclose(curves(fig.axes[1])["seen through: true label"][1], [300, 100, 200])


def test_regularizers_are_told_apart_by_color_and_by_line():
    run = {"step": np.array([0, 50]), "held_out_accuracy": np.array([0.1, 0.9])}
    (ax,) = figures.regularizers({"nothing": run, "dropout": run}).axes
    assert len({to_rgba(line.get_color()) for line in ax.lines}) == 2
    assert len({line.get_linestyle() for line in ax.lines}) == 2
    assert_allclose(curves(ax)["dropout"][1], [10, 90])
