"""What a reward may look at in a rated conversation: its frequent words, and its length."""

import re
from collections import Counter
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from mathlm.errors import InputError
from mathlm.text.corpora.ratings import Rated

Array = NDArray[np.float64]
WORD = re.compile(r"[a-z']+|[!?]")
LENGTHS = ("log characters", "log turns", "answered")


def words_of(conversation: Rated) -> list[str]:
    """Its words in small letters, with exclamation and question marks as words."""
    return WORD.findall("\n".join(conversation.turns).lower())


def frequent_words(conversations: Sequence[Rated], number: int) -> list[str]:
    """The words that occur in the most conversations; ties by alphabet."""
    found = Counter(word for c in conversations for word in set(words_of(c)))
    return sorted(found, key=lambda word: (-found[word], word))[:number]


def word_shares(conversations: Sequence[Rated], words: Sequence[str]) -> Array:
    """Which words a conversation is made of, whatever their number.

    Computes::

        x_w = sqrt(n_w / Σ_v n_v)   over the given words, so that ‖x‖ = 1

    A conversation that is said twice has the same row. One without any of the words has zeros.
    A short one has few words that are not zero, so the row still gives its length away.

    Args:
        conversations: Texts.
        words: W words.

    Returns:
        (N, W).
    """
    column = {word: i for i, word in enumerate(words)}
    counts = np.zeros((len(conversations), len(column)))
    for row, conversation in zip(counts, conversations, strict=True):
        for word, number in Counter(words_of(conversation)).items():
            if word in column:
                row[column[word]] = number
    return np.sqrt(counts / np.maximum(counts.sum(1, keepdims=True), 1))


def log_length(conversations: Sequence[Rated]) -> Array:
    """Logarithm of 1 + the characters of each conversation, (N,)."""
    return np.log1p([sum(map(len, c.turns)) for c in conversations])


def length_features(conversations: Sequence[Rated]) -> Array:
    """Log characters, log turns, and whether anybody answered: (N, 3), see ``LENGTHS``."""
    turns = np.array([len(c.turns) for c in conversations])
    if not turns.all():
        raise InputError(f"conversation {int((turns == 0).argmax())} has no turns")
    return np.stack((log_length(conversations), np.log(turns), turns > 1), 1)
