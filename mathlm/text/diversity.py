"""How varied texts are: among each other, and each within itself."""

import math
import zlib
from collections import Counter
from collections.abc import Hashable, Sequence

from ..errors import InputError, InputTypeError

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
        InputError: If the texts are empty.
    """
    if isinstance(texts, str):
        raise InputTypeError("texts is a single string: give a list of strings")
    data = "\n".join(texts).encode()
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
