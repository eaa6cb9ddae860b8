"""Measures of texts: bits per byte and compression, diversity, redundancy."""

import math
import re
import zlib
from collections import Counter
from collections.abc import Callable, Hashable, Sequence

import numpy as np
from numpy import ndarray

from ..errors import InputError, InputTypeError
from ..shapes import Int
from .ngrams import BYTES, as_ids, longest_order, pack
from .tokenizers.bytes import Bytes
from .tokenizers.named import Tokenizer
from .tokenizers.pretokenize import utf8

PART = 1 << 20  # tokens whose bytes are counted at a time


def bits_per_byte(nats: float, n_bytes: int) -> float:
    """Average code length of a text.

    Implements eq-bits-per-byte::

        b = -Σ log p / (n log 2)

    It does not depend on how the text was cut into tokens, as the loss per token does.

    Args:
        nats: -Σ log p, summed over the whole text [nats].
        n_bytes: Length n of the text in UTF-8 [bytes].

    Returns:
        b [bits/byte].

    Raises:
        InputError: If ``n_bytes`` is not positive.

    Example:
        >>> bits_per_byte(3 * math.log(256), 3)
        8.0
    """
    if n_bytes < 1:
        raise InputError(f"n_bytes={n_bytes} must be positive: an empty text has no average")
    return float(nats) / math.log(2) / n_bytes


def count_bytes(ids: ndarray, tokenizer: Tokenizer) -> int:
    """Bytes of text that token ids stand for; special tokens stand for none.

    Args:
        ids: Token ids, one dimension; a memory map is read in parts.
        tokenizer: What made them.

    Returns:
        Length of the text in UTF-8 [bytes].

    Example:
        >>> from mathlm.text import Bytes
        >>> count_bytes(np.array(Bytes().encode("é")), Bytes())
        2
    """
    if isinstance(tokenizer, Bytes) and not tokenizer.special:
        return len(ids)
    sizes = np.array([len(tokenizer.token_bytes(i)) for i in range(tokenizer.vocab_size)])
    sizes[list(tokenizer.special.values())] = 0
    return sum(int(sizes[ids[i : i + PART]].sum()) for i in range(0, len(ids), PART))


def conditional_bits_per_byte(
    compress: Callable[[bytes], bytes], training: bytes, held_out: bytes
) -> float:
    """What a compressor that has read ``training`` pays for ``held_out``.

    Implements eq-conditional-code::

        b = 8 (|C(xy)| - |C(x)|) / |y|

    Args:
        compress: C, such as ``lzma.compress``.
        training: x.
        held_out: y.

    Returns:
        b [bits/byte].

    Raises:
        InputError: If ``held_out`` is empty.

    Example:
        >>> conditional_bits_per_byte(lambda text: text, b"to be", b"or not")  # C does nothing
        8.0

    References:
        Cilibrasi and Vitanyi (2005), arXiv:cs/0312044, section III.
    """
    if not held_out:
        raise InputError("held_out is empty: an empty text has no average")
    extra = len(compress(training + held_out)) - len(compress(training))
    return 8 * extra / len(held_out)


Tokens = Sequence[Hashable]


def distinct_share(texts: Sequence[Tokens], n: int) -> float:
    """Different n-grams of all texts, as a share of all that occur: "distinct-n".

    Computes::

        |{g : g is an n-gram of a text}| / Σ_texts (length - n + 1)

    It falls with the length of the texts and with their number: compare samples of one size.

    Args:
        texts: Tokens, words or letters of each text.
        n: Length of an n-gram.

    Returns:
        A share of 1, where nothing occurs twice, or less.

    Raises:
        InputError: If n is less than 1 or no text has n tokens.

    References:
        Li et al. (2016), arXiv:1510.03055, section 5.2.

    Example:
        >>> distinct_share(["to be or not to be".split()], 2)
        0.8
    """
    counts = [_grams(text, n) for text in _require_texts(texts, n)]
    return len(set().union(*counts)) / sum(c.total() for c in counts)


def repeated_share(texts: Sequence[Tokens], n: int = 4) -> float:
    """Share of n-grams that have occurred before in the same text.

    Computes::

        Σ_texts (n-grams - different n-grams) / Σ_texts n-grams

    Texts do not count against each other: it is 0 where no text repeats itself.

    Args:
        texts: Tokens, words or letters of each text.
        n: Length of an n-gram.

    Raises:
        InputError: If n is less than 1 or no text has n tokens.

    Example:
        >>> repeated_share(["to be or not to be".split()], 2)
        0.2
    """
    counts = [_grams(text, n) for text in _require_texts(texts, n)]
    total = sum(c.total() for c in counts)
    return sum(c.total() - len(c) for c in counts) / total


def self_bleu(texts: Sequence[Tokens], n: int = 4) -> float:
    """How much the texts say the same: the BLEU of each with all others as references.

    Computes::

        BP · (p_1 … p_n)^(1/n),   p_k = Σ_texts matched k-grams / Σ_texts k-grams

    A k-gram matches as often as it occurs in that one of the other texts which has it most
    often. Matches are summed over the texts before they are divided, as in BLEU of a corpus.
    BP = min(1, exp(1 - r / c)), with c the length of all texts and r that of the references
    closest in length.

    Args:
        texts: Tokens, words or letters of each text, two texts or more.
        n: Length of the longest k-grams.

    Returns:
        From 0, where no n-gram is shared, to 1, where all texts are equal.

    Raises:
        InputError: If n is less than 1, there are fewer than two texts, or none has n tokens.

    Example:
        >>> self_bleu([["to", "be", "or", "not"], ["to", "be", "or", "not"]])
        1.0

    References:
        Papineni et al. (2002), doi:10.3115/1073083.1073135.
        Zhu et al. (2018), arXiv:1802.01886, section 4.
    """
    texts = _require_texts(texts, n)
    if len(texts) < 2:
        raise InputError("1 text: there is no other to compare it with")
    precisions = [_shared(texts, k) for k in range(1, n + 1)]
    if 0.0 in precisions:
        return 0.0
    lengths = [len(text) for text in texts]
    closest = [
        min(lengths[:i] + lengths[i + 1 :], key=lambda r: (abs(r - lengths[i]), r))
        for i in range(len(lengths))
    ]
    brevity = min(0.0, 1 - sum(closest) / sum(lengths))
    return math.exp(brevity + sum(map(math.log, precisions)) / n)


def compression_ratio(texts: Sequence[str]) -> float:
    """Bytes of the texts, one behind the other, over their bytes when compressed by zlib.

    Computes::

        bytes(texts) / bytes(deflate(texts))

    English prose of a few thousand bytes gives 2 to 2.5, and a sentence said again and again
    any number. Short texts give less: compare samples of one size.

    Args:
        texts: At least one.

    Raises:
        InputError: If the texts are empty or hold a lone surrogate.

    Example:
        >>> compression_ratio(["to be or not to be " * 50]) > 20
        True
    """
    if isinstance(texts, str):
        raise InputTypeError("texts is a single string: give a list of strings")
    data = utf8("\n".join(texts))
    if not data.strip():
        raise InputError(f"{len(texts)} texts with nothing in them: nothing to compress")
    return len(data) / len(zlib.compress(data, 9))


def _grams(text: Tokens, n: int) -> Counter[tuple[Hashable, ...]]:
    return Counter(tuple(text[i : i + n]) for i in range(len(text) - n + 1))


def _shared(texts: Sequence[Tokens], k: int) -> float:
    """Share of the k-grams of each text that one of the others has too."""
    counts = [_grams(text, k) for text in texts]
    matched = 0
    for i, own in enumerate(counts):
        others = counts[:i] + counts[i + 1 :]
        matched += sum(min(c, max(other[g] for other in others)) for g, c in own.items())
    return matched / sum(c.total() for c in counts)


def _require_texts(texts: Sequence[Tokens], n: int) -> list[Tokens]:
    if n < 1:
        raise InputError(f"n={n} must be at least 1")
    texts = list(texts)
    longest = max(map(len, texts), default=0)
    if longest < n:
        raise InputError(
            f"{len(texts)} texts of at most {longest} tokens hold no {n}-gram: give longer ones"
        )
    return texts


ALPHABET = " abcdefghijklmnopqrstuvwxyz"  # Shannon's 27 symbols


def letters(text: str) -> Int[ndarray, " T"]:
    """A text in 27 symbols: 1 to 26 for the letters, one 0 for all that stands between words.

    Args:
        text: Any text; capitals count as small letters, and what is no letter of English as
            space.

    Example:
        >>> letters("A, b")
        array([1, 0, 2])
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

    Example:
        >>> block_counts(b"abab", 2).tolist()  # "ab" twice, "ba" once
        [2, 1]
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

    Example:
        >>> round(block_entropy(b"abab", 1), 4)  # ln 2
        0.6931
    """
    counts = block_counts(data, n, vocab_size)
    N = int(counts.sum())
    p = counts / N  # all positive: blocks that occur
    bias = (len(counts) - 1) / (2 * N) if corrected else 0.0
    return float(-p @ np.log(p)) + bias
