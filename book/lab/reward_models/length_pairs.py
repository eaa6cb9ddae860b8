"""Pairs of rated conversations, all or of equal length, and the accuracy of a score on them."""

from collections import defaultdict
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mathlm.errors import InputError
from mathlm.text.corpora.ratings import Rated

from .length_features import log_length

Array = NDArray[np.float64]
Pairs = NDArray[np.int64]


def topic_pairs(conversations: Sequence[Rated], least: int = 6) -> Pairs:
    """Every pair of one topic whose totals differ by so much: (M, 2), higher and lower.

    Args:
        conversations: Rated.
        least: Smallest difference of the totals, which are sums of three ratings.
    """
    total = np.array([c.total for c in conversations])
    topics = defaultdict(list)
    for i, conversation in enumerate(conversations):
        topics[conversation.topic].append(i)
    found = [np.empty((0, 2), dtype=np.int64)]
    for members in map(np.array, topics.values()):
        higher, lower = np.nonzero(total[members][:, None] - total[members] >= least)
        found.append(np.stack((members[higher], members[lower]), 1))
    return np.concatenate(found)


def equally_long(
    conversations: Sequence[Rated], pairs: Pairs, width: float | int = 0.1
) -> Pairs:
    """Those of the pairs whose lengths differ by a factor of e^width at most."""
    length = log_length(conversations)
    return pairs[np.abs(length[pairs[:, 0]] - length[pairs[:, 1]]) <= width]


def some(pairs: Pairs, number: int, seed: int = 0) -> Pairs:
    """So many of the pairs, without repetition; all of them if there are not so many."""
    return np.random.default_rng(seed).permutation(pairs)[:number]


def ordered(scores: ArrayLike, pairs: Pairs) -> Array:
    """For each pair 1 if the higher one scores higher, 0 if lower, 1/2 for equal scores."""
    s = np.asarray(scores)
    return (np.sign(s[pairs[:, 0]] - s[pairs[:, 1]]) + 1) / 2


def accuracy(
    scores: ArrayLike, pairs: Pairs, draws: int = 400, seed: int = 0
) -> tuple[float, tuple[float, float]]:
    """Share of the pairs that a score orders correctly, with a 95 % interval.

    The interval is a bootstrap over conversations, not over pairs: a pair counts c_i c_j times
    if its conversations were drawn c_i and c_j times. Pairs that share a conversation are not
    independent, and resampling them alone would promise too much.

    Args:
        scores: Of each conversation, (N,).
        pairs: (M, 2).
        draws: Resamples.
        seed: Of them.

    Returns:
        The share, and both ends.

    Raises:
        InputError: If there are no pairs.
    """
    if len(pairs) == 0:
        raise InputError("there are no pairs: ask for a smaller difference or a wider match")
    hits, n = ordered(scores, pairs), len(np.asarray(scores))
    rng, found = np.random.default_rng(seed), []
    for _ in range(draws):
        times = np.bincount(rng.integers(n, size=n), minlength=n)
        weight = times[pairs[:, 0]] * times[pairs[:, 1]]
        found.append(weight @ hits / max(weight.sum(), 1))
    low, high = np.quantile(found, [0.025, 0.975])
    return float(hits.mean()), (float(low), float(high))
