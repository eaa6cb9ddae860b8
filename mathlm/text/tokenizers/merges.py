"""Byte-pair encoding, learned: which two tokens become one, and in which order.

Tokens 0 to 255 are the bytes, token 256 + i is made by merge i. Both trainers choose the pair
that occurs most often, overlapping occurrences counted ("aaa" holds "aa" twice). Of pairs that
occur equally often they take the one whose left token, then whose right token, comes first in
the order of its bytes. No pair that occurs once is merged. So the merges depend on the counts
of the words alone: not on the order of the documents, nor on the hash seed.

References:
    Sennrich, Haddow and Birch (2016), arXiv:1508.07909, algorithm 1.
"""

import heapq
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from itertools import pairwise
from operator import add

from ...errors import InputError, InputTypeError
from .pretokenize import blocks, pre_tokenize, utf8

BYTES = 256
MIN_COUNT = 2  # a pair that occurs once is a copy of the text, not a rule
MAX_MERGES = 0x110000 - BYTES  # the fast trainer writes a token as one code point

Pair = tuple[int, int]


def count_words(texts: Iterable[str], pattern: str = "gpt2") -> dict[bytes, int]:
    """How often each piece of the documents occurs.

    Args:
        texts: The documents.
        pattern: Name in :data:`~mathlm.text.PATTERNS`.

    Returns:
        From the UTF-8 of a piece to its count.

    Raises:
        InputError: If there is no text, no pattern of that name, or a text holds a lone
            surrogate.
        InputTypeError: If ``texts`` is one str, or a document is not a str.
    """
    if isinstance(texts, str | bytes):
        kind = type(texts).__name__
        raise InputTypeError(f"texts is one {kind}, expected documents; write [text]")
    counts: Counter[str] = Counter()
    for text in texts:
        utf8(text)
        for block in blocks(text):
            counts.update(pre_tokenize(block, pattern))
    if not counts:
        raise InputError("the corpus is empty: there is nothing to count or to merge")
    return {word.encode(): count for word, count in counts.items()}


def count_pairs(words: Mapping[tuple[int, ...], int]) -> Counter[Pair]:
    """How often each pair of neighbors occurs.

    Implements eq-bpe-count::

        c(a, b) = Σ_w n_w |{i : (w_i, w_i+1) = (a, b)}|

    Overlapping occurrences count: three equal tokens hold the pair twice.

    Args:
        words: From the tokens of a word w to its count n_w.
    """
    counts: Counter[Pair] = Counter()
    for word, count in words.items():
        for pair in pairwise(word):
            counts[pair] += count
    return counts


def merge_pair(word: tuple[int, ...], pair: Pair, new: int) -> tuple[int, ...]:
    """Write one token for each occurrence of a pair, from the left.

    Args:
        word: Tokens.
        pair: The two tokens to be merged.
        new: The token that takes their place.

    Example:
        >>> merge_pair((97, 97, 97), (97, 97), 256)
        (256, 97)
    """
    merged: list[int] = []
    i = 0
    while i < len(word):
        found = word[i : i + 2] == pair
        merged.append(new if found else word[i])
        i += 2 if found else 1
    return tuple(merged)


def token_bytes(merges: Iterable[Pair]) -> list[bytes]:
    """The bytes of every token: the 256 bytes, then what each merge joins.

    Raises:
        InputError: If a merge joins a token that is not there yet.
    """
    tokens = [bytes([i]) for i in range(BYTES)]
    for i, (left, right) in enumerate(merges):
        if not 0 <= min(left, right) <= max(left, right) < len(tokens):
            raise InputError(
                f"merge {i} joins {left} and {right}, but tokens 0 to {len(tokens) - 1} exist "
                "before it"
            )
        tokens.append(tokens[left] + tokens[right])
    return tokens


def require_words(words: Mapping[bytes, int], n_merges: int) -> None:
    """Refuse what no merges can be learned from."""
    if isinstance(n_merges, bool) or not isinstance(n_merges, int):
        raise InputTypeError(f"n_merges={n_merges!r} must be an integer")
    if not 0 <= n_merges <= MAX_MERGES:
        raise InputError(f"n_merges={n_merges} must be between 0 and {MAX_MERGES}")
    if not words:
        raise InputError("words is empty: there is nothing to merge")
    for word, count in words.items():
        if not isinstance(word, bytes) or not isinstance(count, int):
            raise InputTypeError(f"words[{word!r}]={count!r}, expected bytes and an integer")
        if count < 1:
            raise InputError(f"words[{word!r}]={count} must be at least 1")


def learn_merges_naive(words: Mapping[bytes, int], n_merges: int) -> list[Pair]:
    """Merges by the definition: count every pair, merge the best one, begin again.

    Implements eq-bpe-merge::

        (a, b) = argmax c(a, b),    words := words with ab for a b

    Each merge reads the whole corpus; :func:`learn_merges` gives the same, much faster.

    Args:
        words: From the bytes of a word to its count.
        n_merges: How many merges to learn; fewer come back if no pair occurs twice.

    Returns:
        Pairs of tokens, in the order in which they are merged.

    Raises:
        InputError: If there are no words, a count is not positive, or ``n_merges`` is out of
            range.
        InputTypeError: If a word is not bytes, or a number not an integer.
    """
    require_words(words, n_merges)
    split = {tuple(word): count for word, count in words.items()}
    tokens, merges = token_bytes([]), list[Pair]()
    for new in range(BYTES, BYTES + n_merges):
        counts = count_pairs(split)
        best = min(counts, key=lambda p: (-counts[p], tokens[p[0]], tokens[p[1]]), default=None)
        if best is None or counts[best] < MIN_COUNT:
            break  # what is left occurs once
        split = {merge_pair(word, best, new): count for word, count in split.items()}
        tokens.append(tokens[best[0]] + tokens[best[1]])
        merges.append(best)
    return merges


class PairTable:
    """Counts of all pairs, kept up to date as words change.

    A word is a str with one code point for each token, so that ``str.replace`` is the merge:
    it too takes occurrences from the left and lets none overlap. A pair is a str of two.

    Args:
        words: From the bytes of a word to its count.
    """

    def __init__(self, words: Mapping[bytes, int]) -> None:
        self.words = [word.decode("latin-1") for word in words]  # byte i is code point i
        self.times = list(words.values())
        self.counts: defaultdict[str, int] = defaultdict(int)
        self.where: defaultdict[str, list[int]] = defaultdict(list)  # words that hold a pair
        for i, word in enumerate(self.words):
            for pair in map(add, word, word[1:]):
                self.counts[pair] += self.times[i]
                self.where[pair].append(i)

    def merge(self, pair: str, new: str) -> set[str]:
        """Merge a pair in the words that hold it.

        Returns:
            The pairs that appear: all of them hold the new token.
        """
        appeared: set[str] = set()
        for i in self.where.pop(pair):
            old, times = self.words[i], self.times[i]
            self.words[i] = word = old.replace(pair, new)
            if word == old:
                continue  # it held the pair once, or is listed twice
            for gone in map(add, old, old[1:]):
                self.counts[gone] -= times
            for came in map(add, word, word[1:]):
                self.counts[came] += times
                if new in came:
                    self.where[came].append(i)
                    appeared.add(came)
        del self.counts[pair]
        return appeared


def learn_merges(words: Mapping[bytes, int], n_merges: int) -> list[Pair]:
    """Merges by counts that are kept up to date: what :func:`learn_merges_naive` gives.

    A merge changes the words that hold the pair and no others, so only their pairs are counted
    again. The heap is lazy: a pair whose count fell keeps its old, too hopeful place until it
    comes to the top, and is put back where it belongs. No count of a pair ever rises after the
    merge that made it, because every later pair holds a later token.

    Args:
        words: From the bytes of a word to its count.
        n_merges: How many merges to learn; fewer come back if no pair occurs twice.

    Returns:
        Pairs of tokens, in the order in which they are merged.

    Raises:
        InputError, InputTypeError: As :func:`learn_merges_naive`.
    """
    require_words(words, n_merges)
    table, tokens, merges = PairTable(words), token_bytes([]), list[Pair]()

    def entry(pair: str) -> tuple[int, bytes, bytes, str]:
        left, right = map(ord, pair)
        return -table.counts[pair], tokens[left], tokens[right], pair

    heap = [entry(pair) for pair in table.counts]
    heapq.heapify(heap)
    while heap and len(merges) < n_merges:
        count, left, right, pair = heapq.heappop(heap)
        if -count != table.counts[pair]:
            heapq.heappush(heap, entry(pair))
        elif -count >= MIN_COUNT:
            appeared = table.merge(pair, chr(len(tokens)))
            tokens.append(left + right)
            merges.append((ord(pair[0]), ord(pair[1])))
            for new in appeared:
                heapq.heappush(heap, entry(new))
    return merges
