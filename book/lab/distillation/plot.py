"""What the page calls plot: its figures."""

from mathlm.plot import style

from .figures import gain_curves, product_fits, step_divergences

__all__ = ["gain_curves", "product_fits", "step_divergences", "style"]
