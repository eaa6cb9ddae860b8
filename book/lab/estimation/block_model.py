"""Letters predicted from histories of any length, by counts in sorted lists."""

from collections.abc import Iterator

import numpy as np
from numpy import ndarray


def block_codes(text: ndarray, n: int) -> ndarray:
    """Each block of n letters as one number in base 27, in the order of the text."""
    codes = np.zeros(len(text) - n + 1, dtype=np.int64)
    for i in range(n):
        codes = 27 * codes + text[i : len(text) - n + 1 + i]
    return codes


class BlockModel:
    """Counts of all blocks of 1 to ``order`` letters; shorter histories are the prior.

    Implements eq-prob-letters::

        qₙ(x | h) = (c(hx) + α qₙ₋₁(x | shorter h)) / (c(h) + α),    q₀ = 1 / 27

    Args:
        text: Letters, 0 to 26.
        order: Letters of the longest block, at most 13.
        strength: Weight α of the shorter history's model [letters].
    """

    def __init__(self, text: ndarray, order: int, strength: float = 4.0) -> None:
        self.strength = strength
        self.blocks = [
            np.unique(block_codes(text, n), return_counts=True) for n in range(1, order + 1)
        ]

    def probabilities(self, text: ndarray) -> Iterator[ndarray]:
        """Probability of each letter by the model of each order, 1 first.

        The first letters of ``text`` have shorter histories.
        """
        q, alpha = np.full(len(text), 1 / 27), self.strength
        for n, (block, count) in enumerate(self.blocks, start=1):
            here = block_codes(text, n)
            starts = np.unique(block // 27, return_inverse=True)
            history = (starts[0], np.bincount(starts[1], weights=count))
            seen, visits = _count(block, count, here), _count(*history, here // 27)
            q[n - 1 :] = (seen + alpha * q[n - 1 :]) / (visits + alpha)
            yield q.copy()


def _count(values: ndarray, counts: ndarray, asked: ndarray) -> ndarray:
    """Counts of the blocks asked for, 0 where a block does not occur."""
    place = np.minimum(np.searchsorted(values, asked), len(values) - 1)
    return np.where(values[place] == asked, counts[place], 0)
