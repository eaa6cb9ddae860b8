"""Three methods of alignment in a world whose optimum is known, and how close each comes."""

import copy
from collections.abc import Callable
from typing import cast

from torch import nn

from mathlm.align import (
    DPO,
    PPO,
    GroupCredit,
    PolicyAndValue,
    Reinforce,
    TokenCredit,
    ValueModel,
    leave_one_out_advantages,
)
from mathlm.align.exact import World, WorldPairs, WorldRollouts
from mathlm.models import GPT
from mathlm.optim import AdamW, warmup_cosine
from mathlm.train import Trainer, TrainerConfig
from mathlm.train.objectives import Batch, Objective

BETA = 0.5  # the KL coefficient [reward/nat]
PEAK = 4e-3  # largest step size


def ppo(world: World, seed: int = 0, steps: int = 320, samples: int = 4096) -> nn.Module:
    """A policy trained by PPO: values, clipping, the divergence in the reward of each token.

    Args:
        world: Its reference is where the policy starts.
        seed: Of what is drawn.
        steps: Of the optimizer.
        samples: Completions of each prompt in an iteration of two steps.
    """
    policy = world.reference()
    value = ValueModel(cast(GPT, copy.deepcopy(policy)))
    credit = TokenCredit(lam=0.95, beta=BETA)
    data = WorldRollouts(
        world, policy, credit, samples=samples, value=value, epochs=2, seed=seed
    )
    objective = PPO(read=world.read, read_values=world.read_values)
    _train(PolicyAndValue(policy, value), objective, data, steps)
    return policy


def leave_one_out(
    world: World, seed: int = 0, steps: int = 600, samples: int = 2048
) -> nn.Module:
    """A policy trained on completions that are judged against the others of their prompt.

    The divergence of the whole text stands in the reward, and every step has completions of its
    own: the expected gradient is the exact one. The arguments are those of :func:`ppo`.
    """
    policy = world.reference()
    credit = GroupCredit(baseline=leave_one_out_advantages, beta=BETA)
    data = WorldRollouts(world, policy, credit, samples=samples, seed=seed)
    _train(policy, Reinforce(read=world.read), data, steps)
    return policy


def dpo(world: World, seed: int = 0, steps: int = 420, pairs: int = 16_384) -> nn.Module:
    """A policy trained by DPO on so many pairs in each step, which never run out."""
    policy = world.reference()
    data = WorldPairs(world, pairs, seed=seed)
    _train(policy, DPO(read=world.read, beta=BETA), data, steps)
    return policy


METHODS: dict[str, Callable[..., nn.Module]] = {
    "ppo": ppo,
    "leave-one-out": leave_one_out,
    "dpo": dpo,
}


def closeness(world: World, policy: nn.Module, beta: float | int = BETA) -> dict[str, float]:
    """How far a policy is from the optimum of its world, in the mean over prompts.

    Returns:
        ``kl``, KL(policy ‖ optimum) [nats], and ``share`` of the best regularized reward.
    """
    best, logp = world.optimum(beta), world.log_probabilities(policy).detach()
    share = world.objective(logp, beta).mean() / best.value.mean()
    return {"kl": float(world.kl(logp, best.logp).mean()), "share": float(share)}


def _train(
    model: nn.Module, objective: Objective, data: Callable[[int], Batch], steps: int
) -> None:
    """All steps, with a step size that rises at once and falls to 0."""
    optimizer = AdamW(model.parameters(), lr=PEAK, betas=(0.9, 0.95), weight_decay=0.0)
    schedule = warmup_cosine(PEAK, min(10, steps - 1), steps)
    config = TrainerConfig(steps=steps, schedule=schedule, clip=None, log_every=steps)
    Trainer(model, objective, data, optimizer, config).fit()
