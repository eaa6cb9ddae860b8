"""What the page calls plot: its figures and demos, and those that it shares."""

from mathlm.plot import style

from .demos import chat_mask_demo, holding_on_demo
from .figures import (
    answer_by_place,
    divergence_on_line,
    gain_and_forgetting,
    kept_by_curvature,
    loss_by_examples,
    losses_by_step,
    losses_on_line,
    step_size_sweep,
    two_bowls,
)

__all__ = [
    "answer_by_place",
    "chat_mask_demo",
    "divergence_on_line",
    "gain_and_forgetting",
    "holding_on_demo",
    "kept_by_curvature",
    "loss_by_examples",
    "losses_by_step",
    "losses_on_line",
    "step_size_sweep",
    "style",
    "two_bowls",
]
