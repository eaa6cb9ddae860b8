import matplotlib.pyplot as plt
import numpy as np
import pytest

from lab.pretraining import figures


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")


def test_bits_by_order_draws_each_order_and_each_compressor():
    fig = figures.bits_by_order([1, 2, 3], [4.0, 3.0, 2.5], {"xz": 2.4, "bz2": 2.5})
    lines = fig.axes[0].get_lines()
    assert lines[0].get_ydata().tolist() == [4.0, 3.0, 2.5]
    assert [line.get_ydata()[0] for line in lines[1:]] == [2.4, 2.5]


def test_bits_in_context_averages_over_octaves():
    """Contexts 1 | 2, 3 | 4 to 7 | 8 alone."""
    fig = figures.bits_in_context({"model": [8.0, 4.0, 2.0, 1.0, 2.0, 3.0, 2.0, 5.0]})
    line = fig.axes[0].get_lines()[0]
    assert line.get_xdata().tolist() == [1, 2, 4, 8]
    assert line.get_ydata().tolist() == [8.0, 3.0, 2.0, 5.0]


def test_bits_in_word_draws_one_bar_a_place_and_model():
    fig = figures.bits_in_word([1, 2], {"a": [4.0, 2.0], "b": [3.0, 1.0]})
    assert sorted(bar.get_height() for bar in fig.axes[0].patches) == [1.0, 2.0, 3.0, 4.0]


def test_schedule_and_long_run_draw_their_series():
    fig = figures.schedule_and_loss([1, 2], [0.1, 0.2], [8.0, 7.0], {"xz": 2.4})
    assert [ax.get_lines()[0].get_ydata()[0] for ax in fig.axes] == [0.1, 8.0]
    fig = figures.long_run([10, 100], [3.0, 2.0], [3.5, 2.5], {"6-gram": 2.1})
    assert np.array_equal(fig.axes[0].get_lines()[1].get_ydata(), [3.5, 2.5])
