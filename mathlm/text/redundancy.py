"""Entropy of a text by counting its blocks, as Shannon did for English.

References:
    Shannon (1951), doi:10.1002/j.1538-7305.1951.tb01366.x.
    Miller (1955), Note on the bias of information estimates.
"""

import re

import numpy as np
from numpy import ndarray

from ..errors import InputError
from ..shapes import Int
from .counts import BYTES, as_ids, longest_order, pack

ALPHABET = " abcdefghijklmnopqrstuvwxyz"  # Shannon's 27 symbols


def letters(text: str) -> Int[ndarray, " T"]:
    """A text in 27 symbols: 1 to 26 for the letters, one 0 for all that stands between words.

    Args:
        text: Any text; capitals count as small letters, and what is no letter of English as
            space.
    """
    plain = re.sub("[^a-z]+", " ", text.lower()).encode()
    return np.maximum(np.frombuffer(plain, np.uint8).astype(np.int64) - 96, 0)


def block_counts(data: bytes | ndarray, n: int, vocab_size: int = BYTES) -> Int[ndarray, " M"]:
    """How often each block of n tokens occurs, overlapping ones counted.

    Args:
        data: Text as bytes or token ids.
        n: Tokens of a block.
        vocab_size: Size V of the vocabulary, 256 for bytes.

    Returns:
        Counts of the blocks that occur, in the order of the blocks.

    Raises:
        InputError: If n is out of range, the text holds no block, or an id is outside the
            vocabulary.
        InputTypeError: If the ids are not integers.
    """
    ids, longest = as_ids(data, vocab_size), longest_order(vocab_size)
    if not 1 <= n <= longest or len(ids) < n:
        raise InputError(
            f"n={n} must be between 1 and {longest}, and no more than the {len(ids)} tokens of "
            "the text"
        )
    return np.unique(pack(ids, n, vocab_size), return_counts=True)[1]


def block_entropy(
    data: bytes | ndarray, n: int, vocab_size: int = BYTES, corrected: bool = False
) -> float:
    """Entropy of the blocks of n tokens, by their relative frequencies.

    Implements eq-block-entropy::

        H_n = -Σ_b (c_b / N) log(c_b / N)      + (m - 1) / 2N if corrected

    The plain estimate is too low on average, and never above log N, however many blocks there
    may be. The correction of Miller (1955) adds the leading term of the bias, with m the
    number of different blocks that occur; it helps where most of them occur many times.

    Args:
        data: Text as bytes or token ids.
        n: Tokens of a block.
        vocab_size: Size V of the vocabulary, 256 for bytes.
        corrected: Whether to add the correction.

    Returns:
        H_n [nats/block].

    Raises:
        InputError, InputTypeError: As :func:`block_counts`.
    """
    counts = block_counts(data, n, vocab_size)
    N = int(counts.sum())
    p = counts / N  # all positive: blocks that occur
    bias = (len(counts) - 1) / (2 * N) if corrected else 0.0
    return float(-p @ np.log(p)) + bias
