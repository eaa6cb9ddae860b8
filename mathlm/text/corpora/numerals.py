"""Numbers in words: as many true translations as there are numbers, from num2words.

References:
    num2words 0.5.14, https://github.com/savoirfairelinux/num2words.
"""

import operator
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import SupportsIndex

import numpy as np
from numpy import ndarray

from ...errors import InputError, InputTypeError
from ...shapes import Bool, Int
from ..tokenizers.words import Words
from .installed import data_folder

INSTALL = "pip install --no-deps num2words==0.5.14"
LANGUAGES = ("digits", "en", "fr")
END = 10**12  # of the numbers that can be spelled


def spell(number: int, language: str) -> str:
    """A number in words, without commas.

    Args:
        number: From 0 to 10¹² - 1.
        language: "en", "fr", or "digits" for its decimal digits with blanks between them.

    Raises:
        InputError: If the number is out of range or the language another one.
        InputTypeError: If the number is no integer.
        DataNotFoundError: If num2words is not installed; the message has the command.

    Example:
        >>> [spell(1971, language) for language in ("digits", "fr")]
        ['1 9 7 1', 'mille neuf cent soixante et onze']
    """
    n = _require_number(number)
    if language not in LANGUAGES:
        raise InputError(f"language {language!r} is not one of {', '.join(LANGUAGES)}")
    if language == "digits":
        return " ".join(str(n))
    return _in_words(n, language)


def pairs(
    numbers: Iterable[SupportsIndex], *, source: str = "en", target: str = "fr"
) -> list[tuple[str, str]]:
    """Each number in two languages.

    Args:
        numbers: As in :func:`spell`.
        source: Language of the first text of each pair.
        target: Language of the second.

    Raises:
        InputError, InputTypeError, DataNotFoundError: As :func:`spell`.

    Example:
        >>> pairs([21, 80])
        [('twenty-one', 'vingt et un'), ('eighty', 'quatre-vingts')]
    """
    integers = [_require_number(n) for n in numbers]
    return [(spell(n, source), spell(n, target)) for n in integers]


def split(
    seed: int, low: int, high: int, held_out: int
) -> tuple[Int[ndarray, " N"], Int[ndarray, " M"]]:
    """The numbers from ``low`` to ``high`` - 1, a few of them held out at random.

    A word that no number in training has cannot be learned from it: below 100, "eleven" is in
    one number only.

    Args:
        seed: Of the draw.
        low: The least number.
        high: One more than the largest.
        held_out: How many are held out, at least one and not all.

    Returns:
        Numbers to train on and numbers held out, each in rising order, with none in common.

    Raises:
        InputError: If the seed is negative, the range is not in 0 ... 10¹², or ``held_out``
            leaves no number on one side.
        InputTypeError: If an argument is no integer.

    Example:
        >>> training, held_out = split(0, low=100, high=110, held_out=3)
        >>> len(training), len(held_out), len({*training, *held_out})
        (7, 3, 10)
    """
    given = {"seed": seed, "low": low, "high": high, "held_out": held_out}
    if wrong := [f"{k}={v!r}" for k, v in given.items() if not _is_integer(v)]:
        raise InputTypeError(f"{', '.join(wrong)} must be an integer")
    if seed < 0 or not 0 <= low < high <= END:
        raise InputError(
            f"need seed >= 0 and 0 <= low < high <= {END}, got seed={seed}, low={low}, "
            f"high={high}"
        )
    if not 1 <= held_out < high - low:
        raise InputError(
            f"held_out={held_out} of {high - low} numbers: hold out at least 1 and not all"
        )
    drawn = np.random.default_rng(seed).choice(high - low, held_out, replace=False) + low
    return np.setdiff1d(np.arange(low, high), drawn), np.sort(drawn)


def batch(
    pairs: Sequence[tuple[str, str]], source: Words, target: Words
) -> tuple[Int[ndarray, "N S"], Int[ndarray, "N T"]]:
    """Pairs of texts as numbers, shorter rows filled with padding, which is 0.

    A row of the source is its text alone, a row of the target its text between a begin and an
    end mark; ``source_ids != 0`` tells what is real.

    Args:
        pairs: Source and target texts.
        source: Vocabulary of the source.
        target: Vocabulary of the target.

    Returns:
        Source (N, S) and target (N, T), as long as their longest rows.

    Raises:
        InputError: If there is no pair, a source text is empty, or a symbol is unknown.
        InputTypeError: If a text is no str.
    """
    if not len(pairs):
        raise InputError("there is no pair to make a batch of")
    sources = [source.encode(text) for text, _ in pairs]
    if [] in sources:
        raise InputError(f"the source text of pair {sources.index([])} is empty")
    targets = [[target.BOS, *target.encode(text), target.EOS] for _, text in pairs]
    return padded(sources), padded(targets)


def padded(rows: Sequence[Sequence[int]]) -> Int[ndarray, "N T"]:
    """Rows of numbers, filled with 0 up to the longest."""
    table = np.full((len(rows), max(map(len, rows))), Words.PAD, np.int64)
    for line, row in zip(table, rows, strict=True):
        line[: len(row)] = row
    return table


def links(number: SupportsIndex) -> Bool[ndarray, "T S"]:
    """Which words of the English numeral each word of the French one translates.

    Tens and ones are linked apart where French says them apart: not in 71, soixante et onze,
    and its kin. English "and" is linked to nothing; "mille" to "one" too where French leaves
    the one unsaid. How many thousands there are is one part: each of its French words is linked
    to each English one, "and" included.

    Args:
        number: From 0 to 999,999.

    Returns:
        True where French word t and English word s are linked.

    Raises:
        InputError: If the number is out of range.
        InputTypeError: If it is no integer.

    Example:
        >>> links(141).astype(int).tolist()  # one hundred and forty-one: cent quarante et un
        [[1, 1, 0, 0, 0], [0, 0, 0, 1, 0], [0, 0, 0, 1, 1], [0, 0, 0, 0, 1]]
    """
    n = _require_number(number)
    if n >= 1_000_000:
        raise InputError(f"number {n} is outside 0..999999")
    english, french = _english_parts(n), _french_parts(n)
    return np.array([[bool(set(f) & set(e)) for e in english] for f in french])


def _english_parts(n: int) -> list[str]:
    """For each English word the part of the number that it says; "" for "and"."""
    k, h, c = n // 1000, n // 100 % 10, n % 100
    words = ["k"] * len(Words.split(spell(k, "en"))) + ["K"] if k else []
    words += ["h", "H"] if h else []
    words += [""] if c and n > c else []
    return words + (_tens(c, "en") if c or not n else [])


def _french_parts(n: int) -> list[str]:
    """For each French word the parts of the number that it says."""
    k, h, c = n // 1000, n // 100 % 10, n % 100
    words = ["k"] * len(Words.split(spell(k, "fr"))) if k > 1 else []
    words += ["kK" if k == 1 else "K"] if k else []
    words += (["h", "H"] if h > 1 else ["hH"]) if h else []
    return words + (_tens(c, "fr") if c or not n else [])


def _tens(c: int, language: str) -> list[str]:
    """For each word of 0 ... 99 whether it says the tens, the ones or both."""
    words = Words.split(spell(c, language))
    if c < 20 or c % 10 == 0:
        return ["t"] * len(words)
    if language == "fr" and c // 10 in (7, 9):
        return ["tu"] * len(words)
    return ["tu" if word == "et" else "t" for word in words[:-1]] + ["u"]


@lru_cache(maxsize=1 << 17)
def _in_words(n: int, language: str) -> str:
    data_folder("num2words", install=INSTALL)
    from num2words import num2words

    return num2words(n, lang=language).replace(",", "")


def _is_integer(value: object) -> bool:
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


def _require_number(number: SupportsIndex) -> int:
    """A number that can be spelled, as an int."""
    if isinstance(number, bool | np.bool_) or not hasattr(number, "__index__"):
        raise InputTypeError(f"number {number!r:.60} must be an integer")
    n = operator.index(number)
    if not 0 <= n < END:
        raise InputError(f"number {n} is outside 0..{END - 1}")
    return n


__all__ = ["LANGUAGES", "batch", "links", "pairs", "spell", "split"]
