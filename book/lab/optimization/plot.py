"""What the page calls plot: its figures and demos, and those that it shares."""

from mathlm.plot import style

from .demos import optimizer_demo, schedule_demo
from .figures import (
    clipping,
    convergence,
    early_adam,
    losses_by_schedule,
    muon_spectra,
    races,
    schedules,
    step_sizes,
    steps_by_batch,
    trajectories,
)

__all__ = [
    "clipping",
    "convergence",
    "early_adam",
    "losses_by_schedule",
    "muon_spectra",
    "optimizer_demo",
    "races",
    "schedule_demo",
    "schedules",
    "step_sizes",
    "steps_by_batch",
    "style",
    "trajectories",
]
