import numpy as np

from lab.preference_optimization import figures


def lines(fig, ax=0):
    return [list(line.get_ydata()) for line in fig.axes[ax].get_lines()]


def test_implicit_rewards_stand_over_rewards_by_prompt():
    fig = figures.rewards_in_disguise([[0, 1], [2, 3]], [[5, 6], [7, 8]])
    assert lines(fig)[:2] == [[5, 6], [7, 8]]


def test_a_course_shows_the_best_value_as_a_line():
    fig = figures.course_to_optimum([0, 10], {"DPO": [1, 0.1]}, {"DPO": [0, 0.7]}, 0.75)
    assert lines(fig, 0)[0] == [1, 0.1]
    assert lines(fig, 1) == [[0, 0.7], [0.75, 0.75]]


def test_means_leave_out_data_sets_without_a_minimum():
    fig = figures.divergence_by_comparisons([10, 20], [2, 1], [[1, np.nan], [3, 5]], [0.5, 0])
    assert lines(fig, 0) == [[1, 4], [2, 1]]
    assert lines(fig, 1) == [[0.5, 0]]


def test_measured_margins_are_marks_and_predicted_ones_lines():
    ax = figures.margin_by_time([1, 2], {"DPO": [0, 1]}, {"DPO": [0, 0.9]}).axes[0]
    assert [line.get_linestyle() for line in ax.get_lines()] == ["None", "--"]


def test_shares_are_bars_beside_each_other():
    ax = figures.shares_of_mass({"a": [0.1, 0.2], "b": [0.3, 0.4]}, "share").axes[0]
    assert [bar.get_height() for bar in ax.patches] == [0.1, 0.2, 0.3, 0.4]


def test_predictions_by_price_are_dashed():
    curves = {"measured": [1, 2], "predicted": [1, 3]}
    ax = figures.value_by_price([0.5, 1], curves, "regret").axes[0]
    assert [line.get_linestyle() for line in ax.get_lines()] == ["-", "--"]


def test_the_threshold_stands_in_both_panels():
    fig = figures.shift_by_reward([0, 1], [-1, 1], 0.5, [0.3, 0.7], [0.7, 0.3])
    for ax in fig.axes:
        assert any(list(line.get_xdata()) == [0.5, 0.5] for line in ax.get_lines())


def test_infinite_margins_leave_the_picture():
    ax = figures.margins_by_preference([0.5, 1], {"DPO": [0, np.inf]}, limit=4).axes[0]
    assert list(ax.get_lines()[0].get_ydata()) == [0, 12]
    assert ax.get_ylim() == (-4, 4)


def test_each_method_shows_its_seeds_and_their_mean():
    ax = figures.family_ends({"DPO": [0, 1]}, {"DPO": [0.5, 0.7]}, "value").axes[0]
    drawn = [list(line.get_xdata()) for line in ax.get_lines()]
    assert drawn[:4] == [[0.5, 0.7], [0.6], [0, 1], [0.5]]


def test_ways_stand_beside_the_frontier():
    ax = figures.reward_against_divergence(([0, 1], [0, 2]), {"DPO": ([0.5], [0.7])}).axes[0]
    assert [list(line.get_ydata()) for line in ax.get_lines()] == [[0, 2], [0.7]]


def test_the_difference_of_a_pair_is_drawn_with_its_parts():
    rows = [{"step": 0, "chosen": 0, "rejected": 0}, {"step": 1, "chosen": -1, "rejected": -3}]
    fig = figures.pair_course(rows)
    assert lines(fig)[:3] == [[0, 2], [0, -1], [0, -3]]
