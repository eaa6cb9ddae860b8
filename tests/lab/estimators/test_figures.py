import numpy as np

from lab.estimators import figures


def test_weights_by_success_stand_left_and_pulls_right():
    p, w = np.array([0.1, 0.5]), np.array([2.0, 1.0])
    left, right = figures.weights_by_success(p, {"a": w}, {"a": w * p}).axes
    np.testing.assert_allclose(left.get_lines()[0].get_ydata(), w)
    np.testing.assert_allclose(right.get_lines()[0].get_ydata(), w * p)
    assert left.get_yscale() == "log"


def test_weights_by_ratio_have_a_panel_for_each_sign():
    left, right = figures.weights_by_ratio([1, 2], {"a": [1, 0]}, {"a": [0, 2]}).axes
    assert list(left.get_lines()[0].get_ydata()) == [1, 0]
    assert list(right.get_lines()[0].get_ydata()) == [0, 2]


def test_curves_have_a_panel_for_each_estimator():
    axes = figures.curves_of_success({"a": {"hard": ([0, 1], [0.1, 0.9])}, "b": {}}).axes
    assert [ax.get_title() for ax in axes] == ["a", "b"]
    assert list(axes[0].get_lines()[0].get_ydata()) == [0.1, 0.9]


def test_rewards_stand_left_and_ratios_right():
    left, right = figures.steps_on_one_batch({"a": [0.1, 0.2]}, {"a": [1.0, 2.0]}).axes
    assert list(left.get_lines()[0].get_ydata()) == [0.1, 0.2]
    assert list(right.get_lines()[0].get_ydata()) == [1, 2]
