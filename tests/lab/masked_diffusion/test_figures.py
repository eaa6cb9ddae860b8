"""A figure shows each curve and each level, and names them."""

import matplotlib.pyplot as plt

from lab.masked_diffusion.figures import curves


def test_curves_and_levels_are_drawn_and_named():
    fig = curves([1, 2, 4], {"a": [3, 2, 1], "b": [1, 1, 1]}, ("steps", "bits"), {"limit": 0.5})
    (ax,) = fig.axes
    assert [line.get_label() for line in ax.lines] == ["a", "b", "limit"]
    assert ax.lines[0].get_ydata().tolist() == [3, 2, 1]
    assert (ax.get_xlabel(), ax.get_ylabel(), ax.get_xscale()) == ("steps", "bits", "log")
    plt.close(fig)
