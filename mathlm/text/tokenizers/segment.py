"""A text cut into words, and a word into tokens by the merges of a byte-pair encoding."""

from collections.abc import Callable, Iterator, Sequence
from heapq import heapify, heappop, heappush
from itertools import chain, pairwise

from .pretokenize import blocks, pre_tokenize

Pair = tuple[int, int]

KEPT_WORDS = 1 << 16
KEPT_LENGTH = 64  # [characters] longest word that is kept


def apply_merges(ids: Sequence[int], rules: dict[Pair, tuple[int, int]]) -> list[int]:
    """Tokens of one word: the merge of lowest rank first, each from left to right.

    Implements eq-bpe-encode::

        i* = argmin_i r(w_i, w_{i+1}),   until no pair has a rank

    The positions that can merge wait in a heap and the tokens are a linked list, so a word of
    n bytes takes O(n log n) steps.

    Args:
        ids: Ids of the bytes of the word.
        rules: Rank and resulting id of each pair that merges.

    Example:
        >>> apply_merges([0, 0, 1, 0], {(0, 1): (0, 2), (0, 2): (1, 3)})
        [3, 0]
    """
    tokens, end = list(ids), len(ids)
    before, after = list(range(-1, end - 1)), list(range(1, end + 1))
    waiting = [(rules[p][0], i) for i, p in enumerate(pairwise(tokens)) if p in rules]
    heapify(waiting)
    while waiting:
        rank, i = heappop(waiting)
        j = after[i]
        rule = rules.get((tokens[i], tokens[j])) if j < end else None
        if rule is None or rule[0] != rank:
            continue  # a token of this pair has merged with another since
        tokens[i], tokens[j] = rule[1], -1
        after[i] = after[j]
        if after[j] < end:
            before[after[j]] = i
        for left, right in ((before[i], i), (i, after[i])):
            if left >= 0 and right < end and (new := rules.get((tokens[left], tokens[right]))):
                heappush(waiting, (new[0], left))
    return [token for token in tokens if token >= 0]


class WordCache(dict[str, tuple[int, ...]]):
    """Tokens of the words seen so far; a missing word is computed.

    It holds at most ``KEPT_WORDS`` words of at most ``KEPT_LENGTH`` characters and begins anew
    when it is full.
    """

    def __init__(self, compute: Callable[[str], list[int]]) -> None:
        super().__init__()
        self._compute = compute

    def __missing__(self, word: str) -> tuple[int, ...]:
        ids = tuple(self._compute(word))
        if len(word) <= KEPT_LENGTH:
            if len(self) >= KEPT_WORDS:
                self.clear()
            self[word] = ids
        return ids


def ids_of(text: str, pattern: str, words: WordCache) -> Iterator[int]:
    """Ids of a text, word by word."""
    for block in blocks(text):
        yield from chain.from_iterable(map(words.__getitem__, pre_tokenize(block, pattern)))


__all__ = ["WordCache", "apply_merges", "ids_of"]
