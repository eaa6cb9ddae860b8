"""Figures that several pages share: what is drawn of which numbers."""

import numpy as np
import pytest
import torch

from mathlm.plot.figures import curve_panels, mask_panels


@pytest.mark.parametrize("values", [[3.0, 2.0], np.array([3.0, 2.0]), torch.tensor([3.0, 2.0])])
def test_a_curve_of_every_kind_of_numbers_is_drawn(values):
    (line,) = curve_panels([1, 2], {"loss": {"GPT": values}}, "step").axes[0].lines
    assert line.get_xydata().tolist() == [[1, 3], [2, 2]]


def test_more_curves_than_colors_are_drawn_and_none_looks_like_another():
    curves = {str(i): [float(i), 1.0] for i in range(12)}
    lines = curve_panels([1, 2], {"loss": curves}, "step").axes[0].lines
    assert [line.get_ydata()[0] for line in lines] == [*range(12)]
    assert len({(line.get_color(), line.get_marker()) for line in lines}) == 12


def test_an_influence_is_drawn_unless_it_is_zero():
    figure = mask_panels({"a": np.array([[-0.5, 0.0], [1e-9, 2.0]])}, ["x", "y"])
    assert figure.axes[0].images[0].get_array().tolist() == [[True, False], [True, True]]
