"""Words and runs of words as 64-bit integers, the same in every process.

References:
    Steele, Lea and Flood (2014), doi:10.1145/2660193.2660195 (the mixing function).
"""

import hashlib
import re
from collections.abc import Iterable
from functools import lru_cache

import numpy as np
from numpy import ndarray

from ...errors import InputError, InputTypeError
from ...shapes import UInt

WORD = re.compile(r"\w+")


def words_of(text: str) -> list[str]:
    """The words of a text without regard to capitals and punctuation.

    Example:
        >>> words_of("Now, fair Hippolyta!")
        ['now', 'fair', 'hippolyta']
    """
    if not isinstance(text, str):
        raise InputTypeError(f"a document must be a str, got {type(text).__name__}")
    return WORD.findall(text.casefold())


@lru_cache(maxsize=1 << 18)
def word_hash(word: str) -> int:
    """First 64 bits of a word's BLAKE2b hash."""
    data = word.encode("utf-8", "surrogatepass")
    return int.from_bytes(hashlib.blake2b(data, digest_size=8).digest(), "little")


def word_hashes(words: Iterable[str]) -> UInt[ndarray, " N"]:
    """The hash of each word, as uint64."""
    return np.fromiter((word_hash(word) for word in words), np.uint64)


def gram_hashes(units: UInt[ndarray, " N"], n: int) -> UInt[ndarray, " M"]:
    """One hash for each run of n units, M = N - n + 1 of them; none if N < n.

    Computes::

        g_t = mix(... mix(mix(u_t) ^ u_{t+1}) ... ^ u_{t+n-1})

    Args:
        units: Hashes of words, or other numbers, as uint64.
        n: Units of a run.

    Raises:
        InputError: If n is below 1.
    """
    if n < 1:
        raise InputError(f"n={n} must be at least 1")
    runs = max(len(units) - n + 1, 0)
    grams = np.zeros(runs, np.uint64)
    for j in range(n):
        grams = mix(grams ^ units[j : j + runs].astype(np.uint64))
    return grams


def mix(x: UInt[ndarray, " N"]) -> UInt[ndarray, " N"]:
    """A fixed permutation of the 64-bit integers in which each bit depends on all."""
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


__all__ = ["gram_hashes", "mix", "word_hashes", "words_of"]
