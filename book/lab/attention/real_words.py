"""Word vectors of this page: GloVe, standardized, and the words of Shakespeare's plays."""

import re

import numpy as np
from numpy import ndarray

from mathlm.text import corpus, vectors


def word_table(size: int = 20_000) -> tuple[list[str], ndarray]:
    """The most frequent words and their vectors, each feature with mean 0 and variance 1.

    Args:
        size: Number of words.

    Returns:
        The words, and one vector for each (size, 50).
    """
    words, table = vectors.load()
    x = np.asarray(table[:size], dtype=np.float64)
    return list(words[:size]), (x - x.mean(0)) / x.std(0)


def play_words(words: list[str]) -> ndarray:
    """The plays as numbers of words; what the table does not hold is left out.

    Args:
        words: The words of the table.

    Returns:
        Row of the table for each word of the plays, in order.
    """
    index = {word: i for i, word in enumerate(words)}
    found = re.findall(r"[a-z]+", corpus.load("shakespeare").lower())
    return np.array([index[word] for word in found if word in index])
