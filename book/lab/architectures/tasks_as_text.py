"""Tasks on numerals as texts that become texts, and holes in counting; one vocabulary."""

from collections.abc import Sequence
from functools import lru_cache

import torch
from numpy.random import Generator
from torch import Tensor

from mathlm.errors import ConfigError
from mathlm.text import Words, corrupt_spans, numerals

TASKS = {  # by prefix: the language that is read, what is added, the language that is written
    "to french": ("en", 0, "fr"),
    "to english": ("fr", 0, "en"),
    "to digits": ("en", 0, "digits"),
    "next": ("en", 1, "en"),
}
HIGH, HELD_OUT = 1000, 100  # numbers are 0 ... 999; those whose tasks are never shown
SENTINELS, COUNTED = 8, 3  # holes have names; numerals in a row that are read at once
LONGEST = 3 * 8 + 4  # words of a source
Pair = tuple[list[int], list[int]]


@lru_cache
def vocabulary() -> Words:
    """Words of all numerals and prefixes, and the sentinels."""
    spelled = [numerals.spell(n, name) for n in range(HIGH + 1) for name in numerals.LANGUAGES]
    return Words.build([*spelled, *TASKS, ":", *(f"<{i}>" for i in range(SENTINELS))])


def pair(task: str, number: int) -> tuple[str, str]:
    """Source and target text of a task for one number.

    Raises:
        ConfigError: If there is no such task.

    Example:
        >>> pair("next", 41)
        ('next : forty-one', 'forty-two')
    """
    if task not in TASKS:
        raise ConfigError(f"task {task!r} is not one of {', '.join(TASKS)}")
    read, added, written = TASKS[task]
    said = numerals.spell(number, read)
    return f"{task} : {said}", numerals.spell(number + added, written)


def encoded(texts: tuple[str, str]) -> Pair:
    """Source and target as numbers of words."""
    words = vocabulary()
    return words.encode(texts[0]), words.encode(texts[1])


def span_pair(number: int, language: str, rng: Generator) -> Pair:
    """Counting with holes, and what was in them: T5's objective on text without labels.

    Args:
        number: The first of three numerals in a row.
        language: In which they are spelled.
        rng: Source of the holes.
    """
    counted = " ".join(numerals.spell(number + i, language) for i in range(COUNTED))
    words = vocabulary()
    sentinels = [words.index[f"<{i}>"] for i in range(SENTINELS)]
    source, target = corrupt_spans(words.encode(counted), rng, sentinels=sentinels)
    return source.tolist(), target.tolist()


def tensors(pairs: Sequence[Pair]) -> tuple[Tensor, Tensor]:
    """Padded sources with an end mark, and padded targets between a begin and an end mark."""
    sources = numerals.padded([[*source, Words.EOS] for source, _ in pairs])
    targets = numerals.padded([[Words.BOS, *target, Words.EOS] for _, target in pairs])
    return torch.from_numpy(sources), torch.from_numpy(targets)
