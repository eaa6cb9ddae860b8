"""Contamination: runs of words of a test set that stand in the training text too.

References:
    Brown et al. (2020), arXiv:2005.14165, appendix C (runs of 13 words).
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

import numpy as np
from numpy import ndarray

from ...errors import InputError, InputTypeError
from ...shapes import Bool, Float, Int, UInt
from ..tokenizers.pretokenize import utf8
from .deduplication import WORD, gram_hashes, word_hashes


@dataclass(frozen=True, kw_only=True)
class Overlap:
    """A passage of a test document that is made of runs of the training text.

    Args:
        document: Number of the test document.
        start: Where the passage begins [characters, or bytes where bytes were compared].
        end: Where it ends.
    """

    document: int
    start: int
    end: int


@dataclass(frozen=True, kw_only=True, eq=False)
class Contamination:
    """Contamination of a test set: what a training text gives away of it.

    Args:
        shares: Share of the runs of each test document that the training text has; 0 for a
            document that is shorter than a run.
        overlaps: The passages, in their order.
    """

    shares: Float[ndarray, " N"]
    overlaps: tuple[Overlap, ...]

    @property
    def documents(self) -> list[int]:
        """Numbers of the test documents with at least one such run."""
        return np.flatnonzero(self.shares).tolist()


def contamination(
    train: Iterable[str],
    test: Sequence[str],
    n: int = 13,
    *,
    unit: Literal["words", "bytes"] = "words",
) -> Contamination:
    """Contamination: which test documents share a run of n words with the training documents.

    Only the runs of the test set are kept in memory, as 64-bit hashes; the training documents
    may be a stream. Neighboring runs that are shared make one passage.

    Args:
        train: Training documents.
        test: Test documents.
        n: Length of a run; 13 words is the choice of GPT-3. A document shorter than a run has
            none and is never found: choose n below the length of what is tested.
        unit: "words", without regard to capitals and punctuation, or "bytes" of UTF-8 as they
            are.

    Raises:
        InputError: If n is below 1, there is no test document, or ``unit`` is not known.
        InputTypeError: If ``train`` or ``test`` is one str, or a document is not a str.

    Example:
        >>> train, test = ["to be or not to be"], ["not to be told", "all the world"]
        >>> contamination(train, test, n=3).shares  # one of two runs of three words
        array([0.5, 0. ])
    """
    for name, documents in (("train", train), ("test", test)):
        if isinstance(documents, str | bytes):
            raise InputTypeError(f"{name} is one text, expected documents; write [text]")
    if unit not in UNITS:
        raise InputError(f"unit={unit!r} must be one of {sorted(UNITS)}")
    parts = [UNITS[unit](text) for text in test]
    if not parts:
        raise InputError("no test documents: nothing can be found in them")
    grams = [gram_hashes(units, n) for units, _ in parts]
    known, inverse = np.unique(np.concatenate(grams), return_inverse=True)
    seen = _seen(known, (gram_hashes(UNITS[unit](text)[0], n) for text in train))[inverse]
    hits = np.split(seen, np.cumsum([len(g) for g in grams])[:-1])
    return Contamination(
        shares=np.array([float(hit.mean()) if len(hit) else 0.0 for hit in hits]),
        overlaps=tuple(
            Overlap(document=number, start=int(spans[first, 0]), end=int(spans[last, 1]))
            for number, (hit, (_, spans)) in enumerate(zip(hits, parts, strict=True))
            for first, last in _passages(hit, n)
        ),
    )


def _word_units(text: str) -> tuple[UInt[ndarray, " N"], Int[ndarray, "N 2"]]:
    """Hash and place of each word."""
    if not isinstance(text, str):
        raise InputTypeError(f"a document must be a str, got {type(text).__name__}")
    found = list(WORD.finditer(text))
    hashes = word_hashes(match.group().casefold() for match in found)
    return hashes, np.array([match.span() for match in found], np.int64).reshape(-1, 2)


def _byte_units(text: str) -> tuple[UInt[ndarray, " N"], Int[ndarray, "N 2"]]:
    """Value and place of each byte."""
    data = np.frombuffer(utf8(text), np.uint8)
    at = np.arange(len(data))
    return data.astype(np.uint64), np.stack([at, at + 1], axis=1)


UNITS = {"words": _word_units, "bytes": _byte_units}


def _seen(known: UInt[ndarray, " M"], streams: Iterable[ndarray]) -> Bool[ndarray, " M"]:
    """Which of the sorted hashes ``known`` the streams hold."""
    seen = np.zeros(len(known), bool)
    for grams in streams:
        at = np.searchsorted(known, grams)
        inside = at < len(known)
        at, grams = at[inside], grams[inside]
        seen[at[known[at] == grams]] = True
    return seen


def _passages(hit: Bool[ndarray, " M"], n: int) -> list[tuple[int, int]]:
    """First and last unit of each passage: runs whose units touch or overlap are one."""
    at = np.flatnonzero(hit)
    if not len(at):
        return []
    breaks = np.flatnonzero(np.diff(at) > n) + 1
    groups = [0, *breaks.tolist(), len(at)]
    return [(int(at[a]), int(at[b - 1]) + n - 1) for a, b in pairwise(groups)]


__all__ = ["Contamination", "Overlap", "contamination"]
