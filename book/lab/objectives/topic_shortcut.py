"""Which passage follows? Answered by shared words alone, blind to order and meaning.

Two passages share words when they share a scene. Counting them, the rare ones more, is enough
for next-sentence prediction as long as the wrong passage comes from somewhere else.
"""

import math
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from typing import Literal

import numpy as np
from numpy import ndarray

from mathlm.errors import InputError
from mathlm.text import corpus

Negatives = Literal["elsewhere", "same", "swapped"]  # any play, the same play, the wrong order
Passages = list[list[list[str]]]  # play, passage, word


def passages(words: int) -> Passages:
    """Every play as passages of so many words, in lower case and without punctuation."""
    if words < 1:
        raise InputError(f"words={words}: a passage needs at least one")
    cut = []
    for play in corpus.documents("shakespeare"):
        text = [word.strip(".,;:!?'").lower() for word in play.split()]
        cut.append([text[i : i + words] for i in range(0, len(text) - words, words)])
    return cut


def weights(cut: Passages) -> dict[str, float]:
    """log(passages / passages with the word): rare words say more about a scene."""
    every = [set(passage) for play in cut for passage in play]
    found = Counter(word for passage in every for word in passage)
    return {word: math.log(len(every) / n) for word, n in found.items()}


@lru_cache
def prepared(words: int) -> tuple[Passages, dict[str, float]]:
    """Passages and the weights of their words, made once."""
    cut = passages(words)
    return cut, weights(cut)


def draw_pairs(
    cut: Passages, negatives: Negatives, number: int, rng: np.random.Generator
) -> tuple[list[tuple[list[str], list[str]]], ndarray]:
    """Pairs of passages, and whether the second follows the first, which half of them do."""
    pairs, follows = [], rng.random(number) < 0.5
    for right in follows:
        play = cut[rng.integers(len(cut))]
        at = int(rng.integers(len(play) - 1))
        first, second = play[at], play[at + 1]
        if not right and negatives == "swapped":
            first, second = second, first
        elif not right:
            other = play if negatives == "same" else cut[rng.integers(len(cut))]
            second = other[rng.integers(len(other))]
        pairs.append((first, second))
    return pairs, follows


def overlap(pairs: Sequence[tuple], weight: dict[str, float]) -> ndarray:
    """Summed weight of the words that both passages have; the same in either order."""
    return np.array([sum(weight[w] for w in sorted({*a} & {*b})) for a, b in pairs])


def shortcut(
    negatives: Negatives, words: int = 100, number: int = 1000, seed: int = 0
) -> float:
    """Share of pairs of held-out plays judged rightly by a threshold on the overlap.

    Args:
        negatives: Where the second passage comes from when it does not follow.
        words: Words of a passage.
        number: Pairs to choose the threshold with, and as many to judge.
        seed: Of the pairs.
    """
    (cut, weight), rng = prepared(words), np.random.default_rng(seed)
    held_out = cut[9::10]
    known = [play for i, play in enumerate(cut) if i % 10 != 9]
    pairs, follows = draw_pairs(known, negatives, number, rng)
    score = overlap(pairs, weight)
    levels = np.quantile(score, np.linspace(0.02, 0.98, 49))
    best = max(levels, key=lambda level: ((score > level) == follows).mean())
    pairs, follows = draw_pairs(held_out, negatives, number, rng)
    return float(((overlap(pairs, weight) > best) == follows).mean())
