"""A training loop as one writes it oneself, with the switches that faults turn."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import nn

from mathlm.align import PolicyBatches
from mathlm.optim import warmup_cosine
from mathlm.train.objectives import Batch, Objective

Metrics = Callable[[nn.Module], dict[str, float]]


@dataclass(frozen=True, kw_only=True, eq=False)
class Setup:
    """All that a run is made of; a fault is another setup.

    Args:
        kind: Of run, as ``mathlm diagnose`` names it.
        model: Model.
        objective: From model and batch to the sum of losses and their number.
        data: From a step to its batch.
        held_out: Batches to evaluate on.
        metrics: What is measured beside the held-out loss.
        steps: Of the run.
        schedule: From a step to its step size; None = a warm-up and a cosine to ``peak``.
        peak: Largest step size.
        warmup: Steps until then.
        clip: Largest norm of the gradient; None = not clipped.
        weight_decay: Of AdamW.
        zero_grad: Whether gradients are set to zero after a step.
        optimized: Model whose parameters the optimizer holds; None = ``model``.
        evaluated_in_training: Whether dropout stays on while the held-out loss is computed.
        log_every: Steps between two records.
        eval_every: Steps between two evaluations.
    """

    kind: str
    model: nn.Module
    objective: Objective
    data: Callable[[int], Batch]
    held_out: Sequence[Batch] = ()
    metrics: Metrics | None = None
    steps: int = 240
    schedule: Callable[[int], float] | None = None
    peak: float = 3e-3
    warmup: int = 20
    clip: float | None = 1.0
    weight_decay: float = 0.01
    zero_grad: bool = True
    optimized: nn.Module | None = None
    evaluated_in_training: bool = False
    log_every: int = 4
    eval_every: int = 20
    more: dict[str, Any] = field(default_factory=dict)

    @property
    def rate(self) -> Callable[[int], float]:
        """Step size of each step."""
        usual = warmup_cosine(self.peak, self.warmup, self.steps, final=self.peak / 10)
        return self.schedule or usual


def fit(setup: Setup) -> list[dict[str, float]]:
    """Train; returns the history, which ends early at a loss that is not finite."""
    held = (setup.optimized or setup.model).parameters()
    optimizer = torch.optim.AdamW(held, weight_decay=setup.weight_decay)
    history: list[dict[str, float]] = []
    for step in range(setup.steps):
        lr = setup.rate(step)
        for group in optimizer.param_groups:
            group["lr"] = lr
        loss, norm = step_of(setup, step, optimizer)
        record = {"step": step + 1, "loss": loss, "grad_norm": norm, "lr": lr}
        last = step + 1 == setup.steps or not math.isfinite(loss)
        if last or step % setup.eval_every == setup.eval_every - 1:
            record |= evaluate(setup)
        if last or step % setup.log_every == 0 or "held_out_loss" in record:
            history.append(record)
        if last:
            break
    return history


def step_of(setup: Setup, step: int, optimizer: torch.optim.Optimizer) -> tuple[float, float]:
    """One step of the optimizer; returns the mean loss and the norm of its gradient."""
    setup.model.train()
    loss, count = setup.objective(setup.model, setup.data(step))
    (loss / count).backward()
    bound = setup.clip or math.inf
    norm = nn.utils.clip_grad_norm_(setup.model.parameters(), bound)
    optimizer.step()
    if setup.zero_grad:
        optimizer.zero_grad()
    return loss.item() / count, float(norm)


@torch.no_grad()
def evaluate(setup: Setup) -> dict[str, float]:
    """The held-out loss, and what is measured beside it."""
    if not setup.held_out:
        return {}
    setup.model.train(setup.evaluated_in_training)
    parts = [setup.objective(setup.model, batch) for batch in setup.held_out]
    found = {"held_out_loss": sum(float(x) for x, _ in parts) / sum(n for _, n in parts)}
    return found | (setup.metrics(setup.model) if setup.metrics else {})


def run(setup: Setup) -> dict[str, Any]:
    """Train, and return a record that ``mathlm diagnose`` reads."""
    record: dict[str, Any] = {"kind": setup.kind, "vocab_size": 256, "clip": setup.clip}
    group = {"weight_decay": setup.weight_decay}
    record["config"] = {"optimizer": {"class": "AdamW", "group 0": group}} | setup.more
    record["results"] = {"before": setup.metrics(setup.model) if setup.metrics else {}}
    record["history"] = fit(setup)
    if isinstance(setup.data, PolicyBatches):
        setup.data.look_back()
        record["rollouts"] = [without_samples(entry) for entry in setup.data.history]
    return record


def without_samples(entry: dict[str, Any]) -> dict[str, float]:
    """The numbers of an iteration."""
    return {name: value for name, value in entry.items() if name != "samples"}
