"""N-gram language models: counts, interpolated Kneser-Ney and simpler smoothing."""

import math
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

    Example:
        >>> counts = NGramCounts(2, b"abab")
        >>> counts.unseen(2, b"abba").tolist()  # "ab", "bb" and "ba", of which "bb" is new
        [False, True, False]
    """

    def __init__(self, order: int, data: bytes | ndarray, vocab_size: int = BYTES) -> None:
        longest = longest_order(vocab_size)
        vocab_size = int(vocab_size)
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
        grams, occur = np.unique(pack(ids, order, vocab_size), return_counts=True)
        self.tables = [count_table(grams, occur, vocab_size)]  # lowest order first
        for n in range(order - 1, 0, -1):
            last = int(pack(ids[len(ids) - n :], n, vocab_size)[0])
            self.tables.insert(0, count_table(*beginnings(self.tables[0], last), vocab_size))

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
    if not isinstance(vocab_size, int | np.integer):
        raise InputTypeError(f"vocab_size={vocab_size!r} must be an integer")
    if vocab_size < 1:
        raise InputError(f"vocab_size={vocab_size} must be positive")
    return BITS // max(1, (int(vocab_size) - 1).bit_length())


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


def beginnings(table: CountTable, last: int) -> tuple[ndarray, ndarray]:
    """The n-grams one token shorter and their counts, where ``last`` ends the text.

    Every n-gram but that of the text begins a longer one, so its count is that of a history.
    """
    i = int(np.searchsorted(table.histories, last))
    if i < len(table.histories) and table.histories[i] == last:
        counts = table.totals.copy()
        counts[i] += 1
        return table.histories, counts
    return np.insert(table.histories, i, last), np.insert(table.totals, i, 1)


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
        self.order, self.vocab_size, self.counts = order, counts.vocab_size, counts
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
        return np.log(self._by_level(data)[-1])

    def log_probabilities_by_order(
        self, data: bytes | ndarray
    ) -> Float[ndarray, " order tokens"]:
        """As :meth:`log_probabilities`, for the models of order 1 to ``order`` [nats].

        All of them are made of the same counts; the last row is that of this model.
        """
        return np.log(self._by_level(data))

    def _by_level(self, data: bytes | ndarray) -> ndarray:
        """Probabilities on the way up: row n - 1 is made of the tables of order 1 to n."""
        ids = as_ids(data, self.vocab_size)
        p = np.full((self.order + 1, len(ids)), 1 / self.vocab_size)
        for n in range(1, self.order + 1):
            p[n] = p[n - 1]
            if n <= len(ids):
                grams = pack(ids, n, self.vocab_size)
                p[n, n - 1 :] = self.level(n, grams, p[n - 1, n - 1 :])
        return p[1:]

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

    Example:
        >>> model = KneserNey(3, b"to be or not to be, that is the question")
        >>> p = model.distribution(b"to")
        >>> chr(p.argmax()), round(float(p.sum()), 6)
        (' ', 1.0)

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

    def log_probabilities_by_order(
        self, data: bytes | ndarray
    ) -> Float[ndarray, " order tokens"]:
        """As in every model; here the tables of lower orders depend on the highest."""
        models = [KneserNey(n, self.counts) for n in range(1, self.order)]
        return np.stack([m.log_probabilities(data) for m in (*models, self)])

    def level(self, n: int, grams: ndarray, lower: ndarray) -> Float[ndarray, " N"]:
        """Discounted counts, and what was taken given to the lower order."""
        table, D = self.tables[n - 1], self.discounts[n - 1]
        count, h, known = look_up(table, grams, self.vocab_size)
        p = np.maximum(count - D, 0) + D * table.followers[h] * lower
        return np.where(known, p / table.totals[h], lower)


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

    Example:
        >>> model = AddK(1, np.array([0, 0, 1]), k=1, vocab_size=2)
        >>> model.distribution(np.array([], int)).round(4)  # (2 + 1) / (3 + 2)
        array([0.6, 0.4])
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

    Example:
        >>> model = Interpolated(1, np.array([0, 0, 0, 1]), weight=0.5, vocab_size=2)
        >>> model.distribution(np.array([], int))  # (3/4 + 1/2) / 2
        array([0.625, 0.375])
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

    Example:
        >>> model = Backoff(2, b"to be or not to be")
        >>> chr(model.distribution(b"o").argmax())
        ' '
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
