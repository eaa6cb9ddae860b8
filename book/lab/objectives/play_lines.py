"""The spoken lines of the plays as symbols, for every objective of :mod:`objectives`.

Letters are lower case. Which of them were capitals is kept apart, as a label that no objective
ever sees. A line of a play is a sentence, a play a document; every tenth play is held out.
"""

from functools import lru_cache
from typing import Literal

import numpy as np
from numpy import ndarray
from numpy.random import Generator

from mathlm.text import corpus

Part = Literal["training", "held out"]
SYMBOLS = "\n abcdefghijklmnopqrstuvwxyz.,;:?!'-"
MASK, CLS, SEP, BEGIN = range(len(SYMBOLS), len(SYMBOLS) + 4)
SENTINELS = tuple(range(BEGIN + 1, BEGIN + 9))
VOCABULARY = SENTINELS[-1] + 1
MARKS = (MASK, CLS, SEP, BEGIN, *SENTINELS)
ENDS = "\n.?!:;-'"  # a capital behind one of these says nothing of its word


def spoken(play: str) -> list[str]:
    """The lines of a play without names of speakers, in symbols, capitals among them."""
    lines, told = play.split("\n"), []
    allowed = {ord(c): c for c in SYMBOLS + SYMBOLS.upper()} | {0x2019: "'", 0x2014: "-"}
    table = {ord(c): allowed.get(ord(c)) for c in set(play)}
    for before, line in zip(["", *lines], lines, strict=False):
        name = not before and line.endswith(":")
        if text := "" if name else line.translate(table).strip():
            told.append(text)
    return told


@lru_cache
def plays(part: Part = "training") -> list[list[str]]:
    """The lines of each play."""
    keep = [i for i in range(38) if (i % 10 == 9) == (part == "held out")]
    documents = corpus.documents("shakespeare")
    return [spoken(documents[i]) for i in keep]


@lru_cache
def cased(part: Part = "training") -> str:
    """All lines of a part as one text, with capitals."""
    return "\n".join(line for play in plays(part) for line in play)


def encode(text: str) -> ndarray:
    """Numbers of the symbols of a text, in lower case."""
    table = np.zeros(128, np.int64)
    table[list(SYMBOLS.encode())] = range(len(SYMBOLS))
    return table[np.frombuffer(text.lower().encode("ascii"), np.uint8)]


def decode(ids: ndarray) -> str:
    """The text of some symbols; marks are shown as ``_``."""
    return "".join(SYMBOLS[i] if i < len(SYMBOLS) else "_" for i in ids.tolist())


@lru_cache
def ids(part: Part = "training") -> ndarray:
    """All lines of a part as one row of symbols."""
    return encode(cased(part))


@lru_cache
def sentences(part: Part = "training") -> list[list[ndarray]]:
    """The lines of each play as symbols, those of at least eight symbols."""
    return [[encode(line) for line in play if len(line) >= 8] for play in plays(part)]


@lru_cache
def word_ends(part: Part) -> tuple[ndarray, ndarray]:
    """Where each word ends whose capital would say something, and whether it has one.

    Such a word stands within a sentence and a line, behind a space; "i" and "o", which are
    always capitals, are left out.
    """
    text, ends, names = cased(part), [], []
    start = 0
    for word in text.replace("\n", " ").split(" "):
        letters = word.rstrip(".,;:?!'-")
        behind = text[max(0, start - 2) : start]
        inside = len(behind) == 2 and behind[1] == " " and behind[0] not in ENDS
        if inside and len(letters) > 1 and letters.isalpha():
            ends.append(start + len(letters) - 1)
            names.append(letters[0].isupper())
        start += len(word) + 1
    return np.array(ends), np.array(names)


def balanced(part: Part, count: int, rng: Generator) -> tuple[ndarray, ndarray]:
    """Word ends far enough from the start of a part, half of them of names."""
    ends, names = word_ends(part)
    far = ends > 200
    drawn = [
        rng.choice(ends[far & (names == kind)], count // 2, replace=False)
        for kind in (True, False)
    ]
    order = rng.permutation(2 * (count // 2))
    return np.concatenate(drawn)[order], np.repeat([True, False], count // 2)[order]
