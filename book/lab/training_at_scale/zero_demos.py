"""The stages of ZeRO, and torch's own DDP and FSDP, on two processes and on one."""

from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from mathlm.optim import AdamW
from mathlm.optim.clipping import local
from mathlm.train import (
    TokenWindows,
    Trainer,
    TrainerConfig,
    distribute,
    next_token,
)
from mathlm.train.distributed import rank, ranks
from mathlm.train.parallel import Kind

from .one_step import (
    CONTEXT,
    VOCABULARY,
    apart,
    batch,
    gpt,
    layers,
    loss,
)
from .traffic import Traffic, step_bytes
from .zero import ZeroAdam, flat

STEPS = 3


def adam_alone() -> Tensor:
    """Parameters after some steps of torch's Adam in one process."""
    model, (ids, targets) = nn.Sequential(*layers()), batch()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    for _ in range(STEPS):
        optimizer.zero_grad()
        loss(model(ids), targets).backward()
        optimizer.step()
    return nn.utils.parameters_to_vector(model.parameters()).detach()


def zero(stage: int) -> dict[str, Any]:
    """Steps of one stage: distance from one process, bytes held, and bytes sent in a step."""
    ids, targets = (part.chunk(ranks())[rank()] for part in batch())
    optimizer, traffic = ZeroAdam(layers(), stage), Traffic()
    size = sum(flat(layer).nbytes for layer in layers())
    with traffic.counting():
        for _ in range(STEPS):
            optimizer.step(ids, lambda logits: loss(logits, targets))
    sent = None if traffic.sent is None else traffic.sent / STEPS
    found: dict[str, Any] = {"stage": stage}
    found |= {"difference": apart(optimizer.parameters(), adam_alone())}
    found |= {"bytes": sent, "theory": step_bytes(stage, size, ranks())}
    return found | {"held": optimizer.held_bytes(), "size": size}


def trainer(kind: Kind = "sum", folder: str | Path | None = None, steps: int = 3) -> Trainer:
    """A run of the Trainer over a tiny text, by any number of processes."""
    ids = [(i * i + i // 7) % VOCABULARY for i in range(600)]
    data = TokenWindows(ids, context=CONTEXT, batch_size=8, vocab_size=VOCABULARY)
    model = distribute(gpt(), kind)
    config = TrainerConfig(steps=steps, parallel=kind, folder=folder)
    return Trainer(model, next_token, data, AdamW(model.parameters(), lr=1e-2), config)


def by_torch(kind: Kind, folder: Path) -> dict[str, Any]:
    """Losses, norms and bytes of a short run that leaves a checkpoint."""
    run, traffic = trainer(kind, folder / kind), Traffic()
    held = sum(local(p).nbytes for p in run.parameters)
    with traffic.counting():
        for _ in range(run.config.steps):
            run.train_step()
    sent = None if traffic.sent is None else traffic.sent / run.config.steps
    run = trainer(kind, folder / kind)
    history = run.fit()
    losses, norms = ([record[name] for record in history] for name in ("loss", "grad_norm"))
    return {"losses": losses, "norms": norms, "held": held, "bytes": sent}
