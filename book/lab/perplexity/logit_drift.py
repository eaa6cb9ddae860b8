"""Where the logits of a small GPT go when nothing in the loss holds their common part.

Adding one number to all logits of a position changes no probability. What the optimizer does
with that freedom is measured: the mean logit, log Z = logsumexp, and the mean row of the head.
"""

from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
import torch
from torch import Tensor

from mathlm.errors import ConfigError
from mathlm.functional import cross_entropy
from mathlm.models import GPT, GPTConfig
from mathlm.optim import SGD, AdamW
from mathlm.text import corpus
from mathlm.train import TokenWindows

CONTEXT = 32
Optimizer = Literal["sgd", "adam"]


@dataclass(frozen=True, kw_only=True)
class DriftConfig:
    """One training run.

    Args:
        optimizer: Which one; neither decays weights unless ``decay`` says so.
        z: Weight of (log Z)² in the loss; 0 = none.
        decay: Decoupled weight decay of all weights.
        steps: Each on ``batch`` windows of 32 bytes.
    """

    optimizer: Optimizer = "adam"
    z: float | int = 0.0
    decay: float | int = 0.0
    steps: int = 200
    batch: int = 16
    width: int = 32
    lr: float | int = 1e-2
    seed: int = 0

    def __post_init__(self) -> None:
        if self.optimizer not in get_args(Optimizer):
            raise ConfigError(f"optimizer={self.optimizer!r} is not sgd or adam")
        if self.z < 0 or self.steps < 2:
            raise ConfigError(f"z={self.z} must not be negative, steps={self.steps} at least 2")


class Drift(NamedTuple):
    """The model, and what was measured before each step on the batch of that step."""

    model: GPT
    loss: list[float]  # cross-entropy [nats/byte]
    mean_logit: list[float]
    log_z: list[float]
    mean_row: list[float]  # length of the mean of the head's rows


def data(config: DriftConfig) -> TokenWindows:
    """Windows of half a million bytes of Shakespeare."""
    ids = np.frombuffer(corpus.split("shakespeare")[0].encode()[:500_000], np.uint8)
    sizes = {"context": CONTEXT, "batch_size": config.batch, "seed": config.seed}
    return TokenWindows(ids, vocab_size=256, **sizes)


def train(config: DriftConfig) -> Drift:
    """Train one model with a head of its own, at one step size."""
    torch.manual_seed(config.seed)
    sizes: dict[str, Any] = {"d_model": config.width, "n_layers": 1, "n_heads": 4}
    shape = GPTConfig(vocab_size=256, context=CONTEXT, tie_embeddings=False, **sizes)
    run = Drift(GPT(shape), [], [], [], [])
    weights, windows = run.model.parameters(), data(config)
    optimizer: torch.optim.Optimizer
    if config.optimizer == "sgd":
        optimizer = SGD(weights, lr=config.lr, weight_decay=config.decay)
    else:
        optimizer = AdamW(weights, lr=config.lr, betas=(0.9, 0.95), weight_decay=config.decay)
    for step in range(config.steps):
        batch = windows(step)
        logits = run.model(batch["ids"])
        loss, count = cross_entropy(logits, batch["targets"])
        log_z = logits.logsumexp(-1)
        optimizer.zero_grad()
        (loss / count + config.z * log_z.square().mean()).backward()
        note(run, loss / count, logits.detach(), log_z.detach())
        optimizer.step()
    return run


def note(run: Drift, loss: Tensor, logits: Tensor, log_z: Tensor) -> None:
    """One more entry of each measure."""
    run.loss.append(loss.item())
    run.mean_logit.append(logits.mean().item())
    run.log_z.append(log_z.mean().item())
    run.mean_row.append(run.model.head.weight.detach().mean(0).norm().item())
