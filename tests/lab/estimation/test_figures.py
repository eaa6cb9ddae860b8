import numpy as np
import pytest

from lab.estimation import figures

X = np.linspace(-3, 3, 31)
FIGURES = {
    "kl": lambda: figures.kl_fits(X, np.exp(-(X**2)), {"forward": (0.0, 1.0)}),
    "order": lambda: figures.entropy_by_order([1, 2], {100: [4, 1]}, [4, 3], (0.6, 1.3)),
    "prior": lambda: figures.prior_strength([0.1, 1.0], {"100": [3.0, 4.0]}),
}


@pytest.mark.parametrize("draw", FIGURES.values(), ids=FIGURES)
def test_axes_are_labeled_and_the_figure_fits_a_phone(draw):
    (ax,) = draw().axes
    assert ax.get_ylabel()
    assert ax.get_xlabel()
    assert ax.figure.get_figwidth() <= 6.4


def test_a_fit_is_drawn_with_its_mean_and_width():
    line = FIGURES["kl"]().axes[0].lines[0]
    assert line.get_xdata()[np.argmax(line.get_ydata())] == pytest.approx(0, abs=1e-12)
    assert line.get_ydata().max() == pytest.approx(1 / np.sqrt(2 * np.pi))
