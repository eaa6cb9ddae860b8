"""What the page calls plot: its figures."""

from mathlm.plot import style

from .figures import ingredient_costs, ingredient_sweeps, loss_slices, loss_surface

__all__ = ["ingredient_costs", "ingredient_sweeps", "loss_slices", "loss_surface", "style"]
