"""Byte-pair encoding of a few words, step by step: counts, ties, and what other ties give."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise

from mathlm.errors import InputError, InputTypeError
from mathlm.text.tokenizers.pretokenize import utf8

Pair = tuple[str, str]
Split = tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class MergeStep:
    """One merge and what led to it.

    Args:
        pair: The pair that is merged.
        counts: Count of every pair before the merge, the largest first.
        tied: The pairs whose count is largest, in the order of their bytes.
        words: Each word after the merge, with its count.
    """

    pair: Pair
    counts: dict[Pair, int]
    tied: tuple[Pair, ...]
    words: dict[Split, int]


def trace_merges(
    words: Mapping[str, int], n_merges: int, *, first_seen: bool = False, least: int = 2
) -> list[MergeStep]:
    """The merges of a small corpus, with everything that decides them.

    Tokens are strings of characters, so that a person can read them.

    Args:
        words: Count of each word.
        n_merges: How many merges; fewer come back when no pair is left that occurs ``least``
            times.
        first_seen: Of tied pairs take the one that occurs first in the text, instead of the
            first in the order of bytes.
        least: Smallest count of a pair that is merged.

    Raises:
        InputError: If there are no words, one is empty or has a count below 1, or ``n_merges``
            or ``least`` is out of range.
    """
    _require(words, n_merges, least)
    split = {tuple(word): n for word, n in words.items()}
    steps: list[MergeStep] = []
    while len(steps) < n_merges:
        counts = _counts(split)
        tied = _tied(counts, least)
        if not tied:
            break
        pair = tied[0] if first_seen else min(tied, key=_in_bytes)
        split = _merged(split, pair)
        step = MergeStep(
            pair=pair,
            counts=dict(counts.most_common()),
            tied=tuple(sorted(tied, key=_in_bytes)),
            words=split,
        )
        steps.append(step)
    return steps


def reachable_tokens(words: Mapping[str, int], n_merges: int, *, least: int = 2) -> set[str]:
    """The tokens that byte-pair encoding can make of a small corpus, however ties are broken.

    Args:
        words: Count of each word.
        n_merges: Longest sequence of merges.
        least: Smallest count of a pair that is merged.

    Raises:
        InputError: As :func:`trace_merges`.
    """
    _require(words, n_merges, least)
    states = {frozenset({tuple(word): n for word, n in words.items()}.items())}
    tokens: set[str] = set()
    for _ in range(n_merges):
        after = set()
        for state in states:
            for pair in _tied(_counts(dict(state)), least):
                tokens.add("".join(pair))
                after.add(frozenset(_merged(dict(state), pair).items()))
        states = after
    return tokens


def _counts(split: Mapping[Split, int]) -> Counter[Pair]:
    """Count of each pair, in the order in which the pairs appear."""
    counts: Counter[Pair] = Counter()
    for word, n in split.items():
        for pair in pairwise(word):
            counts[pair] += n
    return counts


def _tied(counts: Mapping[Pair, int], least: int) -> list[Pair]:
    """The most frequent pairs, in the order in which they appear."""
    most = max(counts.values(), default=0)
    return [pair for pair, n in counts.items() if n == most >= least]


def _in_bytes(pair: Pair) -> tuple[bytes, bytes]:
    return pair[0].encode(), pair[1].encode()


def _merged(split: Mapping[Split, int], pair: Pair) -> dict[Split, int]:
    """Every word with its occurrences of the pair joined, from the left."""
    after: dict[Split, int] = {}
    for word, n in split.items():
        joined: list[str] = []
        for token in word:
            if joined and (joined[-1], token) == pair:
                joined[-1] += token
            else:
                joined.append(token)
        after[tuple(joined)] = n
    return after


def _require(words: Mapping[str, int], n_merges: int, least: int) -> None:
    if not isinstance(words, Mapping):
        raise InputTypeError(f"words must map words to counts, got {type(words).__name__}")
    whole = all(isinstance(n, int) for n in words.values())
    if not words or not whole or any(not utf8(word) or n < 1 for word, n in words.items()):
        raise InputError(f"words={dict(words)}: expected words, each with a count of 1 or more")
    if not isinstance(n_merges, int) or not isinstance(least, int) or n_merges < 0 or least < 1:
        raise InputError(
            f"n_merges={n_merges} must be an integer from 0 and least={least} one from 1: a "
            "pair has to occur to be merged"
        )


__all__ = ["MergeStep", "reachable_tokens", "trace_merges"]
