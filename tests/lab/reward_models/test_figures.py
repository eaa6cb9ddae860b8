import numpy as np
import pytest

from lab.reward_models import figures


def series(ax):
    return [line.get_ydata() for line in ax.get_lines() if len(line.get_ydata()) > 2]


def test_ratings_are_counted_on_the_left_and_averaged_by_length_on_the_right():
    fig = figures.rating_counts(
        {"witty": np.arange(10)}, [10, 100, 1000, 9000], [5, 6, 8], [0.8, 0.5, 0.2]
    )
    left, right = fig.axes
    assert [bar.get_height() for bar in left.patches] == list(range(10))
    np.testing.assert_allclose(series(right), [[5, 6, 8], [8, 5, 2]])
    assert right.get_lines()[0].get_xdata()[0] == pytest.approx(10**1.5)


def test_shares_stand_in_their_rows_with_their_intervals():
    rows = {"words": {"all": (0.8, (0.75, 0.84))}, "length": {"all": (0.7, (0.6, 0.85))}}
    fig = figures.accuracies(rows)
    bars = fig.axes[0].collections[0].get_segments()
    np.testing.assert_allclose([bar[:, 0] for bar in bars], [[0.75, 0.84], [0.6, 0.85]])
    assert [t.get_text() for t in fig.axes[0].get_yticklabels()] == ["words", "length"]


def test_scores_are_standardized_in_each_panel():
    fig = figures.score_by_length([1, 10, 100], {"a": [1.0, 2.0, 3.0], "b": [30.0, 20.0, 10.0]})
    up, down = (ax.get_lines()[0].get_ydata() for ax in fig.axes)
    np.testing.assert_allclose(up, np.array([-1, 0, 1]) * 1.5**0.5)
    np.testing.assert_allclose(down, -up)


def test_errors_are_lines_where_predicted_and_points_where_seen():
    fig = figures.error_by_comparisons(
        [10, 20, 40], {"gap 0": [4, 2, 1]}, {"gap 0": [4.1, 2.2, 0.9]}
    )
    line, points = fig.axes[0].get_lines()
    assert (line.get_linestyle(), points.get_linestyle()) == ("-", "None")
    assert points.get_ydata().tolist() == [4.1, 2.2, 0.9]


def test_the_bound_is_drawn_before_the_exact_divergences():
    fig = figures.divergence_of_best([1, 2, 4], {"one": [0.0, 0.1, 0.3]}, [0.0, 0.2, 0.6])
    np.testing.assert_array_equal(series(fig.axes[0]), [[0.0, 0.2, 0.6], [0.0, 0.1, 0.3]])


def test_both_rewards_are_predicted_and_measured_and_others_are_added():
    kl, proxy, gold = [0, 1, 2], [0.0, 1.0, 2.0], [0.0, 0.5, 0.2]
    fig = figures.proxy_and_gold(kl, proxy, gold, (proxy, gold), {"worst": [0.0, 0.4, 0.3]})
    drawn = series(fig.axes[0])
    np.testing.assert_array_equal(drawn, [proxy, gold, proxy, gold, [0.0, 0.4, 0.3]])


def test_what_is_known_and_what_is_not_are_told_apart_by_name():
    fig = figures.known_and_unknown([-1, 0, 1], {"error": [3, 0, 3], "suspected": [1, 0, 1]})
    assert [t.get_text() for t in fig.axes[0].get_legend().get_texts()] == [
        "error",
        "suspected",
    ]
