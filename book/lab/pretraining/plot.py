"""What the page calls plot: its figures and demos, and those that it shares."""

from mathlm.plot import style

from .demos import bands_demo, samples_demo
from .figures import (
    bits_by_order,
    bits_in_context,
    bits_in_word,
    collision_curves,
    ingredient_costs,
    ingredient_sweeps,
    long_run,
    loss_slices,
    loss_surface,
    packed_mask,
    schedule_and_loss,
)

__all__ = [
    "bands_demo",
    "bits_by_order",
    "bits_in_context",
    "bits_in_word",
    "collision_curves",
    "ingredient_costs",
    "ingredient_sweeps",
    "long_run",
    "loss_slices",
    "loss_surface",
    "packed_mask",
    "samples_demo",
    "schedule_and_loss",
    "style",
]
