import matplotlib.pyplot as plt
import numpy as np
import pytest

from lab.training_data import figures


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")


def test_collision_curves_put_the_measured_points_beside_their_curve():
    fig = figures.collision_curves([0.0, 1.0], {"r": [0.0, 1.0]}, {"r": ([0.5], [0.4])})
    curve, points = fig.axes[0].get_lines()
    assert curve.get_color() == points.get_color()
    assert (points.get_xdata()[0], points.get_ydata()[0]) == (0.5, 0.4)


def test_packed_mask_leaves_blank_who_may_not_attend():
    mask = np.array([[True, False], [False, True]])
    shown = figures.packed_mask(mask, [0, 1]).axes[0].images[0].get_array()
    assert np.ma.filled(shown, -1).tolist() == [[1, -1], [-1, 2]]


def test_pipeline_stages_say_what_is_left_and_what_was_dropped():
    fig = figures.pipeline_stages({"raw": 10, "quality": 7}, {"raw": "all", "quality": "junk"})
    words = [text.get_text() for text in fig.axes[0].texts]
    assert words == ["raw: 10", "all", "quality: 7 left, 3 dropped", "junk"]
    assert [bar.get_width() for bar in fig.axes[0].patches] == pytest.approx([1, 0.7, 0.3])
