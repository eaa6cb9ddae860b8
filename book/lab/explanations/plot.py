"""What the page calls plot: its figures and demos, and those that it shares."""

from mathlm.plot import style

from .demos import budget_demo
from .figures import (
    bill_ranges,
    data_wall,
    exponents_foretold,
    falling_errors,
    frequency_maps,
    interpolation_peak,
    known_by_rank,
    metrics_of_runs,
    stuck_by_width,
    two_accuracies,
)

__all__ = [
    "bill_ranges",
    "budget_demo",
    "data_wall",
    "exponents_foretold",
    "falling_errors",
    "frequency_maps",
    "interpolation_peak",
    "known_by_rank",
    "metrics_of_runs",
    "stuck_by_width",
    "style",
    "two_accuracies",
]
