"""English numerals to French by an encoder-decoder, judged on numbers that it never saw."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from mathlm.errors import ConfigError
from mathlm.functional import cross_entropy
from mathlm.generate import translate
from mathlm.models import Transformer, TransformerConfig
from mathlm.optim import AdamW, warmup_cosine
from mathlm.text import Characters, Words, numerals

UNITS = {"words": Words, "characters": Characters}
SPLIT = 0  # draws the numbers that are held out, the same ones for every seed of a model


@dataclass(frozen=True, kw_only=True)
class NumeralsConfig:
    """One training run of AdamW without decay.

    Args:
        unit: "words" or "characters".
        high: Numbers are 0 ... high - 1; training never sees ``held_out`` of them.
        context: Longest numeral, with a mark at each end [words or characters].
        lr: Largest step size, after a fifth of the steps; a twentieth is left at the end.
    """

    unit: str = "words"
    high: int = 10_000
    held_out: int = 1000
    context: int = 16
    d_model: int = 64
    layers: int = 1
    steps: int = 300
    batch: int = 64
    lr: float = 4e-3
    label_smoothing: float = 0.0
    dropout: float = 0.0
    evaluations: int = 3
    seed: int = 0

    def __post_init__(self) -> None:
        if self.unit not in UNITS or not 1 <= self.evaluations <= self.steps or self.batch < 1:
            raise ConfigError(f"need a unit, 1 <= evaluations <= steps, batch >= 1: got {self}")


class NumeralsRun:
    """A model with its vocabularies; losses, and the shares right of numbers held out."""

    def __init__(self, config: NumeralsConfig, pools: list, held_out: np.ndarray) -> None:
        torch.manual_seed(config.seed)
        self.config, self.pools, self.held_out = config, pools, held_out
        texts = zip(*numerals.pairs(np.concatenate((*pools, held_out))), strict=True)
        self.source, self.target = (UNITS[config.unit].build(side) for side in texts)
        sizes: dict[str, Any] = {"d_model": config.d_model, "n_layers": config.layers}
        sizes |= {"vocab_size": len(self.source), "target_vocab_size": len(self.target)}
        sizes |= {"context": config.context, "dropout": config.dropout, "n_heads": 4}
        self.model = Transformer(TransformerConfig(**sizes))
        self.losses, self.points = list[float](), list[tuple[int, float]]()

    def batch(self, numbers: Sequence[int] | np.ndarray) -> list[torch.Tensor]:
        """Source and target ids of numbers."""
        table = numerals.batch(numerals.pairs(numbers), self.source, self.target)
        return list(map(torch.from_numpy, table))

    def say(self, numbers: Sequence[int] | np.ndarray, beams: int = 1) -> list[str]:
        """The numbers in French, from their English numerals."""
        ids, _ = self.batch(numbers)
        options: dict[str, Any] = {"max_new_tokens": self.config.context, "beams": beams}
        options |= {"start": Words.BOS, "end": Words.EOS, "mask": ids != Words.PAD}
        return [self.target.decode(row) for row in translate(self.model, ids, **options)]

    def right(self, numbers: Sequence[int] | np.ndarray, beams: int = 1) -> np.ndarray:
        """For each number, whether all of its French numeral is right."""
        wanted = [self.target.decode(row) for row in self.batch(numbers)[1]]
        return np.array(wanted) == self.say(numbers, beams)


def train(config: NumeralsConfig) -> NumeralsRun:
    """Train a model on the numbers that are not held out, which are the same for each seed."""
    training, held_out = numerals.split(SPLIT, 0, config.high, config.held_out)
    return fit(NumeralsRun(config, [training], held_out))


def fit(run: NumeralsRun) -> NumeralsRun:
    """Train the model of a run; each batch takes equally many numbers from each pool."""
    config, model, steps = run.config, run.model, run.config.steps
    optimizer = AdamW(model.parameters(), lr=config.lr, betas=(0.9, 0.98), weight_decay=0.0)
    rate = warmup_cosine(config.lr, steps // 5, steps, final=config.lr / 20)
    for step in range(steps):
        draw = np.random.default_rng((config.seed, step))
        rows = [draw.choice(pool, config.batch // len(run.pools)) for pool in run.pools]
        source, target = run.batch(np.concatenate(rows))
        logits = model(source, target[:, :-1], source_mask=source != Words.PAD)
        labels = target[:, 1:].masked_fill(target[:, 1:] == Words.PAD, -100)
        total, words = cross_entropy(logits, labels, label_smoothing=config.label_smoothing)
        optimizer.param_groups[0]["lr"] = rate(step)
        optimizer.zero_grad()
        (total / words).backward()
        optimizer.step()
        run.losses.append(total.item() / words)
        if (step + 1) * config.evaluations % steps < config.evaluations:
            run.points.append((step + 1, run.right(run.held_out).mean().item()))
    model.eval()
    return run
