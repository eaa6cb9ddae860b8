"""What becomes of a translator of numerals that lacks one of its pieces.

cd book
python -m lab.transformer_forward.missing_pieces --steps 100
"""

import argparse
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from mathlm.errors import ConfigError
from mathlm.models import Transformer
from mathlm.text import Words, numerals
from mathlm.train.record import record_on_cpu

from .numerals import SPLIT, NumeralsConfig, NumeralsRun, fit

PIECES = ("nothing", "positions", "causal mask", "cross-attention")


class Silent(nn.Module):
    """Stands where cross-attention was, and adds nothing."""

    def forward(self, x: Tensor, memory: Tensor, **_: Any) -> Tensor:
        """Zeros."""
        return torch.zeros_like(x)


@dataclass(frozen=True, kw_only=True)
class Lacking:
    """A translator that lacks a piece, and what it knows of numbers held out.

    Args:
        run: The model, its vocabularies and its training losses [nats/word].
        word: Loss of the numbers held out, the right beginning given [nats/word].
        sentence: The same, summed over each sentence [nats].
        exact: Share of them that come out right, word by word.
    """

    run: NumeralsRun
    word: float
    sentence: float
    exact: float


def prepared(piece: str, config: NumeralsConfig) -> NumeralsRun:
    """A run that has not begun, with a model that lacks one of ``PIECES``.

    Raises:
        ConfigError: If the piece is not known.
    """
    if piece not in PIECES:
        raise ConfigError(f"piece={piece!r} is not one of {', '.join(PIECES)}")
    pool, held_out = numerals.split(SPLIT, 0, config.high, config.held_out)
    run = NumeralsRun(config, [pool], held_out)
    if piece == "positions":
        torch.manual_seed(config.seed)
        run.model = Transformer(replace(run.model.config, position="none"))
    for block in cast(Any, run.model.decoder):
        if piece == "causal mask":
            block.attention.causal = False
        if piece == "cross-attention":
            block.cross_attention = Silent()
    return run


def train_without(piece: str, config: NumeralsConfig) -> Lacking:
    """Train a translator that lacks one of ``PIECES``, and judge it by numbers held out.

    Raises:
        ConfigError: If the piece is not known.
    """
    run = fit(prepared(piece, config))
    word, labels = held_out_loss(run)
    sentence = word * labels / len(run.held_out)
    return Lacking(run=run, word=word, sentence=sentence, exact=run.points[-1][1])


@torch.no_grad()
def held_out_loss(run: NumeralsRun) -> tuple[float, int]:
    """Mean loss of the labels of the numbers held out [nats/word], and how many there are."""
    source, target = run.batch(run.held_out)
    logits = run.model(source, target[:, :-1], source_mask=source != Words.PAD)
    labels = target[:, 1:].flatten()
    loss = cross_entropy(logits.flatten(0, 1), labels, ignore_index=Words.PAD)
    return loss.item(), int((labels != Words.PAD).sum())


def study(config: NumeralsConfig, seeds: int) -> list[dict[str, Any]]:
    """Every piece with several seeds; "seen" is the share right of numbers trained with."""
    rows = []
    for piece in PIECES:
        for seed in range(seeds):
            found = train_without(piece, replace(config, seed=seed))
            seen = found.run.right(found.run.pools[0][::9]).mean().item()
            row = {"piece": piece, "seed": seed, "exact": found.exact, "seen": seen}
            rows.append(row | {"word": found.word, "sentence": found.sentence})
    return rows


def main(argv: Sequence[str] | None = None) -> list[dict[str, Any]]:
    """Train a model without each piece; returns, and may record, what it knows."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--steps", type=int, default=NumeralsConfig.steps)
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--record", type=Path, help="JSON file for options and results")
    args = parser.parse_args(argv)
    rows = study(config := NumeralsConfig(steps=args.steps, evaluations=1), args.seeds)
    record_on_cpu(args.record, config=config, results={"runs": rows})
    return rows


if __name__ == "__main__":
    print(*main(), sep="\n")
