"""How long and how to train."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from ..errors import ConfigError
from .device import DeviceName


@dataclass(frozen=True, kw_only=True)
class TrainerConfig:
    """How long and how to train.

    Args:
        steps: Optimizer steps of the whole run.
        schedule: Step number to step size; None keeps the optimizer's own.
        clip: Largest norm of the gradient; None only measures it.
        micro_batches: Parts that each rank cuts its batch into, one at a time in memory.
        seed: Seed of dropout and of whatever else the objective draws from torch.
        device: Where the model runs.
        log_every: Steps between two records of the history.
        eval_every: Steps between two evaluations; None evaluates after the last step only.
        save_every: Steps between two checkpoints; None saves after the last step only.
        keep: Newest checkpoints that stay; None keeps all.
        folder: Where checkpoints go; None makes none.

    Raises:
        ConfigError: If a number is not positive.
    """

    steps: int
    schedule: Callable[[int], float] | None = None
    clip: float | None = 1.0
    micro_batches: int = 1
    seed: int = 0
    device: DeviceName = "cpu"
    log_every: int = 1
    eval_every: int | None = None
    save_every: int | None = None
    keep: int | None = 2
    folder: Path | str | None = None

    def __post_init__(self) -> None:
        names = (
            "steps",
            "clip",
            "micro_batches",
            "log_every",
            "eval_every",
            "save_every",
            "keep",
        )
        for name in names:
            value = getattr(self, name)
            if value is not None and not value > 0:
                raise ConfigError(f"{name}={value} must be positive")
        if self.seed < 0:
            raise ConfigError(f"seed={self.seed} must not be negative")
