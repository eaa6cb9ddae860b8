"""Interpolated Kneser-Ney n-grams over bytes: the baseline that a language model must beat.

References:
    Kneser and Ney (1995), doi:10.1109/ICASSP.1995.479394.
    Chen and Goodman (1999), doi:10.1006/csla.1999.0128, section 4.1.6 (one discount an order).
"""

from dataclasses import dataclass

import numpy as np
from numpy import ndarray

from ..errors import InputError
from ..shapes import Float, Int

V = 256  # bytes
LONGEST = 7  # bytes of an n-gram: they must fit into 63 bits


@dataclass(frozen=True)
class _Order:
    """Counts of one order: sorted n-grams, and sums over their last byte for each history."""

    grams: Int[ndarray, " N"]
    counts: Int[ndarray, " N"]
    histories: Int[ndarray, " M"]
    totals: Int[ndarray, " M"]  # c(h·)
    followers: Int[ndarray, " M"]  # N₁₊(h·), distinct bytes seen after h
    discount: float


class KneserNey:
    """A model of the next byte given the ``order`` - 1 bytes before it.

    Implements eq-kneser-ney::

        p(w|h) = max(c(hw) - D, 0) / c(h·) + D N₁₊(h·) / c(h·) p(w|h')

    where h' drops the oldest byte of h, and below the highest order c(hw) is the number of
    distinct bytes seen before hw. Below order 1 every byte has probability 1/256, so no text
    has probability zero. A history never seen leaves the byte to h'.

    Args:
        order: Bytes of the longest n-gram counted, 1 to 7.
        data: Training text.

    Raises:
        InputError: If the order is out of range or the text is shorter than one n-gram.

    References:
        Chen and Goodman (1999), eq. (15)-(16), with D = n₁ / (n₁ + 2 n₂) of each order,
        or 1/2 where nothing was counted once: something is always left for the lower order.
    """

    def __init__(self, order: int, data: bytes) -> None:
        if not 1 <= order <= LONGEST:
            raise InputError(f"order={order} must be between 1 and {LONGEST}")
        if len(data) < order:
            raise InputError(f"a text of {len(data)} bytes holds no n-gram of order {order}")
        self.order = order
        text = np.frombuffer(data, np.uint8)
        grams, counts = np.unique(_pack(text, order), return_counts=True)
        self.orders = [_table(grams, counts)]  # highest first
        for n in range(order - 1, 0, -1):
            # N₁₊(·hw): each distinct longer n-gram counts once for the n-gram that ends it
            grams, counts = np.unique(grams & (V**n - 1), return_counts=True)
            self.orders.append(_table(grams, counts))

    def log_probabilities(self, data: bytes) -> Float[ndarray, " T"]:
        """Log-probability of each byte of ``data`` given those before it [nats].

        The first bytes have shorter histories and are scored by the lower orders.
        """
        text = np.frombuffer(data, np.uint8)
        p = np.full(len(text), 1 / V)
        for n, table in enumerate(reversed(self.orders), start=1):
            if len(text) >= n:
                p[n - 1 :] = _interpolate(table, _pack(text, n), p[n - 1 :])
        return np.log(p)

    def distribution(self, history: bytes) -> Float[ndarray, " V"]:
        """Probabilities of the 256 bytes that may follow ``history``; they sum to one."""
        last = [history[max(0, len(history) - self.order + 1) :] + bytes([w]) for w in range(V)]
        return np.exp([self.log_probabilities(text)[-1] for text in last])


def _pack(text: ndarray, n: int) -> Int[ndarray, " N"]:
    """Each n-gram of the text as one integer, oldest byte highest."""
    T = len(text) - n + 1
    packed = np.zeros(T, np.int64)
    for i in range(n):
        packed = packed * V + text[i : i + T]
    return packed


def _table(grams: ndarray, counts: ndarray) -> _Order:
    histories, first = np.unique(grams // V, return_index=True)
    once, twice = (counts == 1).sum(), (counts == 2).sum()
    return _Order(
        grams=grams,
        counts=counts,
        histories=histories,
        totals=np.add.reduceat(counts, first),
        followers=np.diff(np.append(first, len(grams))),
        discount=float(once / (once + 2 * twice)) if once else 0.5,
    )


def _find(sorted_keys: ndarray, keys: ndarray) -> tuple[ndarray, ndarray]:
    """Position of each key, and whether it is there."""
    i = np.minimum(np.searchsorted(sorted_keys, keys), len(sorted_keys) - 1)
    return i, sorted_keys[i] == keys


def _interpolate(table: _Order, grams: ndarray, lower: ndarray) -> Float[ndarray, " N"]:
    i, seen = _find(table.grams, grams)
    h, known = _find(table.histories, grams // V)
    count = np.where(seen, table.counts[i], 0)
    total = table.totals[h]
    D = table.discount
    p = (np.maximum(count - D, 0) + D * table.followers[h] * lower) / total
    return np.where(known, p, lower)
