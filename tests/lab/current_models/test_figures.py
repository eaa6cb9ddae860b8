import matplotlib.pyplot as plt
import numpy as np
import pytest

from lab.current_models import plot

DRAWN = {
    "window_masks": ({"window": np.tri(5), "all": np.tri(5)},),
    "cache_growth": ([1, 10, 100], {"all": [1, 10, 100], "one in 6": [1, 5, 20]}),
    "capped_scores": ([-1.0, 0.0, 1.0], {"cap 50": [-1.0, 0.0, 1.0]}),
    "growth_by_rate": ({"score": {"plain": {0.1: (1.0, 0.1), 1.0: (2.0, 0.1)}}},),
}


@pytest.mark.parametrize("name", DRAWN)
def test_a_figure_is_drawn_with_named_axes(name):
    figure = getattr(plot, name)(*DRAWN[name])
    assert all(ax.get_xlabel() for ax in figure.axes)
    plt.close(figure)
