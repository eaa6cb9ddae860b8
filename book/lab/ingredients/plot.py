"""What the page calls plot: its figures."""

from mathlm.plot import style

from .figures import costs_by_step_size, ingredient_costs, loss_slices, loss_surface

__all__ = [
    "costs_by_step_size",
    "ingredient_costs",
    "loss_slices",
    "loss_surface",
    "style",
]
