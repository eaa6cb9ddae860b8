"""Policies trained on samples in a world that can be listed, and how far they miss its best.

The trainer sees what it would see anywhere: texts, their rewards and log-probabilities. What it
should have found is known, and compared with where it ends.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor, nn

from ...errors import ConfigError
from ...models import GPT
from ...optim import AdamW
from ...train import Trainer, TrainerConfig
from ...train.batches import Batch
from .. import PolicyAndValue, ValueModel
from . import World
from .listed_rollouts import ListedRollouts
from .policy_run_config import PolicyConfig

WARM_UP = 20  # steps

Objective = Callable[[nn.Module, Batch], tuple[Tensor, int]]


@dataclass(frozen=True, eq=False)
class PolicyRun:
    """What came of a run.

    Attributes:
        logp: log π(y | x) at the end, (P, Y) [nats].
        policy: The model.
        path: The truth at every look: see :func:`truth`, with the iteration.
        cpu_seconds: What it took.
    """

    logp: Tensor
    policy: nn.Module
    path: list[dict[str, float | int]]
    cpu_seconds: float


@torch.no_grad()
def truth(world: World, logp: Tensor, beta: float | int) -> dict[str, float]:
    """Exact numbers of a policy, means over prompts."""
    numbers = {
        "to_optimum": world.kl(logp, world.optimum(beta).logp),
        "kl": world.kl(logp),
        "reward": world.expectation(logp, world.rewards),
        "value": world.objective(logp, beta),
        "entropy": -world.expectation(logp, logp),
    }
    return {name: float(x.mean()) for name, x in numbers.items()}


def train_policy(
    world: World,
    objective: Objective,
    credit: Callable[[Batch, int], Batch],
    config: PolicyConfig | None = None,
    *,
    values: bool = False,
    judge: World | None = None,
    **changes: Any,
) -> PolicyRun:
    """Train a copy of the reference on samples.

    Args:
        world: With a reference model; its rewards are what the policy is trained for.
        objective: One of the objectives of :mod:`mathlm.align`; with ``read`` a
            :class:`ListedReader` it costs the same for any number of rows.
        credit: From rewards to advantages.
        config: Sizes; None = the usual ones.
        values: Whether a value model is trained along.
        judge: World whose rewards the path is judged by; None = the same.
        **changes: Fields of the config.
    """
    began, c = time.process_time(), replace(config or PolicyConfig(), **changes)
    policy = world.reference()
    value = ValueModel(_body(world)) if values else None
    sizes: dict[str, Any] = {"group_size": c.group_size, "epochs": c.epochs, "seed": c.seed}
    rollouts = ListedRollouts(world, policy, credit, value=value, **sizes)
    path: list[dict[str, float | int]] = []

    def look(done: int) -> Tensor:
        with torch.no_grad():
            logp = world.log_probabilities(policy)
        path.append({"iteration": done, **truth(judge or world, logp, c.beta)})
        return logp

    def data(step: int) -> Batch:
        if step % (c.epochs * c.every) == 0:
            look(step // c.epochs)
        return rollouts(step)

    _fit(policy if value is None else PolicyAndValue(policy, value), objective, data, c)
    return PolicyRun(look(c.iterations), policy, path, time.process_time() - began)


def _fit(model: nn.Module, objective: Objective, data: Any, c: PolicyConfig) -> None:
    steps = c.iterations * c.epochs
    optimizer = AdamW(model.parameters(), c.lr, (0.9, c.second_decay), weight_decay=0.0)

    def schedule(step: int) -> float:
        return c.lr * min(1.0, (step + 1) / WARM_UP) * (1 - step / steps)

    config = TrainerConfig(steps=steps, schedule=schedule, seed=c.seed, log_every=steps)
    Trainer(model, objective, data, optimizer, config).fit()


def _body(world: World) -> GPT:
    """Where a value model starts: a copy of the reference."""
    body = world.reference()
    if not isinstance(body, GPT):
        raise ConfigError(f"a value model starts from a GPT, not a {type(body).__name__}")
    return body
