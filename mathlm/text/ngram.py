"""Interpolated Kneser-Ney n-grams: the baseline that a language model must beat.

References:
    Kneser and Ney (1995), doi:10.1109/ICASSP.1995.479394.
    Chen and Goodman (1999), doi:10.1006/csla.1999.0128, section 4.1.6 (one discount an order).
"""

import numpy as np
from numpy import ndarray

from ..errors import InputError, InputTypeError
from ..shapes import Bool, Float
from .counts import (
    BYTES,
    CountTable,
    NGramCounts,
    as_ids,
    count_table,
    look_up,
    pack,
)


class NGramModel:
    """What every model of the next token made of counts has in common.

    A model gives, for each order n, probabilities made of the table of that order and of those
    of order n - 1; below order 1 every token has probability 1/V.

    Args:
        order: Tokens of the longest n-gram used.
        data: Training text as bytes or token ids, or the counts of at least this order.
        vocab_size: Size V of the vocabulary; None = that of the counts, or 256.

    Raises:
        InputError: If the order is out of range, the text is shorter than one n-gram, or the
            counts are over another vocabulary.
    """

    def __init__(
        self, order: int, data: bytes | ndarray | NGramCounts, vocab_size: int | None = None
    ) -> None:
        counts = (
            data
            if isinstance(data, NGramCounts)
            else NGramCounts(order, data, BYTES if vocab_size is None else vocab_size)
        )
        if vocab_size not in (None, counts.vocab_size):
            raise InputError(
                f"vocab_size={vocab_size}, but the counts are over {counts.vocab_size} tokens"
            )
        if not 1 <= order <= counts.order:
            raise InputError(
                f"order={order} must be between 1 and the order counted, {counts.order}"
            )
        self.order, self.vocab_size = order, counts.vocab_size
        self.tables = self.make_tables(counts)

    def make_tables(self, counts: NGramCounts) -> list[CountTable]:
        """Tables of the orders 1 to ``order``."""
        return counts.tables[: self.order]

    def level(self, n: int, grams: ndarray, lower: ndarray) -> Float[ndarray, " N"]:
        """Probability of the last token of each n-gram, ``lower`` being that of order n - 1."""
        raise NotImplementedError

    def log_probabilities(self, data: bytes | ndarray) -> Float[ndarray, " T"]:
        """Log-probability of each token of ``data`` given those before it [nats].

        The first tokens have shorter histories and are scored by the lower orders.
        """
        ids = as_ids(data, self.vocab_size)
        p = np.full(len(ids), 1 / self.vocab_size)
        for n in range(1, min(self.order, len(ids)) + 1):
            p[n - 1 :] = self.level(n, pack(ids, n, self.vocab_size), p[n - 1 :])
        return np.log(p)

    def distribution(self, history: bytes | ndarray) -> Float[ndarray, " V"]:
        """Probabilities of all tokens that may follow ``history``; they sum to one."""
        h, V = as_ids(history, self.vocab_size), self.vocab_size
        p, tokens = np.full(V, 1 / V), np.arange(V)
        for n in range(1, min(self.order, len(h) + 1) + 1):
            last = pack(h[len(h) - n + 1 :], n - 1, V) if n > 1 else np.zeros(1, np.int64)
            p = self.level(n, last * V + tokens, p)
        return p

    def score(self, ids: ndarray, mask: Bool[ndarray, "B T"]) -> Float[ndarray, "B T"]:
        """Log-probabilities of a padded batch [nats]; what is padding changes none of them.

        Args:
            ids: Token ids, one text in a row; anything where ``mask`` is False.
            mask: True where a token is real; padding may be on either side.

        Returns:
            As :meth:`log_probabilities` of the real tokens of each row; 0 at padding.

        Raises:
            InputError: If ids and mask are not two tables of one shape.
            InputTypeError: If the mask is not boolean.
        """
        texts, mask = np.asarray(ids), np.asarray(mask)
        if mask.dtype != bool:
            raise InputTypeError(f"mask has dtype {mask.dtype}; give booleans, True where real")
        if texts.shape != mask.shape or mask.ndim != 2:
            raise InputError(
                f"ids have shape {texts.shape} and mask {mask.shape}; expected (B, T) for both"
            )
        out = np.zeros(mask.shape)
        for row, text, real in zip(out, texts, mask, strict=True):
            row[real] = self.log_probabilities(text[real])
        return out


class KneserNey(NGramModel):
    """A model of the next token given the ``order`` - 1 tokens before it.

    Implements eq-kneser-ney::

        p(w|h) = max(c(hw) - D, 0) / c(h·) + D N₁₊(h·) / c(h·) p(w|h')

    where h' drops the oldest token of h, and below the highest order c(hw) is the number of
    distinct tokens seen before hw. Below order 1 every token has probability 1/V, so no text
    has probability zero. A history never seen leaves the token to h'.

    Args:
        order: Tokens of the longest n-gram counted, 1 to 7 for bytes.
        data: Training text as bytes or token ids, or counts of it.
        vocab_size: Size V of the vocabulary; None = that of the counts, or 256.

    Raises:
        InputError: If the order is out of range or the text is shorter than one n-gram.

    References:
        Chen and Goodman (1999), eq. (15)-(16), with D = n₁ / (n₁ + 2 n₂) of each order,
        or 1/2 where nothing was counted once: something is always left for the lower order.
    """

    def make_tables(self, counts: NGramCounts) -> list[CountTable]:
        """The counts of the highest order, and below it numbers of distinct predecessors."""
        tables, V = [counts.tables[self.order - 1]], self.vocab_size
        for n in range(self.order - 1, 0, -1):
            # N₁₊(·hw): each distinct longer n-gram counts once for the n-gram that ends it
            grams = np.unique(tables[0].grams % V**n, return_counts=True)
            tables.insert(0, count_table(*grams, V))
        self.discounts = [table.discount for table in tables]
        return tables

    def level(self, n: int, grams: ndarray, lower: ndarray) -> Float[ndarray, " N"]:
        """Discounted counts, and what was taken given to the lower order."""
        table, D = self.tables[n - 1], self.discounts[n - 1]
        count, h, known = look_up(table, grams, self.vocab_size)
        p = np.maximum(count - D, 0) + D * table.followers[h] * lower
        return np.where(known, p / table.totals[h], lower)
