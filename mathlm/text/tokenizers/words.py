"""Vocabularies of whole words and of characters; how often word2vec reads and draws each."""

import operator
import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, SupportsIndex

import numpy as np
from numpy import ndarray

from ...checks import require_positive, require_share
from ...errors import DataError, InputError, InputTypeError
from ...shapes import Float, Int
from .batches import BatchEncoder, require_one_text


@dataclass(frozen=True)
class Words(BatchEncoder):
    """The words of some texts, each with a number; hyphens and spaces separate them.

    Three marks come first: padding 0, begin 1 and end 2. The words follow in the order of their
    characters, so that the numbers do not depend on the order of the texts.

    Args:
        symbols: Symbol number i is ``symbols[i]``, the marks among them; see :meth:`build`.

    Raises:
        InputError: If the marks do not come first, or a symbol is there twice.

    Example:
        >>> words = Words.build(["vingt et un", "vingt-deux"])
        >>> words.encode("vingt-et-un")
        [6, 4, 5]
    """

    symbols: tuple[str, ...]

    PAD: ClassVar[int] = 0
    BOS: ClassVar[int] = 1
    EOS: ClassVar[int] = 2
    MARKS: ClassVar[tuple[str, ...]] = ("<pad>", "<bos>", "<eos>")
    BETWEEN: ClassVar[str] = " "

    def __post_init__(self) -> None:
        if self.symbols[:3] != self.MARKS:
            found = self.symbols[:3]
            raise InputError(f"symbols start with {found}, expected {self.MARKS}; call build")
        if len(self.index) < len(self.symbols):
            twice = next(s for i, s in enumerate(self.symbols) if self.index[s] != i)
            raise InputError(f"the symbol {twice!r} is there more than once")

    @classmethod
    def build(cls, texts: Iterable[str]) -> "Words":
        """The symbols that occur in ``texts``.

        Raises:
            InputTypeError: If ``texts`` is one string, or a text is no str.
            DataError: If the texts hold no symbol.
        """
        if isinstance(texts, str | bytes):
            raise InputTypeError("texts is one string, expected several texts in a list")
        found = {symbol for text in texts for symbol in cls.split(text)}
        if not found:
            raise DataError(f"the texts hold no symbol for a vocabulary of {cls.__name__}")
        return cls((*cls.MARKS, *sorted(found - {*cls.MARKS})))

    @staticmethod
    def split(text: str) -> list[str]:
        """The symbols of a text, one after another."""
        return _require_text(text).replace("-", " ").split()

    def __len__(self) -> int:
        return len(self.symbols)

    @property
    def pad_id(self) -> int:
        """Number of the padding mark."""
        return self.PAD

    @cached_property
    def index(self) -> dict[str, int]:
        """From a symbol to its number."""
        return {symbol: i for i, symbol in enumerate(self.symbols)}

    def encode(self, text: str) -> list[int]:
        """Numbers of the symbols of a text, without marks at its ends.

        Raises:
            InputError: If a symbol is unknown; names the first one and where it stands.
            InputTypeError: If ``text`` is no str.
        """
        require_one_text(text)
        found, index = self.split(text), self.index
        for i, symbol in enumerate(found):
            if symbol not in index:
                raise InputError(
                    f"symbol {i} of {text!r:.60} is {symbol!r}, not one of the "
                    f"{len(self) - len(self.MARKS)} of this vocabulary"
                )
        return [index[symbol] for symbol in found]

    def decode(self, ids: Iterable[SupportsIndex]) -> str:
        """The text of some numbers: from behind a begin mark up to the first end mark.

        Padding behind the text is left out. Any other mark is shown, as ``<pad>`` and the like,
        so that a translation that holds one is never mistaken for one that does not.

        Raises:
            InputError: If a number is not in the vocabulary.
            InputTypeError: If one is no integer.
        """
        numbers = [self._require_id(i, value) for i, value in enumerate(ids)]
        if numbers[:1] == [self.BOS]:
            del numbers[0]
        if self.EOS in numbers:
            del numbers[numbers.index(self.EOS) :]
        while numbers and numbers[-1] == self.PAD:
            numbers.pop()
        return self.BETWEEN.join(self.symbols[n] for n in numbers)

    def _require_id(self, i: int, value: SupportsIndex) -> int:
        try:
            n = operator.index(value)
        except TypeError:
            raise InputTypeError(f"number {i} is {value!r:.60}, expected an integer") from None
        if not 0 <= n < len(self):
            raise InputError(f"number {i} is {n}, outside 0..{len(self) - 1}")
        return n


class Characters(Words):
    """The characters of some texts, each with a number; blanks and hyphens are characters too.

    Marks and methods are those of :class:`Words`.

    Args:
        symbols: As in :class:`Words`.

    Raises:
        InputError: As :class:`Words`.

    Example:
        >>> Characters.build(["cent un"]).encode("un cent")
        [8, 6, 3, 4, 5, 6, 7]
    """

    BETWEEN: ClassVar[str] = ""

    @staticmethod
    def split(text: str) -> list[str]:
        """The characters of a text."""
        return list(_require_text(text))


def _require_text(text: str) -> str:
    """A text, which is a str."""
    if not isinstance(text, str):
        raise InputTypeError(f"text is {text!r:.60}, expected a str")
    return text


WORD = re.compile(r"[^\W\d_]+")


def split_words(text: str) -> list[str]:
    """The words of a text in lower case: runs of letters; all else separates them.

    Example:
        >>> split_words("A city near the North Sea, 1,200 km off.")
        ['a', 'city', 'near', 'the', 'north', 'sea', 'km', 'off']
    """
    return WORD.findall(text.lower())


@dataclass(frozen=True, eq=False)
class Vocabulary:
    """Distinct words, numbered from the most frequent down.

    Equally frequent words stand in the order of their characters, so that the numbers do not
    depend on the order of the text.

    Args:
        words: Word number i is ``words[i]``.
        counts: How often each occurs.

    Raises:
        InputError: If there is no word, one is there twice, or there is not one count for each.

    Example:
        >>> vocabulary = Vocabulary.build(["to", "be", "or", "not", "to", "be", "to"])
        >>> vocabulary.words
        ['to', 'be', 'not', 'or']
        >>> vocabulary.encode(["not", "to", "be"])
        array([2, 0, 1])
    """

    words: list[str]
    counts: Int[ndarray, " V"]

    def __post_init__(self) -> None:
        V, shape = len(self.words), np.shape(self.counts)
        if V == 0 or shape != (V,):
            raise InputError(f"{V} words and counts of shape {shape}: expected ({V},), V >= 1")
        if len(self.index) < V:
            twice = next(w for i, w in enumerate(self.words) if self.index[w] != i)
            raise InputError(f"the word {twice!r} is there more than once")

    @classmethod
    def build(cls, tokens: Iterable[str], min_count: int = 1) -> "Vocabulary":
        """The words of a text that occur at least ``min_count`` times.

        Args:
            tokens: The text as words.
            min_count: Rarer words are left out; at least 1.

        Raises:
            InputError: If ``min_count`` is less than 1.
            InputTypeError: If ``tokens`` is one string, which would be taken letter by letter,
                or a token is no str.
            DataError: If there is no word, or none that occurs so often.
        """
        if not min_count >= 1:
            raise InputError(f"min_count={min_count} must be at least 1")
        counted = Counter(_words(tokens))
        kept = [(word, n) for word, n in counted.items() if n >= min_count]
        if not kept:
            most = max(counted.values(), default=0)
            raise DataError(
                f"no word occurs min_count={min_count} times among {counted.total()} tokens; "
                f"the most frequent one occurs {most} times"
            )
        kept.sort(key=lambda pair: (-pair[1], pair[0]))
        return cls([word for word, _ in kept], np.array([n for _, n in kept]))

    def __len__(self) -> int:
        return len(self.words)

    def __contains__(self, word: object) -> bool:
        return word in self.index

    @cached_property
    def index(self) -> dict[str, int]:
        """From a word to its number."""
        return {word: i for i, word in enumerate(self.words)}

    def encode(
        self, tokens: Iterable[str], *, drop_unknown: bool = False
    ) -> Int[ndarray, " T"]:
        """Numbers of the words of a text.

        Args:
            tokens: The text as words.
            drop_unknown: Leave out words that are not in the vocabulary, as word2vec does
                before it cuts windows; otherwise such a word is an error.

        Raises:
            InputError: If a word is unknown; names the first one and where it stands.
            InputTypeError: If ``tokens`` is one string, or a token is no str.
        """
        tokens, index = _words(tokens), self.index
        if drop_unknown:
            return np.array([index[word] for word in tokens if word in index], np.int64)
        for i, word in enumerate(tokens):
            if word not in index:
                raise InputError(
                    f"token {i} is {word!r}, not one of the {len(self)} words; "
                    "pass drop_unknown=True to leave such words out"
                )
        return np.array([index[word] for word in tokens], np.int64)


def keep_probability(
    counts: Float[ndarray, " V"] | Int[ndarray, " V"], t: float | int = 1e-5
) -> Float[ndarray, " V"]:
    """Probability of reading an occurrence of a word when frequent words are thinned out.

    Implements eq-subsampling::

        P(keep i) = min(1, √(t / f_i)),   f_i = n_i / Σ_j n_j

    This is the formula of the paper. The published program keeps with probability
    √(t / f_i) + t / f_i instead, a little more of every word.

    Args:
        counts: How often each word occurs, n.
        t: Frequency above which a word is thinned out, positive; 1 keeps everything.

    Returns:
        P, 1 for words rarer than t.

    Raises:
        InputError: If t is not positive and finite, or the counts are as in
            :func:`negative_distribution`.

    Example:
        >>> keep_probability(np.array([1, 99]), t=0.0099)
        array([0.99498744, 0.1       ])

    References:
        Mikolov et al. (2013), arXiv:1310.4546, eq. (5).
    """
    require_positive(t=t)
    frequency = _frequencies(counts, 1.0)
    with np.errstate(divide="ignore", over="ignore"):  # a rare word: min(1, ∞)
        return np.minimum(1.0, np.sqrt(t / frequency))


def negative_distribution(
    counts: Float[ndarray, " V"] | Int[ndarray, " V"], power: float | int = 0.75
) -> Float[ndarray, " V"]:
    """Distribution that negative samples are drawn from.

    Implements eq-noise-distribution::

        q_i = n_i^power / Σ_j n_j^power

    Power 1 is the unigram distribution, 0 the uniform one over the words that occur; between
    them rare words are drawn more often than they occur.

    Args:
        counts: How often each word occurs, n.
        power: Exponent in 0..1.

    Returns:
        q, which sums to 1; 0 for a word that never occurs.

    Raises:
        InputError: If ``power`` is outside 0..1; if there are no counts, all are 0, or one is
            negative, NaN or infinite.

    Example:
        >>> negative_distribution(np.array([1, 16])).round(4)  # 1 and 16^(3/4) = 8, over 9
        array([0.1111, 0.8889])

    References:
        Mikolov et al. (2013), arXiv:1310.4546, section 2.2.
    """
    require_share(power=power)
    return _frequencies(counts, power)


def _words(tokens: Iterable[str]) -> list[str]:
    """The tokens, each of which is a str; an iterator is read once."""
    if isinstance(tokens, str | bytes) or not isinstance(tokens, Iterable):
        kind = type(tokens).__name__
        raise InputTypeError(f"tokens is one {kind}, expected words; split a text first")
    tokens = list(tokens)
    if set(map(type, tokens)) <= {str}:
        return tokens
    for i, token in enumerate(tokens):
        if not isinstance(token, str):
            raise InputTypeError(f"token {i} is {token!r:.60}, expected a str")
    return tokens


def _frequencies(counts: ndarray, power: float | int) -> Float[ndarray, " V"]:
    """Counts to a power, divided by their sum; 0 stays 0."""
    n = np.asarray(counts)
    if n.size and n.dtype.kind not in "fiub":
        raise InputTypeError(f"counts has dtype {n.dtype}, expected numbers")
    n = n.astype(np.float64)
    if n.ndim != 1 or n.size == 0:
        raise InputError(f"counts has shape {n.shape}, expected one count for each word")
    bad = ~np.isfinite(n) | (n < 0)
    if bad.any():
        first = int(np.argmax(bad))
        raise InputError(f"count {first} is {n[first]}; counts are finite and not negative")
    if not n.any():
        raise InputError(f"all {n.size} counts are 0")
    weights = np.where(n > 0, (n / n.max()) ** power, 0.0)  # no sum can overflow
    return weights / weights.sum()
