"""Repeated random sequences, and a model of attention alone that learns to continue them.

A row is a start token, then random tokens that are all different, then the same tokens again
and again. After how many tokens it repeats is drawn anew for each row: with one distance for
all rows, looking back by that distance is enough.
"""

from dataclasses import dataclass
from typing import Any, cast

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy

from ..errors import ConfigError
from ..interpret import head_scores
from ..layers import Block
from ..models import GPT, GPTConfig
from ..optim import AdamW
from ..shapes import Bool, Float, Int

START = 0  # the token at position 0
Record = dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class InductionConfig:
    """A model, its sequences, and one training run of AdamW without decay.

    Args:
        n_layers: 1 or 2 are of interest.
        length: Tokens of a row, the start token included.
        shortest: Least distance [tokens] after which a row repeats.
        longest: Greatest; the distance of a row is drawn evenly from both and between.
        warmup: Steps in which the step size rises to ``lr``.
        every: Steps from one measurement to the next.
    """

    n_layers: int = 2
    n_heads: int = 1
    d_model: int = 64
    vocab_size: int = 32
    length: int = 32
    shortest: int = 6
    longest: int = 14
    steps: int = 180
    batch: int = 32
    lr: float = 6e-3
    warmup: int = 50
    every: int = 10
    seed: int = 0

    def __post_init__(self) -> None:
        if not 2 <= self.shortest <= self.longest < min(self.vocab_size, self.length - 1):
            raise ConfigError(
                f"2 <= shortest={self.shortest} <= longest={self.longest} must be below "
                f"vocab_size={self.vocab_size} and length - 1 = {self.length - 1}"
            )


@dataclass(frozen=True, eq=False)
class InductionRun:
    """The model and what was measured on the way, on rows that it never learned from."""

    model: GPT
    history: list[Record]


def sequences(
    config: InductionConfig, step: int, count: int
) -> tuple[Int[Tensor, "B T"], Bool[Tensor, "B T"]]:
    """Rows of batch number ``step``, and where the next token has been told already."""
    draw = torch.Generator().manual_seed(1_000_003 * config.seed + step)
    tokens = 1 + torch.rand(count, config.vocab_size - 1, generator=draw).argsort(1)
    distance = torch.randint(config.shortest, config.longest + 1, (count, 1), generator=draw)
    places = torch.arange(config.length - 1).unsqueeze(0)
    rows = tokens.gather(1, places % distance)
    ids = torch.cat([torch.full((count, 1), START), rows], 1)
    return ids, torch.arange(config.length) > distance  # x_t stood at t - distance too


def attention_only(config: InductionConfig) -> GPT:
    """A GPT whose feed-forward networks write nothing, and learn nothing."""
    torch.manual_seed(config.seed)
    options: Record = {"n_layers": config.n_layers, "n_heads": config.n_heads, "d_ff": 1}
    options |= {"norm": "rms", "position": "rope", "rope_base": 1000.0, "bias": False}
    sizes = {"vocab_size": config.vocab_size, "context": config.length}
    fields: Record = {**options, **sizes, "d_model": config.d_model, "tie_embeddings": False}
    model = GPT(GPTConfig(**fields))
    for block in cast(list[Block], list(model.blocks)):
        block.feed_forward.requires_grad_(False)
        torch.nn.init.zeros_(block.feed_forward.W_out.weight)  # type: ignore[arg-type]
    return model


def row_losses(model: GPT, ids: Int[Tensor, "B T"]) -> Float[Tensor, "B T-1"]:
    """Loss [nats] of every token but the first."""
    return cross_entropy(model(ids)[:, :-1].mT, ids[:, 1:], reduction="none")


@torch.no_grad()
def told_loss(model: GPT, ids: Tensor, told: Tensor) -> float:
    """Mean loss [nats] of the tokens that have been told."""
    return float(row_losses(model, ids)[told[:, :-1]].mean())


@torch.no_grad()
def measure(model: GPT, ids: Tensor, told: Tensor) -> Record:
    """Losses where the next token has been told and where not, and the scores of the heads."""
    losses, told = row_losses(model, ids), told[:, :-1]
    scores = head_scores(model, ids)
    found = {name: scores[name].tolist() for name in ("previous_token", "induction")}
    return {"told": float(losses[told].mean()), "new": float(losses[~told].mean()), **found}


def train(config: InductionConfig) -> InductionRun:
    """Train one model, and measure it on the way on 64 rows of step -1."""
    model = attention_only(config)
    optimizer = AdamW(
        [p for p in model.parameters() if p.requires_grad], lr=config.lr, weight_decay=0.0
    )
    held_out, history = sequences(config, -1, 64), []
    for step in range(config.steps + 1):
        if step % config.every == 0:
            history.append({"step": step, **measure(model, *held_out)})
        for group in optimizer.param_groups:
            group["lr"] = config.lr * min(1.0, (step + 1) / config.warmup)
        row_losses(model, sequences(config, step, config.batch)[0]).mean().backward()
        optimizer.step()
        optimizer.zero_grad()
    return InductionRun(model, history)
