"""What the page calls plot: its figures and demos, and those that it shares."""

from mathlm.plot import head_maps, style

from .demos import logit_lens_demo, patching_demo
from .figures import (
    depth_curves,
    estimates_of_swaps,
    induction_forming,
    largest_shares,
    weights_and_writes,
)

__all__ = [
    "depth_curves",
    "estimates_of_swaps",
    "head_maps",
    "induction_forming",
    "largest_shares",
    "logit_lens_demo",
    "patching_demo",
    "style",
    "weights_and_writes",
]
