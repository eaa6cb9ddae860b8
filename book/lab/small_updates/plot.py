"""What the page calls plot: its figures and demos, and those that it shares."""

from mathlm.plot import style

from .demos import lora_calculator_demo, rank_kept_demo
from .figures import (
    best_step_sizes,
    energy_by_rank,
    forgotten_at_gain,
    losses_by_count,
    lost_in_merging,
    prefix_mixture,
    rank_sweep,
    update_sizes,
)

__all__ = [
    "best_step_sizes",
    "energy_by_rank",
    "forgotten_at_gain",
    "lora_calculator_demo",
    "losses_by_count",
    "lost_in_merging",
    "prefix_mixture",
    "rank_kept_demo",
    "rank_sweep",
    "style",
    "update_sizes",
]
