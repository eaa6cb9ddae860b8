import matplotlib.pyplot as plt
import numpy as np
import pytest

from lab.sequences import figures


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")


def test_smoothing_by_order_draws_shares_and_one_curve_a_method():
    fig = figures.smoothing_by_order([1, 2], [0.0, 0.25], {"a": [4.0, 3.0], "b": [4.0, 3.5]})
    left, right = fig.axes
    assert [bar.get_height() for bar in left.patches] == [0.0, 25.0]
    assert [line.get_ydata().tolist() for line in right.get_lines()] == [[4.0, 3.0], [4.0, 3.5]]


def test_the_unrolled_network_has_a_box_a_step_and_a_label_a_state():
    fig = figures.unrolled_network([1.0, -1.0], np.zeros((3, 2)))
    texts = [t.get_text() for t in fig.axes[0].texts]
    assert len(fig.axes[0].patches) >= 2
    assert sum("0.000" in t for t in texts) == 3


def test_weight_powers_are_drawn_on_a_logarithmic_axis():
    axes = figures.weight_powers([1, 2], {"half": [0.5, 0.25]}).axes[0]
    assert axes.get_yscale() == "log"
    assert axes.get_lines()[0].get_ydata().tolist() == [0.5, 0.25]


def test_clipping_runs_mark_the_threshold():
    losses, norms = {"clipped": [8.0, 4.0]}, {"clipped": [3.0, 0.5]}
    fig = figures.clipping_runs(losses, norms, threshold=1.0)
    assert fig.axes[1].get_lines()[-1].get_ydata()[0] == 1.0


def test_by_distance_starts_at_one_and_does_not_lose_zeros():
    fig = figures.by_distance({"before": {"rnn": [1.0, 0.0]}}, "gradient", floor=1e-6)
    line = fig.axes[0].get_lines()[0]
    assert line.get_xdata().tolist() == [1, 2]
    np.testing.assert_allclose(line.get_ydata(), [1.0, 1e-7])


def test_by_distance_may_start_at_zero():
    fig = figures.by_distance({"before": {"rnn": [1.0, 0.5]}}, "gradient", first=0)
    assert fig.axes[0].get_lines()[0].get_xdata().tolist() == [0, 1]


def test_memory_horizon_draws_the_mean_over_seeds_and_each_seed():
    fig = figures.memory_horizon([2, 4], {"rnn": [[1.0, 0.5], [0.25, 0.25]]}, chance=0.125)
    lines = fig.axes[0].get_lines()
    assert [line.get_ydata().tolist() for line in lines[:3]] == [
        [0.75, 0.25],
        [1.0, 0.25],
        [0.5, 0.25],
    ]
    assert lines[-1].get_ydata()[0] == 0.125


def test_recurrent_race_counts_bytes_in_millions():
    fig = figures.recurrent_race({"gru": ([1e6, 2e6], [3.0, 2.5])}, {"6-gram": 2.1})
    assert fig.axes[0].get_lines()[0].get_xdata().tolist() == [1.0, 2.0]
    assert fig.axes[0].get_lines()[1].get_ydata()[0] == 2.1
