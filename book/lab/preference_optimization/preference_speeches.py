"""Speeches that our GPT of the plays writes, in pairs of which one sounds gladder."""

from dataclasses import dataclass

import torch
from torch import Tensor

from mathlm.align import answer_log_probabilities
from mathlm.generate import generate
from mathlm.models import GPT
from mathlm.text import sentiment
from mathlm.train.objectives import Batch

NAMES = ("JULIET", "HAMLET", "BRUTUS", "ANTONY", "PORTIA", "IMOGEN", "OLIVER", "CAESAR")
LENGTH = 56  # bytes of a speech


def write(model: GPT, number: int, seed: int) -> Tensor:
    """So many speeches with their openings, as bytes; names take turns."""
    openings = [list(f"\n\n{NAMES[i % len(NAMES)]}:\n".encode()) for i in range(number)]
    return generate(model.eval(), torch.tensor(openings), LENGTH, seed=seed)


def speech(ids: Tensor) -> str:
    """The part behind the opening."""
    return bytes(ids[-LENGTH:].tolist()).decode("utf-8", errors="replace")


def judged(texts: Tensor) -> Tensor:
    """How glad each speech sounds, from -1 to 1."""
    lexicon = sentiment.load()
    return torch.tensor([lexicon.score(speech(row)) for row in texts])


def as_batch(texts: Tensor) -> Batch:
    """Texts as rows to read, of which the speech is asked."""
    targets = texts[:, 1:].clone()
    targets[:, :-LENGTH] = -100
    return {"ids": texts[:, :-1], "targets": targets}


@dataclass(frozen=True, eq=False)
class SpeechPairs:
    """Pairs of speeches, and what the base says of both, as the data of a trainer."""

    chosen: Tensor
    rejected: Tensor
    logp_ref: Tensor
    rows: int
    seed: int

    def __call__(self, step: int) -> Batch:
        """Rows of a step."""
        draw = torch.Generator().manual_seed(1000 * self.seed + step)
        at = torch.randperm(len(self.chosen), generator=draw)[: self.rows]
        batch: Batch = {}
        for side, name in enumerate(("chosen", "rejected")):
            part = as_batch(getattr(self, name)[at])
            batch |= {f"{name}_{key}": value for key, value in part.items()}
            batch[f"{name}_logp_ref"] = self.logp_ref[side, at]
        return batch


def compared(base: GPT, number: int, rows: int, seed: int) -> tuple[SpeechPairs, int]:
    """Pairs from twice ``number`` speeches, and how many sounded alike."""
    texts = write(base, 2 * number, seed)
    halves = texts.unflatten(0, (-1, 2 * len(NAMES))).unflatten(1, (2, -1))
    first, second = (halves[:, side].flatten(0, 1) for side in (0, 1))
    a, b = judged(first), judged(second)
    differ = a != b
    better = (a > b)[differ, None]
    first, second = first[differ], second[differ]
    sides = torch.where(better, first, second), torch.where(better, second, first)
    with torch.no_grad():
        logp = [answer_log_probabilities(base, as_batch(side)) for side in sides]
    return SpeechPairs(*sides, torch.stack(logp), rows, seed), int((~differ).sum())
