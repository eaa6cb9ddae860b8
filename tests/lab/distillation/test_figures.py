"""What the figures draw, read back from their axes."""

import numpy as np
import pytest

from lab.distillation import figures

FIGURES = {
    "fits": lambda: figures.product_fits(
        [0, 0.5, 1], {"forward": [2, 1, 2]}, {"forward": [0.5]}
    ),
    "steps": lambda: figures.step_divergences({"one": {"own": [1, 2]}, "two": {"own": [3, 4]}}),
    "gain": lambda: figures.gain_curves({"plain": ([1024, 2048], [[5, 6], [4, 4]])}, 3.0),
}


@pytest.mark.parametrize("draw", FIGURES.values(), ids=FIGURES)
def test_axes_are_named_and_fit_a_phone(draw):
    figure = draw()
    assert figure.axes[0].get_ylabel()
    assert all(ax.get_xlabel() for ax in figure.axes)
    assert figure.get_figwidth() <= 6.4


def test_the_end_lies_on_its_curve():
    _, end = FIGURES["fits"]().axes[0].lines
    assert (end.get_xdata()[0], end.get_ydata()[0]) == (0.5, 1)


def test_each_student_has_a_panel():
    one, two = FIGURES["steps"]().axes
    assert (one.get_title(), two.get_title()) == ("one", "two")
    np.testing.assert_allclose(two.lines[0].get_ydata(), [3, 4])


def test_the_line_is_the_mean_of_the_seeds_and_the_teacher_is_drawn():
    ax = FIGURES["gain"]().axes[0]
    np.testing.assert_allclose(ax.lines[0].get_ydata(), [5.5, 4])
    np.testing.assert_allclose(ax.lines[-1].get_ydata(), 3)
    assert [t.get_text() for t in ax.get_xticklabels()] == ["1", "2"]


def test_each_way_of_the_record_has_its_line_through_its_own_sizes():
    ways = {"plain": 5, "kl": 3, "samples": 1, "greedy": 1}
    record = {
        f"{way} {n}": [{"test": ways[way] + n / 1e6}] * 3
        for way in ways
        for n in (6144, 12288, 24576, 49152, 73728)[: ways[way]]
    }
    ax = figures.gains(record | {"teacher": {"test": 4.2}}).axes[0]
    lines = {line.get_label(): line.get_xydata() for line in ax.lines}
    assert lines["the text alone"].shape == (5, 2)
    np.testing.assert_allclose(lines["the teacher's logits on it"][-1], [24576, 3.024576])
    np.testing.assert_allclose(lines["its greedy answers"], [[6144, 1.006144]])
