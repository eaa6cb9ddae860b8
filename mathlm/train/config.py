"""How long and how to train."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import get_args

from ..errors import ConfigError
from .device import DeviceName
from .parallel import Kind
from .precision import LossScale, Precision


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
        precision: Of the matrix products: as the weights are, or 16 bits where torch's autocast
            takes them.
        loss_scale: How the loss is scaled under ``float16``.
        ema: Decay of the running mean of the weights, which is evaluated too and saved; None
            keeps no mean.
        parallel: How the model was distributed over the ranks; see
            :func:`mathlm.train.distribute`.
        compile: Whether ``torch.compile`` compiles the model before the first step.
        patience: Evaluations in a row without a new least held-out loss after which the run
            ends, before ``steps`` if need be; the model then has the weights of the best one.
            Checkpoints hold these beside the last weights, from which a run goes on; a running
            mean stays that of the last step. None runs all steps and ends with the last
            weights.

    Raises:
        ConfigError: If a number is not positive, or outside its range, or a name unknown, or
            there is patience without ``eval_every``.
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
    precision: Precision = "full"
    loss_scale: LossScale = field(default_factory=LossScale)
    ema: float | None = None
    parallel: Kind = "sum"
    compile: bool = False
    patience: int | None = None

    def __post_init__(self) -> None:
        names = (
            "steps",
            "clip",
            "micro_batches",
            "log_every",
            "eval_every",
            "save_every",
            "keep",
            "patience",
        )
        for name in names:
            value = getattr(self, name)
            if value is not None and not value > 0:
                raise ConfigError(f"{name}={value} must be positive")
        if self.seed < 0:
            raise ConfigError(f"seed={self.seed} must not be negative")
        if self.patience is not None and self.eval_every is None:
            raise ConfigError(
                f"patience={self.patience} counts evaluations, and without eval_every there is "
                "one only: give both"
            )
        if self.ema is not None and not 0 < self.ema < 1:
            raise ConfigError(f"ema={self.ema} must lie between 0 and 1")
        for name, choices in (("precision", get_args(Precision)), ("parallel", get_args(Kind))):
            if getattr(self, name) not in choices:
                allowed = ", ".join(map(repr, choices))
                raise ConfigError(f"{name}={getattr(self, name)!r} must be one of {allowed}")
