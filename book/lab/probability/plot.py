"""What the page calls plot: its figures and demos, and those that it shares."""

from mathlm.plot import reliability, style

from .demos import cross_entropy_demo, dice_demo
from .figures import (
    belief_by_letter,
    normal_clouds,
    penalties,
    probability_step,
    sums_of_dice,
)

__all__ = [
    "belief_by_letter",
    "cross_entropy_demo",
    "dice_demo",
    "normal_clouds",
    "penalties",
    "probability_step",
    "reliability",
    "style",
    "sums_of_dice",
]
