"""Holes in the sentences of :mod:`code_pairs`, and how each architecture fills them."""

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from numpy import ndarray
from torch import Tensor, nn

from mathlm.errors import InputTypeError
from mathlm.functional import token_cross_entropy
from mathlm.models import GPT, MaskedBert, Transformer

from .code_pairs import EQUALS, LENGTH, MASK, cut, mark, sentences, vocabulary

Fill = Callable[[Any, ndarray, int, int], Tensor]  # model, sentences, the hole's start and stop
PROBES = {
    "word on the left": [(i, i + 1) for i in range(1, EQUALS)],
    "word on the right": [(i, i + 1) for i in range(EQUALS + 1, LENGTH - 1)],
    "translate": [(EQUALS + 1, LENGTH)],
    "translate back": [(1, EQUALS)],
    "continue": [(EQUALS - 1, LENGTH)],
}


def go_on(model: GPT, rows: ndarray, start: int, stop: int) -> Tensor:
    """The most probable word after what stands to the left, again and again."""
    ids, text = torch.from_numpy(rows), torch.from_numpy(rows[:, :start])
    for _ in range(start, stop):
        text = torch.cat([text, model(text)[:, -1].argmax(-1, keepdim=True)], 1)
    return torch.cat([text, ids[:, stop:]], 1)


def try_all(model: GPT, rows: ndarray, start: int, stop: int) -> Tensor:
    """The word with which the whole sentence is most probable; V sentences are scored."""
    V, ids = len(vocabulary()), torch.from_numpy(rows).repeat_interleave(len(vocabulary()), 0)
    ids[:, start] = torch.arange(V).repeat(len(rows))
    surprise = token_cross_entropy(model(ids[:, :-1]), ids[:, 1:]).sum(1).view(-1, V)
    return ids[torch.arange(len(rows)) * V + surprise.argmin(1)]


def one_by_one(model: MaskedBert, rows: ndarray, start: int, stop: int) -> Tensor:
    """Of all masks the one that the model is surest of becomes a word, again and again."""
    ids = torch.from_numpy(rows).clone()
    ids[:, start:stop] = mark(MASK)
    for _ in range(start, stop):
        p, word = model(ids).softmax(-1).max(-1)
        place = p.masked_fill(ids != mark(MASK), -1.0).argmax(1)
        ids.scatter_(1, place[:, None], word.gather(1, place[:, None]))
    return ids


def at_once(model: MaskedBert, rows: ndarray, start: int, stop: int) -> Tensor:
    """Every mask becomes the word that is most probable there, in one pass."""
    ids = torch.from_numpy(rows).clone()
    ids[:, start:stop] = mark(MASK)
    return torch.where(ids == mark(MASK), model(ids).argmax(-1), ids)


def decode(model: Transformer, rows: ndarray, start: int, stop: int) -> Tensor:
    """What the decoder says of the hole; a filling of another length leaves the row empty."""
    cuts = [cut(row, start, stop) for row in rows.tolist()]
    source, form = (torch.tensor(side) for side in zip(*cuts, strict=True))
    memory, said = model.encode(source), form[:, :1]
    for _ in range(form.shape[1] - 1):
        said = torch.cat([said, model.decode(said, memory)[:, -1].argmax(-1, keepdim=True)], 1)
    fits = (said[:, [1, -1]] == form[:, [1, -1]]).all(1, keepdim=True)
    filled = torch.from_numpy(rows).clone()
    filled[:, start:stop] = said[:, 2:-1]
    return filled * fits


WAYS: dict[type, dict[str, Fill]] = {
    GPT: {"gpt": go_on, "gpt, every word tried": try_all},
    MaskedBert: {"bert": at_once, "bert, one by one": one_by_one},
    Transformer: {"encoder-decoder": decode},
}


@torch.inference_mode()
def examine(model: nn.Module, rows: ndarray) -> dict[str, dict[str, float]]:
    """Share of right answers by way of filling and probe; other kinds of model are refused.

    A continuation is right if the sentence is true; any other filling if it was cut out there.
    """
    ways = WAYS.get(type(model))
    if ways is None:
        raise InputTypeError(f"no way to fill holes with a {type(model).__name__}")
    return {way: shares(model, rows, fill) for way, fill in ways.items()}


def shares(model: nn.Module, rows: ndarray, fill: Fill) -> dict[str, float]:
    """Share of right answers of one way to fill holes, in each probe that it is for."""
    found, names = {}, ["word on the left"] if fill is try_all else PROBES
    for name in names:
        filled = np.stack([fill(model, rows, *span).numpy() for span in PROBES[name]])
        right = is_true(filled) if name == "continue" else (filled == rows).all(-1)
        found[name] = float(right.mean())
    return found


def is_true(filled: ndarray) -> ndarray:
    """Whether each is one of the 1,000 sentences."""
    return (filled[..., None, :] == sentences()).all(-1).any(-1)
