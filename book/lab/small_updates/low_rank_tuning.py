"""Tuning a GPT in full or by updates of low rank, for one step size or for several."""

from copy import deepcopy
from dataclasses import dataclass
from typing import Any

import torch

from mathlm import adapt
from mathlm.models import GPT
from mathlm.optim import AdamW, warmup_cosine
from mathlm.train import next_token

from .low_rank_cuts import mean_loss
from .low_rank_data import Text

ALPHA = 16
ATTENTION = ("W_q", "W_k", "W_v", "W_o")


@dataclass(frozen=True, kw_only=True)
class Way:
    """How a model is tuned.

    Args:
        rank: Of the updates; None = every weight is tuned.
        alpha: Their strength; None = the rank.
        rank_stabilized: Whether it is divided by the root of the rank.
        targets: Of which maps.
    """

    rank: int | None = None
    alpha: float | int | None = ALPHA
    rank_stabilized: bool = False
    targets: str | tuple[str, ...] = "all-linear"

    def prepared(self, base: GPT, seed: int) -> GPT:
        """A copy of the base whose trainable numbers are those of this way."""
        model = deepcopy(base).requires_grad_(True)
        if self.rank is not None:
            adapt.add_lora(
                model,
                self.rank,
                self.alpha,
                self.targets,
                rank_stabilized=self.rank_stabilized,
                seed=seed,
            )
        return model


FULL = Way()


def tune(base: GPT, way: Way, data: Text, lr: float, steps: int, seed: int = 0) -> GPT:
    """A copy of the base, tuned by AdamW without decay; the step size rises and falls."""
    model = way.prepared(base, seed).train()
    weights = [p for p in model.parameters() if p.requires_grad]
    schedule = warmup_cosine(lr, steps // 10, steps, final=lr / 10)
    optimizer = AdamW(weights, lr=lr, betas=(0.9, 0.95), weight_decay=0.0)
    for step in range(steps):
        optimizer.param_groups[0]["lr"] = schedule(step)
        loss, count = next_token(model, data.training(step))
        optimizer.zero_grad()
        (loss / count).backward()
        torch.nn.utils.clip_grad_norm_(weights, 1.0)
        optimizer.step()
    return model.eval()


def result(base: GPT, way: Way, data: Text, lr: float, steps: int, seed: int = 0) -> dict:
    """One run as a row of the record."""
    model = tune(base, way, data, lr, steps, seed)
    row: dict[str, Any] = {"lr": lr, "seed": seed, "loss": mean_loss(model, data.held_out)}
    if way.rank is not None:
        scale = "alpha/sqrt(r)" if way.rank_stabilized else "alpha/r"
        names = way.targets if isinstance(way.targets, str) else ", ".join(way.targets)
        row |= {"rank": way.rank, "scale": scale, "targets": names}
    return row | {"trainable": adapt.count_trainable(model)[0]}
