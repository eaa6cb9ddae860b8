"""Three ways to give an n-gram that was never seen a probability, beside Kneser and Ney's.

References:
    Chen and Goodman (1999), doi:10.1006/csla.1999.0128.
"""

import math

import numpy as np
from numpy import ndarray

from ..errors import InputError
from ..shapes import Float
from .counts import CountTable, NGramCounts, find, look_up
from .ngram import NGramModel


class AddK(NGramModel):
    """Relative frequencies with k added to every count.

    Implements eq-add-k::

        p(w|h) = (c(hw) + k) / (c(h·) + k V)

    A history never seen gives 1/V to every token. Shorter histories are used only where a text
    begins.

    Args:
        order: Tokens of an n-gram.
        data: Training text as bytes or token ids, or counts of it.
        k: What is added, positive; 1 is Laplace's rule of succession.
        vocab_size: Size V of the vocabulary; None = that of the counts, or 256.

    Raises:
        InputError: If k is not positive and finite, or as :class:`KneserNey`.
    """

    def __init__(
        self,
        order: int,
        data: bytes | ndarray | NGramCounts,
        k: float | int = 1.0,
        vocab_size: int | None = None,
    ) -> None:
        if not 0 < k < math.inf:
            raise InputError(
                f"k={k} must be positive and finite: with 0 an unseen token is 0/0"
            )
        super().__init__(order, data, vocab_size)
        if not math.isfinite(k * self.vocab_size):
            raise InputError(f"k={k} added to {self.vocab_size} counts overflows; use less")
        self.k = k

    def level(self, n: int, grams: ndarray, lower: ndarray) -> Float[ndarray, " N"]:
        """Counts with k added, over their sum."""
        table = self.tables[n - 1]
        count, h, known = look_up(table, grams, self.vocab_size)
        total = np.where(known, table.totals[h], 0)
        return (count + self.k) / (total + self.k * self.vocab_size)


class Interpolated(NGramModel):
    """Relative frequencies of all orders, mixed (Jelinek and Mercer).

    Implements eq-interpolated::

        p(w|h) = λ c(hw) / c(h·) + (1 - λ) p(w|h')

    A history never seen leaves the token to h'; below order 1 stands 1/V.

    Args:
        order: Tokens of the longest n-gram.
        data: Training text as bytes or token ids, or counts of it.
        weight: λ, the share of the longer history, above 0 and below 1.
        vocab_size: Size V of the vocabulary; None = that of the counts, or 256.

    Raises:
        InputError: If λ is out of range, or as :class:`KneserNey`.
    """

    def __init__(
        self,
        order: int,
        data: bytes | ndarray | NGramCounts,
        weight: float = 0.7,
        vocab_size: int | None = None,
    ) -> None:
        if not 0 < weight < 1:
            raise InputError(f"weight={weight} must lie between 0 and 1, both excluded")
        super().__init__(order, data, vocab_size)
        self.weight = weight

    def level(self, n: int, grams: ndarray, lower: ndarray) -> Float[ndarray, " N"]:
        """A share of the relative frequency, the rest of the lower order."""
        table = self.tables[n - 1]
        count, h, known = look_up(table, grams, self.vocab_size)
        p = self.weight * count / table.totals[h] + (1 - self.weight) * lower
        return np.where(known, p, lower)


class Backoff(NGramModel):
    """The longest history seen with the token, after Katz, with an absolute discount.

    Implements eq-backoff::

        p(w|h) = (c(hw) - D) / c(h·)      if c(hw) > 0
               = α(h) p(w|h')             if not
        α(h) = D N₁₊(h·) / c(h·) / (1 - Σ p(w|h') over the w seen after h)

    Katz discounts by Good and Turing's estimate; here D is that of :attr:`CountTable.discount`,
    or 1/2 where that is 1, since a token seen once must
    keep something. A history never seen leaves the token to h', and one after which every token
    of the vocabulary was seen is not discounted: nobody is left to receive what would be taken.

    Args:
        order: Tokens of the longest n-gram.
        data: Training text as bytes or token ids, or counts of it.
        vocab_size: Size V of the vocabulary; None = that of the counts, or 256.

    Raises:
        InputError: As :class:`KneserNey`.
    """

    def __init__(
        self, order: int, data: bytes | ndarray | NGramCounts, vocab_size: int | None = None
    ) -> None:
        super().__init__(order, data, vocab_size)
        self.discounts: list[float] = []
        self.alphas: list[ndarray] = []  # one array an order, one α a history
        seen_p = np.empty(0)  # p of every n-gram in the table of the order below
        for n in range(1, order + 1):
            table = self.tables[n - 1]
            D = table.discount if table.discount < 1 else 0.5
            lower = self._lower(n, table, seen_p)
            D_of_history = np.where(table.followers == self.vocab_size, 0.0, D)
            self.discounts.append(D)
            self.alphas.append(_alpha(table, D_of_history, lower))
            seen_p = (table.counts - D_of_history[table.owner]) / table.totals[table.owner]

    def _lower(self, n: int, table: CountTable, seen_p: ndarray) -> ndarray:
        """Probability, in order n - 1, of the last token of each n-gram of the table."""
        if n == 1:
            return np.full(len(table.grams), 1 / self.vocab_size)
        below = self.tables[n - 2].grams
        return seen_p[find(below, table.grams % self.vocab_size ** (n - 1))[0]]

    def level(self, n: int, grams: ndarray, lower: ndarray) -> Float[ndarray, " N"]:
        """What was seen, discounted; otherwise a share of the lower order."""
        table = self.tables[n - 1]
        count, h, known = look_up(table, grams, self.vocab_size)
        D = np.where(table.followers[h] == self.vocab_size, 0.0, self.discounts[n - 1])
        p = np.where(count > 0, (count - D) / table.totals[h], self.alphas[n - 1][h] * lower)
        return np.where(known, p, lower)


def _alpha(table: CountTable, D: ndarray, lower: ndarray) -> Float[ndarray, " M"]:
    """What was taken after each history, over what the lower order gives the unseen tokens."""
    taken = D * table.followers / table.totals
    left = 1 - np.bincount(table.owner, weights=lower, minlength=len(table.histories))
    return np.divide(taken, left, out=np.zeros_like(taken), where=D > 0)
