"""Associative recall: pairs of a key and a value are shown, then each key is asked for.

A pair is one position, the sum of the embeddings of its key and of its value, so that nothing
has to be bound together first and only memory is measured. A question is the embedding of a key
and that of asking.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, get_args

import torch
from torch import Tensor, nn

from mathlm.errors import ConfigError
from mathlm.functional import token_cross_entropy
from mathlm.layers import RMSNorm
from mathlm.models.state_space import Mixer, StateSpaceBlock, StateSpaceConfig
from mathlm.optim import AdamW

Arm = tuple[Mixer, ...]
ARMS: dict[str, Arm] = {
    "decay": ("mamba2", "mamba2"),
    "delta rule": ("delta", "delta"),
    "attention": ("attention", "attention"),
    "hybrid": ("mamba2", "attention"),
}


@dataclass(frozen=True, kw_only=True)
class RecallConfig:
    """One training run with Adam, on the cross-entropy of the values asked for.

    Args:
        mixers: Layers of the model.
        numbers: Pairs in a sequence; the batches take them in turn.
        keys: Different keys.
        values: Different values.
        d_model: Width, D; also the width P of the one head of each layer.
        d_state: Rows of a state, N.
        steps: Steps of Adam, of ``batch`` sequences each.
        batch: Sequences in a batch.
        lr: First step size; it falls to zero in a straight line.
        seed: Of the weights and the sequences.
    """

    mixers: Arm = ("mamba2", "mamba2")
    numbers: Sequence[int] = (4, 8, 16, 32, 48)
    keys: int = 64
    values: int = 16
    d_model: int = 32
    d_state: int = 8
    steps: int = 400
    batch: int = 32
    lr: float = 1e-2
    seed: int = 0

    def __post_init__(self) -> None:
        unknown = [m for m in self.mixers if m not in get_args(Mixer)]
        if unknown or not self.mixers:
            raise ConfigError(f"mixers={self.mixers!r} must be of {get_args(Mixer)}")
        if not self.numbers or max(self.numbers) > self.keys or min(self.numbers) < 1:
            raise ConfigError(f"numbers={self.numbers} must be from 1 to keys={self.keys}")


class RecallRun(NamedTuple):
    """Share of new questions that are answered rightly, for each number of pairs."""

    recall: dict[int, float]
    model: "RecallModel"


class RecallModel(nn.Module):
    """Embeddings of keys and values, blocks, and scores of the values.

    Args:
        config: Sizes and mixers.
    """

    def __init__(self, config: RecallConfig) -> None:
        super().__init__()
        D = config.d_model
        sizes = StateSpaceConfig(
            mixers=config.mixers, d_model=D, n_heads=1, d_head=D, d_state=config.d_state,
            d_conv=1, chunk=96,
        )  # fmt: skip
        self.keys = nn.Embedding(config.keys, D)
        self.values = nn.Embedding(config.values + 1, D)  # the last one asks
        self.blocks = nn.Sequential(*(StateSpaceBlock(sizes, kind) for kind in config.mixers))
        self.norm, self.head = RMSNorm(D), nn.Linear(D, config.values, bias=False)

    def forward(self, keys: Tensor, values: Tensor) -> Tensor:
        """Scores of the values at each position (B, T, values)."""
        return self.head(self.norm(self.blocks(self.keys(keys) + self.values(values))))


def draw(
    config: RecallConfig, n: int, count: int, number: int
) -> tuple[Tensor, Tensor, Tensor]:
    """Batch ``number``: keys and values at 2 n positions, and the n answers.

    The first half shows the pairs; the second asks for all of them in another order.
    """
    generator = torch.Generator().manual_seed(10**6 * config.seed + number)
    keys = torch.rand(count, config.keys, generator=generator).argsort(1)[:, :n]
    values = torch.randint(config.values, (count, n), generator=generator)
    order = torch.rand(count, n, generator=generator).argsort(1)
    ask = torch.full_like(values, config.values)
    asked = torch.cat((keys, keys.gather(1, order)), 1)
    return asked, torch.cat((values, ask), 1), values.gather(1, order)


def train(config: RecallConfig) -> RecallRun:
    """Train one model and examine it on new sequences."""
    torch.manual_seed(config.seed)
    model = RecallModel(config)
    optimizer = AdamW(model.parameters(), lr=config.lr, weight_decay=0.0)
    for step in range(config.steps):
        optimizer.param_groups[0]["lr"] = config.lr * (1 - step / config.steps)
        n = config.numbers[step % len(config.numbers)]
        keys, values, answers = draw(config, n, config.batch, step)
        token_cross_entropy(model(keys, values)[:, n:], answers).mean().backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
    return RecallRun(examine(model, config), model)


@torch.no_grad()
def examine(model: RecallModel, config: RecallConfig, count: int = 256) -> dict[int, float]:
    """Share of questions answered rightly on new sequences, for each number of pairs."""
    found = {}
    for i, n in enumerate(config.numbers):
        keys, values, answers = draw(config, n, count, 900_000 + i)
        right = model(keys, values)[:, n:].argmax(-1) == answers
        found[n] = right.float().mean().item()
    return found
