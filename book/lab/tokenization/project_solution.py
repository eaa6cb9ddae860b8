"""Reference solution of the project: a byte-pair trainer with a heap."""

from collections import Counter, defaultdict
from collections.abc import Mapping
from heapq import heapify, heappop, heappush
from itertools import pairwise

Pair = tuple[int, int]


class Corpus:
    """Words as lists of ids, with the count of every pair and the words that hold it.

    Args:
        words: From the bytes of a word to its count.
    """

    def __init__(self, words: Mapping[bytes, int]) -> None:
        self.words = [list(word) for word in words]
        self.times = list(words.values())
        self.counts: Counter[Pair] = Counter()
        self.where: defaultdict[Pair, set[int]] = defaultdict(set)
        for i in range(len(self.words)):
            self.add(i, +1)

    def add(self, i: int, sign: int) -> None:
        """Put the pairs of word i into the counts (+1), or take them out (-1)."""
        for pair in pairwise(self.words[i]):
            self.counts[pair] += sign * self.times[i]
            if sign > 0:
                self.where[pair].add(i)

    def merge(self, pair: Pair, new: int) -> set[Pair]:
        """Join a pair wherever it stands; returns the pairs that hold the new token."""
        appeared: set[Pair] = set()
        for i in self.where.pop(pair):
            self.add(i, -1)
            self.words[i] = join(self.words[i], pair, new)
            self.add(i, +1)
            appeared.update(p for p in pairwise(self.words[i]) if new in p)
        return appeared


def join(word: list[int], pair: Pair, new: int) -> list[int]:
    """Write one token for each occurrence of a pair, from the left."""
    joined: list[int] = []
    i = 0
    while i < len(word):
        found = tuple(word[i : i + 2]) == pair
        joined.append(new if found else word[i])
        i += 2 if found else 1
    return joined


def train(words: Mapping[bytes, int], n_merges: int) -> list[Pair]:
    """Learn merges; the most frequent pair is on top of a heap whose entries may be too high.

    Args:
        words: From the bytes of a word to its count.
        n_merges: How many merges to learn; fewer if no pair is left that occurs twice.

    Returns:
        Pairs of ids: 0 to 255 are the bytes, 256 + k is what merge k made.
    """
    corpus, tokens = Corpus(words), [bytes([i]) for i in range(256)]

    def entry(pair: Pair) -> tuple[int, bytes, bytes, Pair]:
        return -corpus.counts[pair], tokens[pair[0]], tokens[pair[1]], pair

    heap = [entry(pair) for pair in corpus.counts]
    heapify(heap)
    merges: list[Pair] = []
    while heap and len(merges) < n_merges:
        negative, _, _, pair = heappop(heap)
        if -negative != corpus.counts[pair]:  # it fell since it was pushed
            heappush(heap, entry(pair))
        elif -negative < 2:
            break
        else:
            tokens.append(tokens[pair[0]] + tokens[pair[1]])
            merges.append(pair)
            for new in corpus.merge(pair, len(tokens) - 1):
                heappush(heap, entry(new))
    return merges


__all__ = ["Corpus", "join", "train"]
