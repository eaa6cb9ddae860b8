"""What the page calls plot: its figures, and those that it shares."""

from mathlm.plot import mask_panels, probe_table, style

from .figures import (
    choice_table,
    mistake_costs,
    noticed_change,
    probe_learning,
    running_logit,
)

__all__ = [
    "choice_table",
    "mask_panels",
    "mistake_costs",
    "noticed_change",
    "probe_learning",
    "probe_table",
    "running_logit",
    "style",
]
