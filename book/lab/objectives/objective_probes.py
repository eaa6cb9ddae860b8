"""What comes next, and what stands in a hole: the same questions to every model.

Asked of each model of :mod:`objectives` in the way of its objective, about plays that none has
read.
"""

import math
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from mathlm.functional import token_cross_entropy
from mathlm.models import GPT, Transformer

from .objective_bodies import Kind, both_ways
from .play_lines import BEGIN, MASK, SENTINELS, Part, ids

SIDE = 31  # symbols on either side of a hole


class Score(NamedTuple):
    """Mean surprise [bits/symbol] and share of right answers."""

    bits: float
    right: float


def excerpts(part: Part, count: int, length: int, seed: int = 0) -> Tensor:
    """Pieces of the text, from anywhere, (count, length)."""
    starts = np.random.default_rng(seed).integers(0, len(ids(part)) - length, count)
    return torch.from_numpy(ids(part)[starts[:, None] + np.arange(length)])


def score(logits: Tensor, answers: Tensor) -> Score:
    """How a prediction for each of the answers, (N, V) and (N,), does."""
    bits = token_cross_entropy(logits, answers).mean().item() / math.log(2)
    return Score(bits, (logits.argmax(-1) == answers).double().mean().item())


def fill(model: nn.Module, kind: Kind, left: Tensor, right: Tensor) -> Tensor:
    """Logits (N, V) of the one symbol between two texts; a GPT knows only the left one."""
    column = torch.ones(len(left), 1, dtype=torch.int64)
    if isinstance(model, Transformer):
        source = torch.cat([left, SENTINELS[0] * column, right], 1)
        return model(source, torch.cat([BEGIN * column, SENTINELS[0] * column], 1))[:, -1]
    if isinstance(model, GPT):
        seen = torch.full((len(left),), left.shape[1])
        return model(left, prefix=seen if kind == "prefix" else None)[:, -1]
    seen = both_ways(model).hidden(torch.cat([left, MASK * column, right], 1))
    return both_ways(model).gpt.head(seen[:, left.shape[1]])


def after(model: nn.Module, kind: Kind, count: int) -> Score:
    """The next symbol, from 62 before it."""
    text = excerpts("held out", count, 2 * SIDE + 1)
    return score(fill(model, kind, text[:, :-1], text[:, :0]), text[:, -1])


def hole(model: nn.Module, kind: Kind, count: int) -> Score:
    """One symbol, with 31 on either side of it."""
    text = excerpts("held out", count, 2 * SIDE + 1)
    return score(fill(model, kind, text[:, :SIDE], text[:, SIDE + 1 :]), text[:, SIDE])


@torch.no_grad()
def examine(model: nn.Module, kind: Kind, count: int = 256) -> dict[str, float]:
    """What a model says of the next symbol and of a hole, by the name of the question."""
    next_one, between = after(model.eval(), kind, count), hole(model, kind, count)
    return {
        "next symbol [bits]": next_one.bits,
        "next symbol [right]": next_one.right,
        "hole [bits]": between.bits,
        "hole [right]": between.right,
    }
