"""Codes of three digits, read aloud in two languages: one corpus for every architecture.

A sentence is "four one seven = quatre un sept". Either half follows from the other, and a word
of the first half from nothing that stands to the left of it.
"""

from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy import ndarray
from numpy.random import Generator
from torch import Tensor

from mathlm.text import Words, draw_spans, mask_tokens, numerals
from mathlm.train.objectives import IGNORED

DIGITS = 3
EQUALS, LENGTH = DIGITS + 1, 2 * DIGITS + 3  # tokens of a sentence, with begin and end
MASK, HOLE, END = "<mask>", "<hole>", "<end>"


class Batch(NamedTuple):
    """What a model reads, and what it is to say: -100 where nothing is asked."""

    inputs: tuple[Tensor, ...]
    masks: dict[str, Tensor]
    targets: Tensor


@lru_cache
def vocabulary() -> Words:
    """The words of both languages and the marks of all objectives."""
    spelled = [numerals.spell(d, language) for d in range(10) for language in ("en", "fr")]
    return Words.build([*spelled, f"= {MASK} {HOLE} {END}"])


def mark(name: str) -> int:
    """Number of a mark."""
    return vocabulary().index[name]


@lru_cache
def sentences() -> ndarray:
    """All 1,000 sentences as numbers of words, (1000, 9), each between a begin and an end."""
    words, rows = vocabulary(), []
    for code in range(10**DIGITS):
        digits = [int(d) for d in f"{code:0{DIGITS}}"]
        halves = [" ".join(numerals.spell(d, name) for d in digits) for name in ("en", "fr")]
        rows.append([words.BOS, *words.encode(" = ".join(halves)), words.EOS])
    return np.array(rows)


def next_words(rows: ndarray, rng: Generator, published: bool = True) -> Batch:
    """Each word from those before it: the objective of a GPT, which leaves no choice."""
    return Batch((torch.from_numpy(rows[:, :-1]),), {}, torch.from_numpy(rows[:, 1:]))


def hidden_words(rows: ndarray, rng: Generator, published: bool = True) -> Batch:
    """Hidden words from all others: the objective of a BERT.

    As published 15 % of the words, of which 80 % are masked; otherwise any share, all masked.
    """
    how: dict[str, Any] = {} if published else {"rate": 1 - rng.random(), "shares": (1, 0, 0)}
    ids, targets = mask_tokens(
        rows, rng, mask_id=mark(MASK), vocab_size=len(vocabulary()), special=(Words.BOS,), **how
    )
    return Batch((torch.from_numpy(ids),), {}, torch.from_numpy(targets))


def cut_words(rows: ndarray, rng: Generator, published: bool = True) -> Batch:
    """A span that was cut out, from what is left: the objective of an encoder-decoder.

    As published 15 % of the words in one span, which is one word; otherwise any span.
    """
    cuts = [draw_span(rng, published) for _ in rows]
    pairs = [cut(row, *span) for row, span in zip(rows.tolist(), cuts, strict=True)]
    source, target = (
        torch.from_numpy(numerals.padded(side)) for side in zip(*pairs, strict=True)
    )
    masks = {"source_mask": source != Words.PAD, "target_mask": target[:, :-1] != Words.PAD}
    answers = target[:, 1:].masked_fill(target[:, 1:] == Words.PAD, IGNORED)
    return Batch((source, target[:, :-1]), masks, answers)


def draw_span(rng: Generator, published: bool) -> tuple[int, int]:
    """Where a span starts and stops, behind the begin mark."""
    words = LENGTH - 1
    if published:
        start, stop = draw_spans(words, rng)[0]
    else:
        start, stop = np.sort(rng.choice(words + 1, 2, replace=False))
    return int(start) + 1, int(stop) + 1


def cut(row: list[int], start: int, stop: int) -> tuple[list[int], list[int]]:
    """Source, without its begin mark, and target for the tokens ``start`` to ``stop`` - 1."""
    hole, end = mark(HOLE), mark(END)
    return [*row[1:start], hole, *row[stop:]], [Words.BOS, hole, *row[start:stop], end]


OBJECTIVES = {"gpt": next_words, "bert": hidden_words, "encoder-decoder": cut_words}
