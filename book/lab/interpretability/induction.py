"""A model of attention alone that learns to continue random sequences which repeat."""

from dataclasses import dataclass
from typing import Any, cast

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy

from mathlm.interpret import head_scores
from mathlm.layers import Block
from mathlm.models import GPT, GPTConfig
from mathlm.optim import AdamW
from mathlm.shapes import Float, Int

from .induction_rows import InductionConfig, sequences

Record = dict[str, Any]


@dataclass(frozen=True, eq=False)
class InductionRun:
    """The model and what was measured on the way, on rows that it never learned from."""

    model: GPT
    history: list[Record]


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
