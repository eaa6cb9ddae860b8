"""What the figures of the page draw."""

import numpy as np

from lab.reasoning import figures

RUN = [
    {"samples": 0, "right": 0.2, "rewarded": 0.3, "used": None},
    {"samples": 2000, "right": 0.6, "rewarded": 0.9, "used": 0.5},
]


def test_weights_are_relative_to_one_half():
    fig = figures.weights_by_success([0.1, 0.5, 0.9], {"a": [1, 2, 1]})
    assert fig.axes[0].get_lines()[0].get_ydata().tolist() == [0.5, 1.0, 0.5]


def test_each_seed_and_the_mean_are_drawn():
    fig = figures.learning_curves({"grpo": [RUN, RUN]}, {"right": "share", "used": "groups"})
    lines = fig.axes[0].get_lines()
    assert len(lines) == 3
    assert (lines[2].get_ydata()[0], lines[2].get_ydata()[-1]) == (0.2, 0.6)
    assert fig.axes[1].get_lines()[0].get_ydata() == [0.5]


def test_pass_curves_have_a_panel_for_each_kind():
    fig = figures.pass_curves(
        [1, 4], {"3": {"before": [[0.1, 0.3]]}, "5": {"before": [[0, 1]]}}
    )
    assert [ax.get_title() for ax in fig.axes] == ["3", "5"]
    assert fig.axes[1].get_lines()[-1].get_ydata().tolist() == [0, 1]


def test_votes_show_the_mean_of_the_seeds():
    fig = figures.votes([1, 2], {"majority": np.array([[0.2, 0.4], [0.4, 0.8]])})
    np.testing.assert_allclose(fig.axes[0].get_lines()[0].get_ydata(), [0.3, 0.6])


def test_a_wrong_verifier_has_what_it_pays_and_what_is_right():
    ax = figures.wrong_verifiers({"anywhere": [RUN]}).axes[0]
    assert [line.get_ydata()[-1] for line in ax.get_lines()[:4:2]] == [0.9, 0.6]
