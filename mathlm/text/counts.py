"""Counts of n-grams: sorted integers, looked up by bisection, for any vocabulary that fits."""

from dataclasses import dataclass

import numpy as np
from numpy import ndarray

from ..errors import InputError, InputTypeError
from ..shapes import Bool, Float, Int

BYTES = 256  # vocabulary of a text given as bytes
BITS = 63  # an n-gram is one int64, not negative


@dataclass(frozen=True, eq=False)
class CountTable:
    """Counts of one order, by n-gram and by history.

    Args:
        grams: The n-grams that occur, as packed integers, sorted.
        counts: c(hw), how often each occurs.
        histories: Their first n - 1 tokens, packed and sorted.
        totals: c(h·) = Σ_w c(hw).
        followers: N₁₊(h·), how many different tokens occur after h.
        owner: Index in ``histories`` of the history of each n-gram.
    """

    grams: Int[ndarray, " N"]
    counts: Int[ndarray, " N"]
    histories: Int[ndarray, " M"]
    totals: Int[ndarray, " M"]
    followers: Int[ndarray, " M"]
    owner: Int[ndarray, " N"]

    @property
    def discount(self) -> float:
        """D = n₁ / (n₁ + 2 n₂), or 1/2 where nothing was counted once.

        n₁ and n₂ are the numbers of n-grams counted once and twice. So 0 < D <= 1, and where a
        discount is taken something is left for another model.

        References:
            Chen and Goodman (1999), doi:10.1006/csla.1999.0128, eq. (15).
        """
        once, twice = (self.counts == 1).sum(), (self.counts == 2).sum()
        return float(once / (once + 2 * twice)) if once else 0.5


class NGramCounts:
    """How often each n-gram of order 1 to ``order`` occurs in a text.

    The models of this package that are built from counts take it in place of the text, so that
    one text is counted once for all of them.

    Args:
        order: Tokens of the longest n-gram counted.
        data: Text as bytes, or token ids.
        vocab_size: Size V of the vocabulary; ids must lie in 0..V - 1.

    Raises:
        InputError: If the order is out of range, the text is shorter than one n-gram, or an id
            is outside the vocabulary.
        InputTypeError: If the order, the vocabulary size or the ids are not integers.
    """

    def __init__(self, order: int, data: bytes | ndarray, vocab_size: int = BYTES) -> None:
        longest = longest_order(vocab_size)
        if not isinstance(order, int | np.integer):
            raise InputTypeError(f"order={order!r} must be an integer")
        if not 1 <= order <= longest:
            raise InputError(
                f"order={order} must be between 1 and {longest} for a vocabulary of "
                f"{vocab_size}: an n-gram has to fit into {BITS} bits"
            )
        ids = as_ids(data, vocab_size)
        if len(ids) < order:
            unit = "bytes" if isinstance(data, bytes) else "tokens"
            raise InputError(f"a text of {len(ids)} {unit} holds no n-gram of order {order}")
        self.order, self.vocab_size = order, vocab_size
        self.tables = [
            count_table(*np.unique(pack(ids, n, vocab_size), return_counts=True), vocab_size)
            for n in range(1, order + 1)
        ]  # lowest order first

    def unseen(self, n: int, data: bytes | ndarray) -> Bool[ndarray, " T"]:
        """Whether each n-gram of ``data`` never occurs in the text that was counted.

        Args:
            n: Order of the n-grams, 1 to ``order``.
            data: Another text.
        """
        if not 1 <= n <= self.order:
            raise InputError(f"n={n} must be between 1 and the order counted, {self.order}")
        grams = pack(as_ids(data, self.vocab_size), n, self.vocab_size)
        return ~find(self.tables[n - 1].grams, grams)[1]


def longest_order(vocab_size: int) -> int:
    """Tokens of the longest n-gram that one integer holds."""
    if not isinstance(vocab_size, int):
        raise InputTypeError(f"vocab_size={vocab_size!r} must be an integer")
    if vocab_size < 1:
        raise InputError(f"vocab_size={vocab_size} must be positive")
    return BITS // max(1, (vocab_size - 1).bit_length())


def as_ids(data: bytes | ndarray, vocab_size: int) -> Int[ndarray, " T"]:
    """Token ids of a text, checked against the vocabulary."""
    ids = np.frombuffer(data, np.uint8) if isinstance(data, bytes) else np.asarray(data)
    if ids.ndim != 1:
        raise InputError(f"a text has one dimension, got ids of shape {ids.shape}")
    if ids.size and not np.issubdtype(ids.dtype, np.integer):
        raise InputTypeError(f"token ids must be integers, got {ids.dtype}")
    if ids.size and (ids.min() < 0 or ids.max() >= vocab_size):
        bad = int(np.argmax((ids < 0) | (ids >= vocab_size)))
        raise InputError(f"token id {ids[bad]} at {bad} is outside 0..{vocab_size - 1}")
    return ids.astype(np.int64)


def pack(ids: ndarray, n: int, vocab_size: int = BYTES) -> Int[ndarray, " N"]:
    """Each n-gram of the text as one integer, oldest token highest."""
    T = max(len(ids) - n + 1, 0)
    packed = np.zeros(T, np.int64)
    for i in range(n):
        packed = packed * vocab_size + ids[i : i + T]
    return packed


def count_table(grams: ndarray, counts: ndarray, vocab_size: int) -> CountTable:
    """The table of n-grams that are sorted and occur ``counts`` times."""
    histories, first, followers = np.unique(
        grams // vocab_size, return_index=True, return_counts=True
    )
    return CountTable(
        grams=grams,
        counts=counts,
        histories=histories,
        totals=np.add.reduceat(counts, first),
        followers=followers,
        owner=np.repeat(np.arange(len(histories)), followers),
    )


def find(sorted_keys: ndarray, keys: ndarray) -> tuple[ndarray, ndarray]:
    """Position of each key, and whether it is there."""
    i = np.minimum(np.searchsorted(sorted_keys, keys), len(sorted_keys) - 1)
    return i, sorted_keys[i] == keys


def look_up(
    table: CountTable, grams: ndarray, vocab_size: int
) -> tuple[Float[ndarray, " N"], Int[ndarray, " N"], Bool[ndarray, " N"]]:
    """Count of each n-gram, index of its history, and whether that history occurs."""
    distinct, place = np.unique(grams, return_inverse=True)  # sorted keys are found faster
    i, seen = find(table.grams, distinct)
    h, known = find(table.histories, distinct // vocab_size)
    count = np.where(seen, table.counts[i], 0).astype(float)
    return count[place], h[place], known[place]
