"""Policies trained on samples in a world that can be listed, and how far they miss its best."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import pad

from ...errors import ConfigError
from ...models import GPT
from ...optim import AdamW
from ...train import Trainer, TrainerConfig
from ...train.objectives import Batch
from .. import (
    GRPO,
    PPO,
    CorrectedGRPO,
    DrGRPO,
    GroupCredit,
    PolicyAndValue,
    Reinforce,
    TokenCredit,
    ValueModel,
    centred_advantages,
    group_advantages,
    kl_k1,
    kl_k2,
    kl_k3,
    no_baseline,
)
from . import World, next_token_table


@dataclass(frozen=True, kw_only=True)
class PolicyConfig:
    """How long and on how much a policy is trained.

    Args:
        iterations: Times that the policy writes.
        group_size: Completions of each prompt that it writes each time.
        epochs: Steps on what it wrote.
        lr: Largest step size; it rises for 20 steps, then falls linearly.
        decay: Share of it that is gone at the end: 1 = it falls to 0, 0 = it stays.
        second_decay: β₂ of Adam: short runs forget their first gradients sooner.
        beta: Price of the divergence at which the end is judged [reward/nat].
        every: Iterations between two looks at the truth.
        seed: Of what is drawn.
    """

    iterations: int = 300
    group_size: int = 256
    epochs: int = 1
    lr: float = 3e-3
    decay: float = 1.0
    second_decay: float = 0.98
    beta: float = 0.5
    every: int = 10
    seed: int = 0


class ListedReader:
    """Log-probabilities and values of rows of a world that know their completion's number.

    As ``World.read``, which finds a row's place by its ids; here it is looked up.

    Args:
        world: Whose rows are read.
    """

    def __init__(self, world: World) -> None:
        self.world, self.before = world, world.prompts.shape[1] - 1

    def along(self, table: Tensor) -> Tensor:
        """A number of each token at each prefix as rows (P, Y, T), zeros in the prompt."""
        return pad(self.world.prefixes.along(table), (self.before, 0))

    def __call__(
        self, model: nn.Module, batch: Batch, *, temperature: float | int = 1.0
    ) -> Tensor:
        """Log-probabilities (B, T) of what is asked."""
        rows = self.along(self.world.token_table(model, temperature))
        return rows[batch["prompt_index"], batch["completion_index"]]

    def values(self, model: nn.Module, batch: Batch) -> Tensor:
        """Values (B, T) before each token of the completions."""
        rows = self.world.prefixes.before(self.world.value_table(model))
        return pad(rows, (self.before, 0))[batch["prompt_index"], batch["completion_index"]]


class ListedRollouts:
    """Completions drawn from the listed probabilities of a policy, as the data of a trainer.

    A batch has what :class:`mathlm.align.PolicyBatches` would give, for completions drawn
    from the same distribution. Nothing is done text by text: a thousand of them cost no more
    than ten.

    Args:
        world: Whose prompts are asked.
        policy: Writes.
        credit: From rewards to advantages.
        group_size: Completions of each prompt.
        epochs: Steps on what was written before the policy writes again.
        value: Gives values, or None.
        seed: Of the draws.
    """

    def __init__(
        self,
        world: World,
        policy: nn.Module,
        credit: Callable[[Batch, int], Batch],
        *,
        group_size: int,
        epochs: int = 1,
        value: nn.Module | None = None,
        seed: int = 0,
    ) -> None:
        self.world, self.policy, self.value, self.credit = world, policy, value, credit
        self.group_size, self.epochs = group_size, epochs
        self.read = ListedReader(world)
        self.reference = self.read.along(next_token_table(world, world.logp_ref))
        self.draws = torch.Generator().manual_seed(seed)
        self.batch: Batch = {}

    def __call__(self, step: int) -> Batch:
        """The batch of a step; at the first of an iteration the policy writes."""
        if step % self.epochs == 0:
            self.batch = self._written()
        return self.batch

    @torch.no_grad()
    def _written(self) -> Batch:
        logp = self.read.along(self.world.token_table(self.policy))
        chance, N = logp.sum(-1).exp(), self.group_size
        drawn = torch.multinomial(chance, N, replacement=True, generator=self.draws).flatten()
        asked = torch.arange(len(chance)).repeat_interleave(N)
        batch = self.world.batch(asked, drawn) | {
            "rewards": self.world.rewards[asked, drawn],
            "lengths": self.world.prefixes.real.sum(1)[drawn],
            "temperature": torch.ones(len(drawn)),
            "finished": self.world.prefixes.finished[drawn],
            "logp_old": logp[asked, drawn],
            "logp_ref": self.reference[asked, drawn],
        }
        if self.value is not None:
            batch["values"] = self.read.values(self.value, batch)
        return batch | self.credit(batch, N)


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
        return c.lr * min(1.0, (step + 1) / WARM_UP) * (1 - c.decay * step / steps)

    config = TrainerConfig(steps=steps, schedule=schedule, seed=c.seed, log_every=steps)
    Trainer(model, objective, data, optimizer, config).fit()


def _body(world: World) -> GPT:
    """Where a value model starts: a copy of the reference."""
    body = world.reference()
    if not isinstance(body, GPT):
        raise ConfigError(f"a value model starts from a GPT, not a {type(body).__name__}")
    return body


BETA = 0.5  # KL coefficient of the standard world [reward/nat]
TWICE: dict[str, Any] = {"share": 2, "epochs": 2}  # as many steps, on half of the texts
OFTEN: dict[str, Any] = {"share": 10, "epochs": 10, "every": 2}


@dataclass(frozen=True, kw_only=True)
class PolicyWay:
    """A way to train.

    Args:
        objective: Class of the objective.
        credit: From rewards to advantages.
        options: Of the objective.
        values: Whether a value model is trained along.
        sizes: Of the run, where they differ from the usual.
    """

    objective: Callable[..., Objective]
    credit: GroupCredit | TokenCredit
    options: dict[str, Any] = field(default_factory=dict)
    values: bool = False
    sizes: dict[str, Any] = field(default_factory=dict)


def ppo(sizes: dict[str, Any] = TWICE, values: bool = True, **changes: Any) -> PolicyWay:
    """PPO as it goes to the optimum, but for the changes."""
    credit = {"beta": BETA, "lam": 0.95, "whiten": True}
    credit |= {name: changes.pop(name) for name in ("lam", "whiten") if name in changes}
    if changes.get("beta"):  # it is in the loss then, not in the reward
        credit["beta"] = 0
    return PolicyWay(
        objective=PPO,
        credit=TokenCredit(**credit),  # type: ignore[arg-type]
        options=changes,
        values=values,
        sizes=sizes,
    )


WAYS: dict[str, PolicyWay] = {
    "PPO": ppo(),
    "PPO, no whitening": ppo(whiten=False),
    "PPO, λ = 0": ppo(lam=0),
    "PPO, λ = 1": ppo(lam=1),
    "PPO, no values": ppo(values=False, value_weight=0, lam=1),
    "PPO, values clipped": ppo(value_clip=0.2),
    "PPO, 10 epochs": ppo(OFTEN),
    "PPO, 10 epochs, unclipped": ppo(OFTEN, clip=0.999),  # the widest: it cuts at 1.999
    "PPO, entropy bonus": ppo(whiten=False, entropy_bonus=0.1),
    "PPO, k₁ in the loss": ppo(whiten=False, beta=BETA, kl=kl_k1),
    "PPO, k₂ in the loss": ppo(whiten=False, beta=BETA, kl=kl_k2),
    "PPO, k₃ in the loss": ppo(whiten=False, beta=BETA, kl=kl_k3),
    "REINFORCE, no baseline": PolicyWay(
        objective=Reinforce, credit=GroupCredit(baseline=no_baseline, beta=BETA)
    ),
    "RLOO": PolicyWay(objective=Reinforce, credit=GroupCredit(beta=BETA)),
    "RLOO, 8 samples a prompt": PolicyWay(
        objective=Reinforce, credit=GroupCredit(beta=BETA), sizes={"group_size": 8}
    ),
    "Dr. GRPO": PolicyWay(
        objective=DrGRPO,
        credit=GroupCredit(baseline=centred_advantages, beta=BETA),
        options={"length": 3},
    ),
    "GRPO": PolicyWay(
        objective=GRPO, credit=GroupCredit(baseline=group_advantages), options={"beta": BETA}
    ),
    "GRPO, corrected": PolicyWay(
        objective=CorrectedGRPO,
        credit=GroupCredit(),
        options={"beta": BETA},
        sizes={"group_size": 1024},
    ),
}


def go(world: World, name: str, **changes: Any) -> PolicyRun:
    """Train the reference of a world in one of the ways.

    Args:
        world: With a reference model.
        name: Of the way.
        **changes: Fields of :class:`PolicyConfig`; ``iterations`` are steps here: a way with
            several epochs writes that many times less often.
    """
    way, reader = WAYS[name], ListedReader(world)
    reading: dict[str, Any] = {"read": reader}
    if way.objective is PPO:
        reading["read_values"] = reader.values
    objective = way.objective(**reading, **way.options)
    sizes = {"iterations": 300, "group_size": 512, "lr": 6e-3} | way.sizes | changes
    sizes["iterations"] = max(1, sizes["iterations"] // sizes.pop("share", 1))
    return train_policy(world, objective, way.credit, values=way.values, **sizes)
