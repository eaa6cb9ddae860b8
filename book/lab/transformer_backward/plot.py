"""What the page calls plot: its figures and demos, and those that it shares."""

from mathlm.plot import style

from .demos import gradient_fault_demo, gradient_trace_demo
from .figures import (
    error_by_parameter,
    error_by_step,
    faults_caught,
    gradient_routes,
    gradient_sizes,
    losses_with_faults,
    tied_contributions,
    training_by_hand,
    two_machines,
)

__all__ = [
    "error_by_parameter",
    "error_by_step",
    "faults_caught",
    "gradient_fault_demo",
    "gradient_routes",
    "gradient_sizes",
    "gradient_trace_demo",
    "losses_with_faults",
    "style",
    "tied_contributions",
    "training_by_hand",
    "two_machines",
]
