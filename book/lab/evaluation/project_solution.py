"""Reference solution of the project: a question set that can tell two models apart."""

import math
import re
from collections.abc import Sequence
from dataclasses import replace

from numpy import ndarray
from numpy.random import Generator

from mathlm.text.corpora.questions import Question


def deal(questions: Sequence[Question], rng: Generator) -> list[Question]:
    """The same questions, the choices of each in an order of its own.

    Args:
        questions: Whose right answers may all stand in the same place.
        rng: Source of the randomness.
    """
    dealt = []
    for q in questions:
        order = rng.permutation(len(q.choices)).tolist()
        choices = tuple(q.choices[i] for i in order)
        dealt.append(replace(q, choices=choices, answer=order.index(q.answer)))
    return dealt


def compare(first: ndarray, second: ndarray) -> tuple[float, float, float, float]:
    """Difference of two models on the same questions, its 95 % interval, and an exact p-value.

    Args:
        first: Whether the first model is right, (n,) of bool.
        second: The same of the second.
    """
    b, c, n = int((first & ~second).sum()), int((second & ~first).sum()), len(first)
    difference = (b - c) / n
    half = 1.96 * math.sqrt(((b + c) / n - difference**2) / n)
    tail = sum(math.comb(b + c, k) for k in range(min(b, c) + 1)) / 2 ** (b + c)
    return difference, difference - half, difference + half, min(1.0, 2 * tail)


def enough(difference: float, disagreement: float) -> int:
    """Questions after which a difference is seen four times of five, at 95 % confidence.

    Args:
        difference: Of the shares of right answers, above 0.
        disagreement: Share of the questions that only one of the two answers.
    """
    without, with_it = disagreement, disagreement - difference**2  # variances, times n
    reach = 1.96 * math.sqrt(without) + 0.8416 * math.sqrt(with_it)
    return math.ceil((reach / difference) ** 2)


def overlaps(questions: Sequence[Question], text: str, length: int = 8) -> list[bool]:
    """Whether a question shares so many words in a row with a text, whatever their case.

    Args:
        questions: Their own words are looked at, not their choices.
        text: What a model was trained on.
        length: Of the run of words; a question of fewer words counts if all stand in a row.
    """

    def runs(words: list[str], n: int) -> set[tuple[str, ...]]:
        return {tuple(words[i : i + n]) for i in range(len(words) - n + 1)}

    def split(one: str) -> list[str]:
        return re.findall(r"\w+", one.lower())

    read = split(text)
    asked = [split(q.text) for q in questions]
    sizes = [min(length, len(words)) for words in asked]
    known = {n: runs(read, n) for n in set(sizes)}
    return [bool(runs(words, n) & known[n]) for words, n in zip(asked, sizes, strict=True)]
