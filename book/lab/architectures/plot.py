"""What the page calls plot: its figures and demos, and those that it shares."""

from mathlm.plot import mask_panels, probe_table, style

from .demos import architecture_calculator_demo
from .figures import (
    choice_table,
    intensity_lines,
    mistake_costs,
    noticed_change,
    probe_learning,
    rule_of_six,
    running_logit,
    stacked_parts,
)

__all__ = [
    "architecture_calculator_demo",
    "choice_table",
    "intensity_lines",
    "mask_panels",
    "mistake_costs",
    "noticed_change",
    "probe_learning",
    "probe_table",
    "rule_of_six",
    "running_logit",
    "stacked_parts",
    "style",
]
