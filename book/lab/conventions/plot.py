"""What the page calls plot: its figures and demos, and those that it shares."""

from mathlm.plot import style

from .demos import causal_mask_demo
from .figures import agreement, asymptotics, mask_alignment, rotary_pairs, shift_curves

__all__ = [
    "agreement",
    "asymptotics",
    "causal_mask_demo",
    "mask_alignment",
    "rotary_pairs",
    "shift_curves",
    "style",
]
