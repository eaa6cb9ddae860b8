"""A source that says one random word for ever, and a small GPT that learns to repeat.

By teacher forcing, or by scheduled sampling in two passes (Mihaylova and Martins 2019).
"""

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from mathlm.errors import ConfigError
from mathlm.functional import cross_entropy
from mathlm.generate import draw
from mathlm.models import GPT, GPTConfig
from mathlm.optim import AdamW, clip_grad_norm, warmup_cosine
from mathlm.shapes import Int


@dataclass(frozen=True, kw_only=True)
class CopyConfig:
    """One training run.

    Args:
        letters: Size of the alphabet, V.
        period: Letters of a word.
        forgets: Whether the model sees one word back and no further; otherwise all there is.
        repeats: How often a text says its word.
        share: How often, at the end of training, the model's own draw is read instead of the
            true letter; the share grows evenly from 0. 0 = teacher forcing.
        steps: Of AdamW, each on ``batch`` new texts.
        seed: Of the weights and of the texts.
    """

    letters: int = 8
    period: int = 5
    repeats: int = 9
    forgets: bool = True
    share: float | int = 0.0
    steps: int = 180
    batch: int = 16
    width: int = 32
    lr: float | int = 6e-3
    seed: int = 0

    def __post_init__(self) -> None:
        if not 0 <= self.share <= 1:
            raise ConfigError(f"share={self.share} is outside 0..1")
        if self.letters < 2 or self.repeats < 3 or self.period < 1 or self.steps < 2:
            raise ConfigError("letters and steps must be at least 2, repeats 3 and period 1")


def texts(config: CopyConfig, number: int, rng: torch.Generator) -> Int[Tensor, "N T"]:
    """Texts of the source, each a random word repeated."""
    word = torch.randint(config.letters, (number, config.period), generator=rng)
    return word.repeat(1, config.repeats)


def build(config: CopyConfig) -> GPT:
    """One block, untrained."""
    shape = GPTConfig(
        vocab_size=config.letters,
        context=config.period * config.repeats,
        window=config.period if config.forgets else None,
        d_model=config.width,
        n_layers=1,
        n_heads=4,
        norm="rms",
    )
    return GPT(shape)


def train(config: CopyConfig) -> tuple[GPT, list[float]]:
    """A model, and the loss of each step [nats/letter]."""
    torch.manual_seed(config.seed)
    rng, losses = torch.Generator().manual_seed(config.seed), []
    model = build(config)
    optimizer = AdamW(model.parameters(), lr=config.lr, betas=(0.9, 0.98), weight_decay=0.01)
    rate = warmup_cosine(config.lr, config.steps // 10, config.steps)
    for step in range(config.steps):
        optimizer.param_groups[0]["lr"] = rate(step)
        x = texts(config, config.batch, rng)
        read = mixed(model, x[:, :-1], config.share * step / config.steps, rng)
        loss, count = cross_entropy(model(read), x[:, 1:])
        optimizer.zero_grad()
        (loss / count).backward()
        clip_grad_norm(model.parameters(), 1.0)
        optimizer.step()
        losses.append(loss.item() / count)
    return model.eval(), losses


@torch.no_grad()
def mixed(
    model: nn.Module, ids: Int[Tensor, "B T"], share: float | int, rng: torch.Generator
) -> Int[Tensor, "B T"]:
    """The text with a share of its letters replaced by what the model would have said."""
    if share == 0:
        return ids
    own = draw(model(ids).softmax(-1), torch.rand(ids.shape, generator=rng))
    said = torch.cat((ids[:, :1], own[:, :-1]), 1)  # what was said about each place
    return torch.where(torch.rand(ids.shape, generator=rng) < share, said, ids)
