"""What the page calls plot: its figures and its demo, and what it shares."""

from mathlm.plot import style

from .demos import kl_demo
from .figures import entropy_by_order, kl_fits, prior_strength

__all__ = ["entropy_by_order", "kl_demo", "kl_fits", "prior_strength", "style"]
