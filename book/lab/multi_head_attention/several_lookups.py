"""One position must read several others at once: how many heads does it need?

A sequence holds a token for each role, such as agent or place, with a random content, and one
that asks. One layer of attention must write all contents, side by side, at the asker.
"""

from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

from mathlm.errors import ConfigError
from mathlm.layers import SelfAttention
from mathlm.optim import AdamW


@dataclass(frozen=True, kw_only=True)
class LookupsConfig:
    """One training run with Adam, on the mean squared error.

    Args:
        n_heads: H.
        d_head: Width of a head. None = roles · content / H, so that all H have the same cost.
        roles: R, tokens to be read.
        content: m, numbers that each of them holds.
        steps: Steps of Adam, of ``batch`` sequences each.
        lr: First step size; it falls to zero in a straight line.
        seed: Of the weights and the sequences.
    """

    n_heads: int = 4
    d_head: int | None = None
    roles: int = 4
    content: int = 16
    steps: int = 300
    batch: int = 64
    lr: float = 1e-2
    seed: int = 0

    def __post_init__(self) -> None:
        sizes = {k: v for k, v in vars(self).items() if k not in ("lr", "seed")}
        if min(v for v in sizes.values() if v is not None) < 1:
            raise ConfigError(f"all sizes must be at least 1, got {sizes}")
        if self.roles + 1 + self.content > self.d_model:
            parts = f"{self.roles + 1} roles and {self.content} contents"
            raise ConfigError(f"{parts} do not fit into {self.d_model} numbers")

    @property
    def d_model(self) -> int:
        """Width of a token and of the answer: R m."""
        return self.roles * self.content


class LookupsRun(NamedTuple):
    """Mean squared error on new sequences, and mean weights of the heads at the asker."""

    error: float
    reads: Tensor  # (H, R + 1), the asker's own token last


def least_error(config: LookupsConfig) -> float:
    """Mean squared error per number below which H heads of any width cannot get.

    Implements eq-heads-least-error::

        max(0, R m - H (m + R)) / (R m)
    """
    carried = config.n_heads * (config.content + config.roles)
    return max(0, config.d_model - carried) / config.d_model


def draw(config: LookupsConfig, step: int, count: int) -> tuple[Tensor, Tensor]:
    """Tokens (count, R + 1, D) of batch number ``step``, and the answers (count, D)."""
    R, m, D = config.roles, config.content, config.d_model
    generator = torch.Generator().manual_seed(10**6 * config.seed + step)
    contents = torch.randn(count, R, m, generator=generator)
    tokens = torch.eye(R + 1, R + 1 + m).repeat(count, 1, 1)
    tokens[:, :R, R + 1 :] = contents
    basis = torch.randn(D, D, generator=torch.Generator().manual_seed(config.seed))
    basis = torch.linalg.qr(basis)[0][: R + 1 + m]  # features lie askew, as in a real stream
    return tokens @ basis * D**0.5 / 2, contents.flatten(1)


def train(config: LookupsConfig) -> LookupsRun:
    """Train one layer and examine it on 2,000 new sequences."""
    torch.manual_seed(config.seed)
    d_head = config.d_head or max(1, config.d_model // config.n_heads)
    layer = SelfAttention(config.d_model, config.n_heads, d_head=d_head, causal=False)
    optimizer = AdamW(layer.parameters(), lr=config.lr, weight_decay=0.0)
    for step in range(config.steps):
        optimizer.param_groups[0]["lr"] = config.lr * (1 - step / config.steps)
        x, answer = draw(config, step, config.batch)
        (layer(x)[:, -1] - answer).square().mean().backward()
        optimizer.step()
        optimizer.zero_grad()
    x, answer, taps = *draw(config, config.steps, 2000), dict[str, Tensor]()
    with torch.inference_mode():
        error = (layer(x, taps=taps)[:, -1] - answer).square().mean()
    return LookupsRun(error.item(), taps["weights"][:, :, -1].mean(0))
