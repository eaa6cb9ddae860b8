"""Rewards of the steering study: a list of rated words, and parts of it.

Used by steering_plays. A part stands for a flawed judge: it knows a quarter of the
words.
"""

from collections.abc import Sequence
from functools import cache
from hashlib import sha256
from typing import Any

import torch

from mathlm.align import RewardFunction, SentimentReward, cautious_reward
from mathlm.text import sentiment

PARTS, CAUTION = 4, 0.25  # three are rewards, the last judges and is no reward


@cache
def part(number: int) -> sentiment.Lexicon:
    """The words of one part, by a hash; boosters and negators are kept."""
    whole = sentiment.load()
    words = {
        word: valence
        for word, valence in whole.valences.items()
        if sha256(word.encode()).digest()[0] % PARTS == number
    }
    return sentiment.Lexicon(words, whole.boosters, whole.negators)


class OneJudge:
    """How glad a completion sounds to the first part.

    Args:
        number: Of the part.
    """

    def __init__(self, number: int = 0) -> None:
        self.number = number

    def __call__(self, prompts: Sequence[Any], completions: Sequence[str]) -> list[float]:
        """From -1 to 1 for each completion."""
        return [part(self.number).score(text) for text in completions]


class ThreeJudges:
    """The mean of what three parts say, less a quarter of their disagreement."""

    def __call__(self, prompts: Sequence[Any], completions: Sequence[str]) -> list[float]:
        """From -1 to 1 for each completion."""
        scores = [OneJudge(i)(prompts, completions) for i in range(PARTS - 1)]
        return cautious_reward(torch.tensor(scores), CAUTION).tolist()


REWARDS: dict[str, RewardFunction] = {
    "all words": SentimentReward(),
    "one judge": OneJudge(),
    "three judges": ThreeJudges(),
}
JUDGE: RewardFunction = OneJudge(PARTS - 1)
