"""A small GPT that reads the same pages again and again: what it says, and what comes true.

Trained with or without label smoothing on pages of Shakespeare, judged on another play.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from mathlm.errors import ConfigError
from mathlm.functional import cross_entropy
from mathlm.models import GPT, GPTConfig
from mathlm.optim import AdamW, clip_grad_norm, warmup_cosine
from mathlm.text import corpus
from mathlm.train import TokenWindows
from mathlm.train.distributed import DeviceName

from .said_and_true import judge


@dataclass(frozen=True, kw_only=True)
class ConfidenceConfig:
    """One training run.

    Args:
        smoothing: ε of the labels.
        size: Bytes to train on.
        steps: Each on ``batch`` windows of ``context`` bytes.
    """

    smoothing: float | int = 0.0
    size: int = 60_000
    steps: int = 250
    batch: int = 16
    context: int = 64
    width: int = 64
    lr: float | int = 6e-3
    seed: int = 0

    def __post_init__(self) -> None:
        if not 0 <= self.smoothing < 1:
            raise ConfigError(f"smoothing={self.smoothing} is outside 0..1")
        if self.steps < 2 or self.size <= self.context:
            raise ConfigError("steps must be at least 2 and size larger than context")


class ConfidenceRun(NamedTuple):
    """The model and what was found at each look."""

    model: GPT
    looks: list[dict[str, float]]


def windows(config: ConfidenceConfig, held_out: bool = False, size: int = 8192) -> TokenWindows:
    """What is trained on, or pages of a play that is not."""
    known, unknown = (text.encode() for text in corpus.split("shakespeare"))
    chosen = unknown[:size] if held_out else known[: config.size]
    sizes = {"context": config.context, "batch_size": config.batch, "seed": config.seed}
    return TokenWindows(np.frombuffer(chosen, np.uint8), vocab_size=256, **sizes)


def train(
    config: ConfidenceConfig, every: int | None = None, device: DeviceName = "cpu"
) -> ConfidenceRun:
    """Train one model; look every so many steps, and at the end."""
    torch.manual_seed(config.seed)
    sizes: dict[str, Any] = {"d_model": config.width, "context": config.context}
    sizes |= {"n_layers": 2, "n_heads": 4, "norm": "rms", "position": "rope"}
    model = GPT(GPTConfig(vocab_size=256, **sizes)).to(device)
    data, unseen = windows(config), windows(config, held_out=True)
    run = ConfidenceRun(model, [])
    optimizer = AdamW(model.parameters(), lr=config.lr, betas=(0.9, 0.95), weight_decay=0.0)
    rate = warmup_cosine(config.lr, config.steps // 10, config.steps)
    for step in range(config.steps):
        optimizer.param_groups[0]["lr"] = rate(step)
        optimizer.zero_grad()
        ids, targets = (data(step)[name].to(device) for name in ("ids", "targets"))
        loss, count = cross_entropy(model(ids), targets, label_smoothing=config.smoothing)
        (loss / count).backward()
        clip_grad_norm(model.parameters(), 1.0)
        optimizer.step()
        if step + 1 == config.steps or (every and (step + 1) % every == 0):
            found = {"step": step + 1, "loss": loss.item() / count}
            run.looks.append(found | judge(*predictions(model, unseen)))
    return run


@torch.no_grad()
def predictions(model: GPT, data: TokenWindows) -> tuple[Tensor, Tensor]:
    """Logits (N, V) and targets (N,) of every byte that is asked for, in its order."""
    device, logits, targets = model.head.weight.device, [], []
    for batch in data:
        asked = batch["targets"] >= 0
        logits.append(model(batch["ids"].to(device)).cpu()[asked])
        targets.append(batch["targets"][asked])
    return torch.cat(logits), torch.cat(targets)
