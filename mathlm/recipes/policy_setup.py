"""Data and trainer of policy training, from the options of a run.

Used by recipes.policy_training.
"""

import argparse
import copy
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from torch import Tensor, nn

from ..adapt import trainable
from ..align import (
    PolicyAndValue,
    PolicyBatches,
    Reference,
    RolloutLog,
    RolloutReading,
    RolloutSchedule,
    TextSampler,
    ValueModel,
)
from ..align.policy.credit import Credit
from ..chat.model import Chatting
from ..models import GPT
from ..optim import AdamW, warmup_cosine
from ..train import Trainer, TrainerConfig, distribute, resolve_device
from ..train.activation_checkpointing import recompute_blocks
from ..train.objectives import Objective
from .policy_prompts import prompts
from .policy_rewards import find_reward
from .sft import Tuning
from .sft_method_options import OWN, step_size


@dataclass(frozen=True)
class Plan:
    """What distinguishes one recipe from another."""

    objective: Objective
    credit: Credit
    values: str | None = None  # "own", "shared" or None


def build(
    args: argparse.Namespace, plan: Plan, chatting: Chatting, first: Tensor | None
) -> tuple[PolicyBatches, Trainer]:
    """Data and trainer of a run."""
    policy, device = chatting.model, resolve_device(args.device)
    if args.recompute:
        recompute_blocks(policy)
    policy.to(device)
    value = None if plan.values is None else value_model(policy, plan.values).to(device)
    whole = policy if value is None else PolicyAndValue(policy, value)
    spread, asked = distribute(whole, args.parallel, device), prompts(args, chatting)
    data = PolicyBatches(
        policy,
        asked.ids,
        find_reward(args),
        plan.credit,
        sampler=TextSampler(args.max_new_tokens, args.temperature, asked.stop),
        reference=Reference.of(policy),
        value=value,
        schedule=RolloutSchedule(
            group_size=args.group_size,
            prompts_per_iteration=min(args.prompts_per_iteration, len(asked.ids)),
            epochs=args.epochs,
            minibatches=args.minibatches,
            seed=args.seed,
        ),
        reading=RolloutReading(decode=asked.decode, at_once=args.at_once),
        record=RolloutLog(clip=args.clip_ratio),
    )
    args.steps = args.iterations * data.steps_per_iteration
    if args.lr is None:
        args.lr = step_size(args.method, policy.config.d_model) / 10
    names = ("method", "quantize", "marks", "plain", *OWN[args.method])
    method = {name: getattr(args, name) for name in names} | {"model": Path(args.model)}
    options = {f.name: getattr(args, f.name) for f in fields(TrainerConfig) if f.name in args}
    warmup = args.steps // 20 if args.warmup is None else args.warmup
    schedule = warmup_cosine(args.lr, warmup, args.steps, final=args.lr / 10)
    config = TrainerConfig(**options, schedule=schedule, folder=args.out / "checkpoints")
    optimizer = AdamW(groups(args, whole, policy, first))
    return data, Trainer(spread, Tuning(plan.objective, method), data, optimizer, config)


def groups(
    args: argparse.Namespace, whole: nn.Module, policy: GPT, first: Tensor | None
) -> list[dict[str, Any]]:
    """What is trained; an embedding of which a few rows are trained does not decay."""
    rows = [] if first is None else [policy.token_embedding.weight]
    rest = [p for p in trainable(whole).values() if all(p is not row for row in rows)]
    decay = [{"params": rest, "weight_decay": args.weight_decay}]
    return decay + ([{"params": rows, "weight_decay": 0.0}] if rows else [])


def value_model(policy: GPT, kind: str) -> ValueModel:
    """Values of the policy's own weights, or of a copy of those that are trained."""
    if kind == "shared":
        return ValueModel(policy)
    kept: dict[int, Any] = {id(p): p for p in policy.parameters() if not p.requires_grad}
    return ValueModel(copy.deepcopy(policy, kept))
