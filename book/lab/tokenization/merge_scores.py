"""What a merge is worth: its count, its gain in likelihood, its gain for one occurrence."""

import math

from mathlm.errors import InputError


def merge_gain(pair: int, left: int, right: int, total: int) -> float:
    """What merging a pair adds to the log-likelihood of a corpus.

    The corpus is scored by independent tokens with their relative frequencies, before and after
    the merge, both times with the frequencies that fit best.

    Implements eq-merge-gain::

        G = g(l - k) - g(l) + g(r - k) - g(r) + g(k) - g(n - k) + g(n),   g(x) = x log x

    Args:
        pair: k ≥ 1, occurrences of the pair that are merged.
        left: l ≥ k, occurrences of its left token.
        right: r ≥ k, occurrences of its right token, another one than the left.
        total: n ≥ l + r, tokens of the corpus before the merge.

    Returns:
        G [nats], summed over the corpus; it may be negative.

    Raises:
        InputError: If the counts cannot occur together.

    Example:
        >>> round(merge_gain(2, 2, 2, 4), 3)  # "abab": two tokens of one kind cost nothing
        2.773
    """
    _require_counts(pair, left, right, total)
    before = _g(left) + _g(right) - _g(total)
    after = _g(left - pair) + _g(right - pair) + _g(pair) - _g(total - pair)
    return after - before


def wordpiece_score(pair: int, left: int, right: int) -> float:
    """The score by which WordPiece chooses the next merge.

    Implements eq-wordpiece-score::

        s = k / (l r)

    Args:
        pair: k ≥ 1, occurrences of the pair.
        left: l ≥ k, occurrences of its left token.
        right: r ≥ k, occurrences of its right token.

    Returns:
        s: exp(pointwise mutual information) of the two tokens, divided by their number n.

    Raises:
        InputError: If the counts cannot occur together.
    """
    _require_counts(pair, left, right, left + right)
    return pair / (left * right)


def _g(x: int) -> float:
    return x * math.log(x) if x else 0.0


def _require_counts(pair: int, left: int, right: int, total: int) -> None:
    if not (1 <= pair <= min(left, right) and left + right <= total < math.inf):
        raise InputError(
            f"a pair counted {pair} times, of tokens counted {left} and {right} times, in "
            f"{total}: expected 1 <= pair <= both, and their sum at most the total"
        )


__all__ = ["merge_gain", "wordpiece_score"]
