"""What the page calls plot: its figures and demo, and the style that all pages share."""

from mathlm.plot import style

from .demos import block_demo
from .figures import depth_panels, losses_by_kind, losses_by_rate, weight_gradients

__all__ = [
    "block_demo",
    "depth_panels",
    "losses_by_kind",
    "losses_by_rate",
    "style",
    "weight_gradients",
]
