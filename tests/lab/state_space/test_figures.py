import numpy as np

from lab.state_space import plot


def test_a_mask_is_drawn_for_each_title():
    fig = plot.decay_masks({"a": np.eye(3), "b": np.tri(3)})
    assert [ax.get_title() for ax in fig.axes[:2]] == ["a", "b"]
    np.testing.assert_array_equal(fig.axes[1].images[0].get_array(), np.tri(3))


def test_work_is_drawn_over_chunks():
    ax = plot.chunk_work([1, 2], {"total": [3.0, 4.0]}, 2).axes[0]
    np.testing.assert_array_equal(ax.lines[0].get_ydata(), [3.0, 4.0])


def test_recall_has_a_curve_for_each_arm_and_size():
    curves = {("decay", 8): {4: (0.5, 0.1)}, ("attention", 8): {4: (1.0, 0.0)}}
    fig = plot.recall_by_pairs(curves, 0.1)
    assert [t.get_text() for t in fig.legends[0].texts] == ["decay, N = 8", "attention"]
