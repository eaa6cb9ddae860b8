"""What the page calls plot: its figures and demos, and those that it shares."""

from mathlm.plot import style

from .demos import jacobian_demo, secant_demo
from .figures import (
    amplification,
    computation_graph,
    critical_points,
    curvature_spectrum,
    difference_errors,
    downhill,
    edge_of_stability,
    gradient_cost,
    landscape,
    line_through_loss,
    secants,
    slope_by_direction,
)

__all__ = [
    "amplification",
    "computation_graph",
    "critical_points",
    "curvature_spectrum",
    "difference_errors",
    "downhill",
    "edge_of_stability",
    "gradient_cost",
    "jacobian_demo",
    "landscape",
    "line_through_loss",
    "secant_demo",
    "secants",
    "slope_by_direction",
    "style",
]
