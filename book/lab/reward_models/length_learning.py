"""Rewards learned from rated conversations with length, without it, and with length taken out.

Used by length_bias.py.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mathlm.align import LinearReward, fit_linear_reward
from mathlm.reference import spearman
from mathlm.text import ratings
from mathlm.text.corpora.ratings import Rated

from .length_features import frequent_words, length_features, word_shares
from .length_pairs import accuracy, equally_long, some, topic_pairs

Array = NDArray[np.float64]
RIDGE, WIDTH, PAIRS, LEAST = 20.0, 0.2, 8000, 6


@dataclass(frozen=True, eq=False)
class Side:
    """Conversations of one side of a split, with what a reward may look at.

    Args:
        conversations: Rated.
        words: Shares of frequent words, (N, W).
        lengths: log characters, log turns and answered, standardized by the training side.
        pairs: All pairs of a topic with totals that differ by ``LEAST``, (M, 2).
        even: Those of them that are equally long.
    """

    conversations: list[Rated]
    words: Array
    lengths: Array
    pairs: NDArray[np.int64]
    even: NDArray[np.int64]


def split(
    conversations: Sequence[Rated], seed: int = 0, words: int = 100
) -> tuple[Side, Side, list[str]]:
    """Training and held-out half, and the words that are looked at."""
    halves = ratings.split_rated(conversations, 0.5, seed)
    shown = frequent_words(halves[0], words)
    lengths = [length_features(half) for half in halves]
    mean, std = lengths[0].mean(0), np.maximum(lengths[0].std(0), 1e-9)
    sides = []
    for half, length in zip(halves, lengths, strict=True):
        pairs = topic_pairs(half, LEAST)
        even = equally_long(half, pairs, WIDTH)
        sides.append(Side(half, word_shares(half, shown), (length - mean) / std, pairs, even))
    return sides[0], sides[1], shown


def learn(features: Array, pairs: NDArray[np.int64], ridge: float = RIDGE) -> LinearReward:
    """A linear reward from pairs of rows."""
    return fit_linear_reward(features[pairs[:, 0]], features[pairs[:, 1]], ridge)


def rewards(train: Side, held_out: Side, seed: int = 0) -> dict[str, Array]:
    """Held-out scores by each way of learning a reward from the same ratings."""
    pairs, even = some(train.pairs, PAIRS, seed), some(train.even, PAIRS, seed)
    both = [np.hstack((side.words, side.lengths)) for side in (train, held_out)]
    bent = np.hstack((both[0], train.lengths[:, :1] ** 2))
    words = learn(train.words, pairs)
    number = train.words.shape[1]
    straight = np.polyfit(train.lengths[:, 0], words(train.words), 5)
    alone = words(held_out.words)
    return {
        "words and length": learn(both[0], pairs)(both[1]),
        "length alone": held_out.lengths[:, 0],
        "words alone": alone,
        "words, length subtracted": alone - np.polyval(straight, held_out.lengths[:, 0]),
        "words, length a covariate": held_out.words @ learn(bent, pairs).weights[:number],
        "words, equal lengths": learn(train.words, even)(held_out.words),
    }


def judged(scores: Array, side: Side, draws: int = 200) -> dict[str, Any]:
    """Accuracy on all pairs and on equally long ones, and the rank correlation with length."""
    found = {
        name: accuracy(scores, pairs, draws)
        for name, pairs in (("all", side.pairs), ("even", side.even))
    }
    return found | {"rank": spearman(scores, side.lengths[:, 0])}
