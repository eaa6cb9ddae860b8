"""What the page calls plot: its figures and demos, and those that it shares."""

from mathlm.plot import style

from .demos import isoflop_demo
from .figures import (
    allocation_map,
    curves_of_a_law,
    isoflop_parabolas,
    law_and_held_out,
    left_out,
    lifetime_sizes,
    loss_to_accuracy,
    power_law_axes,
    rates_across_widths,
    rates_tried,
    repeated_epochs,
    residuals_by_compute,
    training_envelope,
)

__all__ = [
    "allocation_map",
    "curves_of_a_law",
    "isoflop_demo",
    "isoflop_parabolas",
    "law_and_held_out",
    "left_out",
    "lifetime_sizes",
    "loss_to_accuracy",
    "power_law_axes",
    "rates_across_widths",
    "rates_tried",
    "repeated_epochs",
    "residuals_by_compute",
    "style",
    "training_envelope",
]
