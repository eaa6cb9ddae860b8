"""What a linear probe reads from the states of a frozen model.

Asked of each model of :mod:`objectives`: which words were written with a capital, a label that
no objective has seen; whether two lines belong together; and which of two came first. Probes
learn on the training plays and are judged on the others.
"""

from typing import Any, get_args

import numpy as np
import torch
from torch import Tensor, nn

from mathlm.functional import mean_pool
from mathlm.models import GPT, Transformer
from mathlm.train import SentencePairBatches

from .objective_bodies import Kind, both_ways, lengths
from .objective_probes import SIDE
from .play_lines import CLS, SEP, Part, balanced, ids, sentences


def states(model: nn.Module, kind: Kind, ids: Tensor, mask: Tensor | None = None) -> Tensor:
    """What a model makes of a text: one vector for each token, seeing all that it may see."""
    if isinstance(model, Transformer):
        return model.encode(ids, mask)
    if isinstance(model, GPT):
        return model.hidden(ids, mask, prefix=lengths(ids, mask) if kind == "prefix" else None)
    return both_ways(model).hidden(ids, mask)


def names(model: nn.Module, kind: Kind, count: int) -> float:
    """Share of words of which a linear probe says rightly whether they had a capital."""
    sides = []
    for seed, part in enumerate(get_args(Part)):
        places, capital = balanced(part, count, np.random.default_rng(seed))
        at = places[:, None] + np.arange(-SIDE, SIDE + 1)  # the word ends in the middle
        x = states(model, kind, torch.from_numpy(ids(part)[at]))[:, SIDE]
        sides.append((x, torch.from_numpy(capital)))
    return linear_probe(*sides[0], *sides[1])


def lines(model: nn.Module, kind: Kind, negatives: str, count: int) -> float:
    """Share of pairs of lines of which a linear probe says rightly if one follows the other."""
    sides = []
    for part in get_args(Part):
        batch = pairs(part, negatives, count)(0)
        x = states(model, kind, batch["ids"], batch["mask"])
        halves = [mean_pool(x, batch["mask"] & (batch["segments"] == i)) for i in (0, 1)]
        sides.append((torch.cat(halves, 1), batch["follows"] == 1))
    return linear_probe(*sides[0], *sides[1])


def pairs(part: Part, negatives: str, count: int) -> SentencePairBatches:
    """Pairs of lines without holes."""
    how: dict[str, Any] = {
        "context": 2 * SIDE + 2,
        "batch_size": count,
        "negatives": negatives,
        "seed": 9,
    }
    return SentencePairBatches(sentences(part), cls_id=CLS, sep_id=SEP, **how)


def linear_probe(x: Tensor, label: Tensor, x_new: Tensor, label_new: Tensor) -> float:
    """Share of new labels that regression on the old ones says rightly; ridge 1, for 1 and -1.

    The features are scaled to the mean and deviation of the old ones.
    """
    mean, deviation = x.mean(0), x.std(0) + 1e-6
    x, x_new = ((v - mean).div(deviation).double() for v in (x, x_new))
    x, x_new = (torch.cat([v, v.new_ones(len(v), 1)], 1) for v in (x, x_new))
    y = 2.0 * label.double() - 1
    w = torch.linalg.solve(x.T @ x + torch.eye(x.shape[1], dtype=x.dtype), x.T @ y)
    return ((x_new @ w > 0) == label_new).double().mean().item()


@torch.no_grad()
def probe(model: nn.Module, kind: Kind, count: int = 1000) -> dict[str, float]:
    """What linear probes read from a frozen model, by the name of the question."""
    model.eval()
    return {
        "capital [right]": names(model, kind, count),
        "belong together [right]": lines(model, kind, "elsewhere", count),
        "order [right]": lines(model, kind, "swapped", count),
    }
