"""What the page calls plot: its figures and demos, and those that it shares."""

from mathlm.plot import style

from .demos import clip_demo, tilted_policy_demo
from .figures import (
    clipped_gains,
    credit_errors,
    ends_by_rate,
    ends_of_runs,
    gradient_noise,
    kl_estimates,
    reward_frontier,
    ways_to_optimum,
)

__all__ = [
    "clip_demo",
    "clipped_gains",
    "credit_errors",
    "ends_by_rate",
    "ends_of_runs",
    "gradient_noise",
    "kl_estimates",
    "reward_frontier",
    "style",
    "tilted_policy_demo",
    "ways_to_optimum",
]
