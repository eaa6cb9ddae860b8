"""What the page calls plot: its figures, and the style."""

from mathlm.plot import style

from .figures import (
    curves_of_success,
    steps_on_one_batch,
    weights_by_ratio,
    weights_by_success,
)

__all__ = [
    "curves_of_success",
    "steps_on_one_batch",
    "style",
    "weights_by_ratio",
    "weights_by_success",
]
