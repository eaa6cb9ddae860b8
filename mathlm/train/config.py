"""How long and how to train."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, get_args

import torch
from torch import nn

from ..errors import ConfigError
from .distributed import DeviceName
from .log_line import LogLines
from .loggers import Logger
from .parallel import Kind, unwrap
from .precision import LossScale, Precision
from .record import describe

LINES = LogLines()


@dataclass(frozen=True, kw_only=True)
class TrainerConfig:
    """How long and how to train.

    Args:
        steps: Steps of the whole run, with those that are skipped because a scaled gradient
            overflowed.
        schedule: Number of updates done so far to step size; None keeps the optimizer's own.
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
        lines: How the lines of the log are worded.
        loggers: Functions that get each record of the log, with the speed, on the first rank;
            such as :func:`mathlm.train.run_loggers` makes.

    Raises:
        ConfigError: If a number is not positive, or outside its range, or a name unknown, or
            there is patience without ``eval_every``.

    Example:
        >>> from mathlm.optim import warmup_cosine
        >>> schedule = warmup_cosine(peak=1e-3, warmup=10, steps=100)
        >>> config = TrainerConfig(steps=100, schedule=schedule, eval_every=50)
        >>> config.clip
        1.0
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
    lines: LogLines = LINES
    loggers: tuple[Logger, ...] = ()

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
            if value is not None and name != "clip" and value != int(value):
                raise ConfigError(f"{name}={value} must be a whole number")
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


def scheduled(schedule: Callable[[int], float], updates: int) -> float:
    """The step size after so many updates.

    Raises:
        ConfigError: If it is negative, which would climb the loss, or not finite.
    """
    lr = schedule(updates)
    if not 0 <= lr < math.inf:
        raise ConfigError(
            f"the schedule gave the step size {lr} after {updates} updates; it must be finite "
            "and not negative"
        )
    return float(lr)


NOT_OPTIONS = {"params", "differentiable"}  # torch adds the second when a state is loaded


def options_of(optimizer: torch.optim.Optimizer) -> list[dict[str, Any]]:
    """The options of each group of an optimizer, without its parameters."""
    return [
        {name: value for name, value in group.items() if name not in NOT_OPTIONS}
        for group in optimizer.param_groups
    ]


def run_identity(
    model: nn.Module,
    objective: Any,
    data: Any,
    optimizer: torch.optim.Optimizer,
    options: Sequence[Mapping[str, Any]],
    config: TrainerConfig,
) -> dict[str, Any]:
    """What decides the weights after each step, as JSON data.

    The number of ranks is not among it, nor how they share the work: the batch of a step is cut
    anew for them.
    """
    model = unwrap(model)
    said = data.describe() if hasattr(data, "describe") else describe(data)
    return {
        "data_sha256": getattr(data, "sha256", None),
        "data": said,
        "model": describe(getattr(model, "config", type(model))),
        "objective": describe(objective),
        "optimizer": {"class": type(optimizer).__name__} | named_options(options, config),
        "schedule": describe(config.schedule),
        "clip": config.clip,
        "micro_batches": config.micro_batches,
        "seed": config.seed,
        "precision": config.precision,
        "loss_scale": describe(config.loss_scale) if config.precision == "float16" else None,
        "ema": config.ema,
    }


def named_options(
    options: Sequence[Mapping[str, Any]], config: TrainerConfig
) -> dict[str, Any]:
    """Options of each group of the optimizer; not the step size, if a schedule sets it."""
    hidden = set() if config.schedule is None else {"lr"}
    return {
        f"group {i}": describe({k: v for k, v in own.items() if k not in hidden})
        for i, own in enumerate(options)
    }
