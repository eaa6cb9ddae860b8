"""Rows of random tokens that repeat, after a distance that differs from row to row.

A row is a start token, then random tokens that are all different, then the same tokens again
and again. With one distance for all rows, looking back by that distance would be enough.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from mathlm.errors import ConfigError
from mathlm.shapes import Bool, Int

START = 0  # the token at position 0


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
        for name in ("batch", "warmup", "every"):
            if getattr(self, name) < 1:
                raise ConfigError(f"{name}={getattr(self, name)} must be at least 1")
        if self.steps < 0:
            raise ConfigError(f"steps={self.steps} must not be negative")
        if not 2 <= self.shortest <= self.longest < min(self.vocab_size, self.length - 1):
            raise ConfigError(
                f"2 <= shortest={self.shortest} <= longest={self.longest} must be below "
                f"vocab_size={self.vocab_size} and length - 1 = {self.length - 1}"
            )


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
