"""What several sampled answers to one question are worth."""

import math
from collections import Counter
from collections.abc import Hashable, Sequence
from typing import SupportsIndex, TypeVar

from ..checks import python_number, require_counts
from ..errors import InputError

Answer = TypeVar("Answer", bound=Hashable)


def pass_at_k(samples: SupportsIndex, right: SupportsIndex, k: SupportsIndex) -> float:
    """Chance that k of the samples, drawn without replacement, hold a right one.

    Implements eq-eval-pass::

        pass@k = 1 - C(n - c, k) / C(n, k),   E[pass@k] = 1 - (1 - p)^k

    It is unbiased for any n ≥ k. The plug-in 1 - (1 - c/n)^k is too small on average, since
    (1 - x)^k is convex in x.

    Args:
        samples: n, how many answers were sampled; an integer of Python, NumPy or torch, as c
            and k are.
        right: c, how many of them are right, 0 to n.
        k: How many answers are looked at, 1 to n.

    Returns:
        The estimate for this question; its mean over questions is that of the set.

    Raises:
        InputError: If a number is out of range.

    Example:
        >>> round(pass_at_k(samples=4, right=1, k=2), 6)  # 1 - 3 / 6 pairs
        0.5

    References:
        Chen et al. (2021), arXiv:2107.03374, eq. (1).
    """
    n, c, looked_at = (python_number(x) for x in (samples, right, k))
    require_counts(1, samples=n, k=looked_at)
    require_counts(0, right=c)
    if c > n or looked_at > n:
        raise InputError(
            f"right={c} and k={looked_at} of samples={n}: neither can exceed the samples; "
            "draw at least k"
        )
    return 1 - math.comb(n - c, looked_at) / math.comb(n, looked_at)


def majority(answers: Sequence[Answer]) -> Answer:
    """The most frequent answer; of equally frequent ones the first that was sampled.

    Self-consistency: answers that are reached by several ways of reasoning are more often
    right.

    Args:
        answers: One or more, such as numbers or texts, in the order of their sampling.

    Raises:
        InputError: If there is none.

    Example:
        >>> majority(["4", "5", "5"])
        '5'

    References:
        Wang et al. (2022), arXiv:2203.11171.
    """
    if not len(answers):
        raise InputError("no answers: a vote needs at least one")
    return Counter(answers).most_common(1)[0][0]
