"""What the page calls plot: its figures and demos, and those that it shares."""

from mathlm.plot import head_maps, influence_maps, style

from .demos import attention_cost_demo, attention_matrix_demo
from .figures import (
    attention_steps,
    caught_bugs,
    cost_by_length,
    head_grid,
    loss_bars,
    peeking_runs,
    reach_by_distance,
    sink_by_layer,
)

__all__ = [
    "attention_cost_demo",
    "attention_matrix_demo",
    "attention_steps",
    "caught_bugs",
    "cost_by_length",
    "head_grid",
    "head_maps",
    "influence_maps",
    "loss_bars",
    "peeking_runs",
    "reach_by_distance",
    "sink_by_layer",
    "style",
]
