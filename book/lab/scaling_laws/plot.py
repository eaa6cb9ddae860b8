"""What the page calls plot: its figures and demos, and those that it shares."""

from mathlm.plot import style

from .demos import isoflop_demo
from .figures import (
    allocation_map,
    isoflop_parabolas,
    law_and_held_out,
    lifetime_sizes,
    loss_to_accuracy,
    power_law_axes,
    rates_across_widths,
    repeated_epochs,
    training_envelope,
)

__all__ = [
    "allocation_map",
    "isoflop_demo",
    "isoflop_parabolas",
    "law_and_held_out",
    "lifetime_sizes",
    "loss_to_accuracy",
    "power_law_axes",
    "rates_across_widths",
    "repeated_epochs",
    "style",
    "training_envelope",
]
