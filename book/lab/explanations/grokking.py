"""Addition modulo p learned by heart, and understood long after: with weight decay only.

One hidden layer of squares, ``logits(a, b) = (U[a] + V[b])² W``, trained on some of the pairs.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from mathlm.errors import ConfigError
from mathlm.optim import AdamW

from .modular_addition import addition_table, frequency_shares


@dataclass(frozen=True, kw_only=True)
class GrokkingConfig:
    """One run of AdamW on all training pairs at once.

    Args:
        modulus: p, an odd number.
        share: Of the pairs that are trained on; the others are tested.
        decay: Of the weights, as AdamW has it.
        every: Steps between two measurements.
        seed: Of the weights and of the choice of pairs.
    """

    modulus: int = 53
    width: int = 96
    share: float | int = 0.4
    lr: float = 0.01
    decay: float | int = 0.8
    steps: int = 700
    every: int = 25
    seed: int = 0

    def __post_init__(self) -> None:
        if self.modulus < 3 or self.modulus % 2 == 0:
            raise ConfigError(f"modulus={self.modulus} must be odd and at least 3")
        if not 1 <= self.share * self.modulus**2 < self.modulus**2:
            raise ConfigError(f"share={self.share} must leave pairs to train on and to test")
        if min(self.width, self.steps, self.every) < 1 or self.decay < 0:
            raise ConfigError(f"sizes must be at least 1, and decay not negative: {self}")


@dataclass(frozen=True, eq=False)
class GrokkingRun:
    """Curves, one number every ``every`` steps, and the first table at both ends.

    ``purity`` is the share of the variance of U in the strongest frequency of each column.
    """

    config: GrokkingConfig
    curves: dict[str, list[float | int]]
    first: np.ndarray
    last: np.ndarray

    def step_at(self, curve: str, level: float | int) -> int | None:
        """First measured step from which on a curve stays at or above a level."""
        below = np.flatnonzero(np.array(self.curves[curve]) < level)
        after = below[-1] + 1 if len(below) else 0
        steps = self.curves["step"]
        return int(steps[after]) if after < len(steps) else None


def train(config: GrokkingConfig) -> GrokkingRun:
    """Train, and measure on the way."""
    p, draw = config.modulus, torch.Generator().manual_seed(config.seed)
    table, sums = (torch.from_numpy(part) for part in addition_table(p))
    order = torch.randperm(p * p, generator=draw)
    known, asked = order[: (cut := int(config.share * p * p))], order[cut:]
    shapes = (
        (p, config.width, 0.5),
        (p, config.width, 0.5),
        (config.width, p, 1 / config.width),
    )
    draws = [
        torch.randn(m, n, generator=draw, dtype=torch.float32) * v**0.5 for m, n, v in shapes
    ]
    weights = [nn.Parameter(values) for values in draws]
    optimizer = AdamW(
        weights,
        lr=config.lr,
        betas=(0.9, 0.98),
        weight_decay=float(config.decay),
    )
    first, curves = weights[0].detach().double().numpy().copy(), dict[str, list[float | int]]()
    for step in range(config.steps + 1):
        if step % config.every == 0:
            row = {"step": step} | measured(weights, table, sums, known, asked)
            for name, value in row.items():
                curves.setdefault(name, []).append(value)
        cross_entropy(logits(weights, table[known]), sums[known]).backward()
        optimizer.step()
        optimizer.zero_grad()
    return GrokkingRun(config, curves, first, weights[0].detach().double().numpy())


def logits(weights: Sequence[Tensor], pairs: Tensor) -> Tensor:
    """Of each sum, (N, p)."""
    u, v, w = weights
    return (u[pairs[:, 0]] + v[pairs[:, 1]]).square() @ w


@torch.no_grad()
def measured(
    weights: Sequence[Tensor], table: Tensor, sums: Tensor, known: Tensor, asked: Tensor
) -> dict[str, float]:
    """Accuracy and loss [nats] on both kinds of pairs, and how pure the columns are."""
    out, row = logits(weights, table), dict[str, float]()
    for name, rows in (("train", known), ("test", asked)):
        row[name] = (out[rows].argmax(1) == sums[rows]).double().mean().item()
        row[f"{name} loss"] = cross_entropy(out[rows], sums[rows]).item()
    u = weights[0].double().numpy()
    row["purity"] = float(np.average(frequency_shares(u).max(0), weights=u.var(0)))
    return row
