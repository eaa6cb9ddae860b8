"""What the page calls plot: its figures and demos, and those that it shares."""

from mathlm.plot import reliability, style

from .demos import cross_entropy_demo, dice_demo, kl_demo
from .figures import (
    belief_by_letter,
    entropy_by_order,
    kl_fits,
    penalties,
    prior_strength,
    probability_step,
    sums_of_dice,
)

__all__ = [
    "belief_by_letter",
    "cross_entropy_demo",
    "dice_demo",
    "entropy_by_order",
    "kl_demo",
    "kl_fits",
    "penalties",
    "prior_strength",
    "probability_step",
    "reliability",
    "style",
    "sums_of_dice",
]
