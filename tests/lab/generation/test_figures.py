import matplotlib.pyplot as plt
import numpy as np

from lab.generation import figures


def test_each_rule_marks_the_last_token_that_it_keeps():
    p = np.sort(np.random.default_rng(0).dirichlet(np.ones(50)))[::-1]
    fig = figures.ranked_cuts({"one": p}, {"top-k": [7], "top-p": [20]})
    marks = [line for line in fig.axes[0].lines if len(line.get_xdata()) == 1]
    assert [(line.get_xdata()[0], line.get_ydata()[0]) for line in marks] == [
        (7, p[6]),
        (20, p[19]),
    ]
    plt.close(fig)


def test_a_long_tail_is_cut_off_the_picture_and_not_the_marks():
    fig = figures.ranked_cuts({"one": np.full(100, 0.01)}, {"top-k": [20]}, ranks=30)
    assert len(fig.axes[0].lines[0].get_xdata()) == 30
    plt.close(fig)


def test_each_text_has_a_line_of_its_probabilities():
    fig = figures.surprise_lines({"human": [0.1, 0.9], "beam": [0.8, 0.9, 1.0]})
    assert [line.get_ydata().tolist() for line in fig.axes[0].lines] == [
        [0.1, 0.9],
        [0.8, 0.9, 1.0],
    ]
    plt.close(fig)


def test_settings_are_joined_in_order_and_people_have_a_star():
    points = [("0.5", 1.0, 2.0, 0.5), ("1", 3.0, 1.0, 0.25)]
    panels = {"one": ({"temperature": points}, (2.0, 2.0)), "two": ({"top-p": points}, (0, 0))}
    fig = figures.settings_planes(panels, ("x", "y"))
    lines = fig.axes[0].lines
    assert lines[0].get_xydata().tolist() == [[1.0, 2.0], [3.0, 1.0]]
    assert lines[1].get_xydata().tolist() == [[2.0, 2.0]]
    assert {text.get_text() for text in fig.axes[0].texts} == {"0.5", "1"}
    plt.close(fig)


def test_a_setting_has_a_bar_of_one_standard_error_to_each_side():
    points = [("0.5", 1.0, 2.0, 0.5), ("1", 3.0, 1.0, 0.25)]
    fig = figures.settings_planes({"one": ({"top-k": points}, (2.0, 2.0))}, ("x", "y"))
    bars = fig.axes[0].collections[0].get_segments()
    assert [bar.tolist() for bar in bars] == [[[1, 1.5], [1, 2.5]], [[3, 0.75], [3, 1.25]]]
    plt.close(fig)
