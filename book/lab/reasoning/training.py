"""A GPT that learns sums from a verifier: GRPO, RLOO and DAPO, step by step in the open."""

import copy
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from mathlm.align import (
    completions_of,
    dapo_loss,
    group_advantages,
    grpo_loss,
    leave_one_out_advantages,
    rloo_loss,
    roll_out,
    target_log_probabilities,
    token_mean,
)
from mathlm.errors import ConfigError
from mathlm.models import GPT
from mathlm.optim import AdamW
from mathlm.train.objectives import IGNORED, Batch

from .sums import END, ROOM, Question, Verifier, decode, last_number, prompts_of, questions

METHODS = ("grpo", "rloo", "dapo")


@dataclass(frozen=True, kw_only=True)
class Training:
    """One run on the reward of a verifier.

    Args:
        method: "grpo", "rloo" or "dapo".
        lr: Step size of AdamW without decay of weights.
        samples: Answers that the run may draw, all together.
        prompts: Sums of an iteration; dapo goes on drawing until so many have a spread.
        group: Answers to each.
        minibatches: Optimizer steps of an iteration; rloo, which has no ratio, takes one.
        beta: KL coefficient of grpo, as published; the others have none.
        terms: Numbers to add in each sum of the training.
        rounds: Times that dapo draws sums in one iteration, at most.
        seed: Of sums and answers.

    Raises:
        ConfigError: If the method is unknown, or a size does not fit.
    """

    method: str = "grpo"
    lr: float | int = 1e-3
    samples: int = 30_000
    prompts: int = 16
    group: int = 16
    minibatches: int = 2
    beta: float | int = 0.04
    terms: int = 5
    rounds: int = 4
    seed: int = 0

    def __post_init__(self) -> None:
        if self.method not in METHODS:
            raise ConfigError(f"method={self.method!r} is none of {', '.join(METHODS)}")
        if self.group < 2 or self.samples < self.prompts * self.group:
            raise ConfigError(f"need groups of 2 and samples for one iteration: got {self}")


def write(
    model: GPT, sums: Sequence[Question], group: int, seed: int, verifier: Verifier
) -> Batch:
    """So many answers to each sum, drawn at temperature 1, with a reward of 0 or 1 each."""
    batch = roll_out(model, prompts_of(sums, group), ROOM, seed=seed, stop=[END])
    repeated = [q for q in sums for _ in range(group)]
    pairs = zip(repeated, map(decode, completions_of(batch)), strict=True)
    batch["rewards"] = torch.tensor([float(verifier(q, text)) for q, text in pairs])
    return batch


def with_spread(batch: Batch, group: int) -> Batch:
    """The groups whose rewards are not all equal: the others have no gradient."""
    rewards = batch["rewards"].view(-1, group)
    kept = (rewards != rewards[:, :1]).any(1).repeat_interleave(group)
    return {name: column[kept] for name, column in batch.items()}


def loss_of(run: Training, model: nn.Module, part: Batch) -> Tensor:
    """The loss of a minibatch, one number, by the method."""
    logp, mask = target_log_probabilities(model, part), part["targets"] != IGNORED
    if run.method == "rloo":
        return rloo_loss(logp, part["advantages"], mask).mean()
    if run.method == "grpo":
        olds = part["logp_old"], part["logp_ref"]
        return grpo_loss(logp, *olds, part["advantages"], mask, beta=run.beta).mean()
    total, tokens = token_mean(
        dapo_loss(logp, part["logp_old"], part["advantages"], mask), mask
    )
    return total / tokens


def prepared(run: Training, model: GPT, reference: GPT, batch: Batch) -> Batch:
    """Rollouts with their advantages, and log-probabilities before the first step."""
    rewards = batch["rewards"].view(-1, run.group)
    advantages = leave_one_out_advantages if run.method == "rloo" else group_advantages
    batch["advantages"] = advantages(rewards).flatten()
    with torch.no_grad():
        batch["logp_old"] = target_log_probabilities(model, batch)
        if run.method == "grpo":
            batch["logp_ref"] = target_log_probabilities(reference, batch)
    return batch


def joined(parts: Sequence[Batch]) -> Batch:
    """Rollouts of several rounds, filled to the same width."""
    width = max(part["ids"].shape[1] for part in parts)
    fill = {"ids": 0, "targets": IGNORED}

    def wide(name: str, x: Tensor) -> Tensor:
        if x.ndim == 1:
            return x
        return nn.functional.pad(x, (0, width - x.shape[1]), value=fill[name])

    return {name: torch.cat([wide(name, p[name]) for p in parts]) for name in parts[0]}


class Run:
    """A policy while it learns: what it has drawn, and what became of it.

    Args:
        model: Where it starts; a copy of it is trained.
        config: How.
        verifier: What is rewarded.
    """

    def __init__(self, model: GPT, config: Training, verifier: Verifier) -> None:
        self.model, self.reference = copy.deepcopy(model), model
        self.config, self.verifier = config, verifier
        self.optimizer = AdamW(self.model.parameters(), lr=config.lr, weight_decay=0.0)
        self.rng = np.random.default_rng((config.seed, 2))
        self.drawn, self.tokens, self.rounds, self.used = 0, 0, 0, list[float]()

    def rollouts(self) -> Batch:
        """Answers to learn from; dapo draws until enough groups have a spread."""
        c, parts = self.config, list[Batch]()
        for _ in range(c.rounds if c.method == "dapo" else 1):
            sums = questions(c.prompts, c.terms, self.rng)
            seed = 10_000 * c.seed + self.rounds
            batch = write(self.model, sums, c.group, seed, self.verifier)
            self.drawn, self.rounds = self.drawn + len(batch["rewards"]), self.rounds + 1
            self.tokens += int(batch["lengths"].sum())
            kept = with_spread(batch, c.group)
            self.used.append(len(kept["rewards"]) / len(batch["rewards"]))
            parts.append(kept if c.method == "dapo" else batch)
            if sum(len(p["rewards"]) for p in parts) >= c.prompts * c.group:
                break
        batch = joined(parts)
        return {name: column[: c.prompts * c.group] for name, column in batch.items()}

    def iterate(self) -> None:
        """Write, be judged, learn."""
        c, batch = self.config, self.rollouts()
        if not len(batch["rewards"]):
            return
        batch = prepared(c, self.model, self.reference, batch)
        order = torch.from_numpy(self.rng.permutation(len(batch["rewards"])))
        for rows in order.chunk(1 if c.method == "rloo" else c.minibatches):
            part = {name: column[rows] for name, column in batch.items()}
            self.optimizer.zero_grad()
            loss_of(c, self.model, part).backward()
            nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
            self.optimizer.step()

    def fit(self, look: Callable[["Run"], Any], every: int) -> list[Any]:
        """Learn until the samples are used up; look first, every so many, last."""
        looks, seen = [look(self)], 0
        while self.drawn + self.config.prompts * self.config.group <= self.config.samples:
            self.iterate()
            if self.drawn >= seen + every:
                looks.append(look(self))
                seen = self.drawn
        return looks if seen == self.drawn else [*looks, look(self)]


def solve(
    model: GPT, sums: Sequence[Question], samples: int, seed: int
) -> tuple[list[list[str]], list[list[float]]]:
    """Texts of sampled answers to each sum, and the log-probability of each text [nats]."""
    batch = roll_out(model, prompts_of(sums, samples), ROOM, seed=seed, stop=[END])
    texts = [decode(y) for y in completions_of(batch)]
    with torch.no_grad():
        logp = target_log_probabilities(model, batch).sum(1).tolist()
    rows = range(0, len(texts), samples)
    return [texts[i : i + samples] for i in rows], [logp[i : i + samples] for i in rows]


def measured(
    model: GPT, sums: Sequence[Question], samples: int, seed: int, verifier: Verifier
) -> dict[str, float]:
    """Shares right by the verifier that is meant and by another, and how answers look."""
    texts, _ = solve(model, sums, samples, seed)
    each = [(q, text) for q, row in zip(sums, texts, strict=True) for text in row]
    return {
        "right": float(np.mean([last_number(q, t) for q, t in each])),
        "rewarded": float(np.mean([verifier(q, t) for q, t in each])),
        "length": float(np.mean([len(t) for _, t in each])),
        "worked": float(np.mean(["=" in t for _, t in each])),
    }
