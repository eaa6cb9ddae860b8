"""What two runs must share to be one."""

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import nn

from .config import TrainerConfig
from .parallel import bare
from .record import describe

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
    model = bare(model)
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
