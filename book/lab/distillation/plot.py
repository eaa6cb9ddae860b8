"""What the page calls plot: its figures."""

from mathlm.plot import style

from .figures import gains, product_fits, step_divergences

__all__ = ["gains", "product_fits", "step_divergences", "style"]
