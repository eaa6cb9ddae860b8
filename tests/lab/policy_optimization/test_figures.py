import numpy as np

from lab.policy_optimization import figures


def test_the_frontier_has_its_tangent_and_the_policies_below():
    fig = figures.reward_frontier([0, 1, 2], [0, 1, 1.5], {"ours": (1, 0.5)}, (1, 1, 0.5))
    lines = fig.axes[0].get_lines()
    np.testing.assert_allclose(lines[1].get_ydata(), [0.5, 1.5])
    assert (lines[2].get_xdata()[0], lines[2].get_ydata()[0]) == (1, 0.5)


def test_noise_stands_in_the_row_of_its_estimator():
    ax = figures.gradient_noise({"a": (1.0, 2.0), "b": (3.0, 4.0)}, ("here", "there")).axes[0]
    assert [list(line.get_xdata()) for line in ax.get_lines()] == [[1, 3], [2, 4]]
    assert [t.get_text() for t in ax.get_yticklabels()] == ["a", "b"]
    assert list(ax.get_yticks()) == [1, 0]


def test_estimates_stand_beside_the_truth():
    axes = figures.kl_estimates([0.1, 1.0], {"k1": ([0.1, 1.0], [2.0, 3.0])}).axes
    np.testing.assert_allclose(axes[0].get_lines()[0].get_ydata(), [0.1, 1.0])
    np.testing.assert_allclose(axes[1].get_lines()[0].get_ydata(), [2.0, 3.0])


def test_gains_are_flat_where_they_are_clipped():
    better, worse = figures.clipped_gains(0.2).axes
    x, y = better.get_lines()[1].get_data()
    np.testing.assert_allclose(y[x > 1.2], 1.2)
    x, y = worse.get_lines()[1].get_data()
    np.testing.assert_allclose(y[x < 0.8], -0.8)
    np.testing.assert_allclose(y[x > 1], -x[x > 1])


def test_the_least_error_is_marked():
    ax = figures.credit_errors([0, 0.5, 1], {"V = 0": ([4, 1, 0], [0, 1, 4])}).axes[0]
    assert list(ax.get_lines()[2].get_ydata()) == [4, 2, 4]
    assert list(ax.get_lines()[3].get_xdata()) == [0.5]


def test_runs_and_what_was_calculated_stand_in_one_row():
    ax = figures.ends_of_runs({"a": [0.1, 0.2], "b": [1.0]}, 0.02, {"b": 0.9}).axes[0]
    lines = ax.get_lines()
    assert list(lines[0].get_xdata()) == [0.1, 0.2]
    assert (lines[1].get_ydata()[0], lines[2].get_ydata()[0]) == (0, 0)
    assert lines[3].get_xdata()[0] == 0.02


def test_ways_have_levels():
    ax = figures.ways_to_optimum({"PPO": ([0, 10], [1.0, 0.1])}, {"calculated": 0.5}).axes[0]
    assert list(ax.get_lines()[0].get_ydata()) == [1.0, 0.1]
    assert set(ax.get_lines()[1].get_ydata()) == {0.5}


def test_ends_by_rate_are_means_over_seeds():
    ax = figures.ends_by_rate(
        {"one": {"decayed": [(0.1, [1.0, 3.0]), (0.2, [4.0, 4.0])]}}
    ).axes[0]
    assert list(ax.get_lines()[0].get_ydata()) == [2, 4]
    assert list(ax.get_lines()[1].get_ydata()) == [1, 3]
