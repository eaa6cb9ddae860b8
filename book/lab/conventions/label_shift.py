"""A small GPT trained with its labels shifted by 0, 1 or 2: only one of them is a next token.

Held-out text is scored twice: by the run's own labels, and by the byte that comes next.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from mathlm.errors import ConfigError
from mathlm.models import GPT, GPTConfig
from mathlm.optim import AdamW, warmup_cosine
from mathlm.train import TokenWindows, Trainer, TrainerConfig, next_token
from mathlm.train.distributed import DeviceName
from mathlm.train.objectives import Batch


@dataclass(frozen=True, kw_only=True)
class ShiftConfig:
    """One training run.

    Args:
        shift: Bytes between an input and its label; 1 is next-token prediction.
        steps: Optimizer steps.
        batch_size: Windows in a step.
        context: Window length [bytes].
        d_model: Width of the model, which has two layers.
        seed: Of the initial weights and of the data order.
    """

    shift: int = 1
    steps: int = 120
    batch_size: int = 8
    context: int = 32
    d_model: int = 48
    seed: int = 0

    def __post_init__(self) -> None:
        if abs(self.shift) >= self.context:
            raise ConfigError(f"shift={self.shift} must be smaller than context={self.context}")


@dataclass(frozen=True, eq=False)
class ShiftRun:
    """Loss of each step [nats]; held-out bits per byte on its own labels, and on the next."""

    losses: list[float]
    own_bits: float
    next_bits: float


def shift_labels(batch: Batch, shift: int) -> Batch:
    """The batch with each label ``shift`` places after its input; -100 where none is known."""
    tokens = torch.cat((batch["ids"][:, :1], batch["targets"]), 1)  # (B, T + 1)
    T = batch["ids"].shape[1]
    at = torch.arange(T) + shift
    labels = tokens[:, at.clamp(0, T)].masked_fill((at < 0) | (at > T), -100)
    return {**batch, "targets": labels}


def train(
    training: bytes, held_out: bytes, config: ShiftConfig, device: DeviceName = "cpu"
) -> ShiftRun:
    """Train one model, and judge it twice on the held-out text."""
    torch.manual_seed(config.seed)
    shape: dict[str, Any] = {"d_model": config.d_model, "n_layers": 2, "n_heads": 4}
    shape |= {"context": config.context, "position": "rope", "norm": "rms"}
    model = GPT(GPTConfig(vocab_size=256, **shape))
    sizes = {"context": config.context, "batch_size": config.batch_size, "seed": config.seed}
    read, unread = (
        TokenWindows(np.frombuffer(text, np.uint8), vocab_size=256, **sizes)
        for text in (training, held_out)
    )
    schedule = warmup_cosine(5e-3, config.steps // 10, config.steps, 5e-4)
    options = TrainerConfig(steps=config.steps, schedule=schedule, device=device)
    optimizer = AdamW(model.parameters(), betas=(0.9, 0.95))

    def data(step: int) -> Batch:
        return shift_labels(read(step), config.shift)

    losses = [
        float(r["loss"]) for r in Trainer(model, next_token, data, optimizer, options).fit()
    ]
    own, following = (bits(model, unread, shift, device) for shift in (config.shift, 1))
    return ShiftRun(losses, own, following)


@torch.no_grad()
def bits(model: GPT, windows: TokenWindows, shift: int, device: DeviceName = "cpu") -> float:
    """Mean cost of the labels at this shift [bits/byte]."""
    model.eval()
    total, count = torch.zeros((), dtype=torch.float64), 0
    for batch in windows:
        shifted = {k: v.to(device) for k, v in shift_labels(batch, shift).items()}
        loss, n = next_token(model, shifted)
        total, count = total + loss.double().cpu(), count + n
    return float(total) / count / math.log(2)
