"""What the page calls plot: its figures and demos, and those that it shares."""

from mathlm.plot import style

from .demos import rnn_trace_demo, weight_power_demo
from .figures import (
    by_distance,
    clipping_runs,
    memory_horizon,
    recurrent_race,
    smoothing_by_order,
    unrolled_network,
    weight_powers,
)

__all__ = [
    "by_distance",
    "clipping_runs",
    "memory_horizon",
    "recurrent_race",
    "rnn_trace_demo",
    "smoothing_by_order",
    "style",
    "unrolled_network",
    "weight_power_demo",
    "weight_powers",
]
