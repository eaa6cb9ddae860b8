"""Facts whose frequency is a power of their rank, and what is lost while only some are known.

A token costs ``1`` where its fact is unknown and ``0`` where it is known: multiply by log C for
nats, if the guess is one of C answers.
"""

from typing import NamedTuple

import numpy as np

from mathlm.errors import InputError
from mathlm.scaling.power_law import Numbers, positive
from mathlm.shapes import Float, Int


class ZipfExponents(NamedTuple):
    """Exponents by which a loss falls under Zipf's law.

    Attributes:
        capacity: In the number of facts that a model holds.
        data: In the number of tokens, each fact being known from its first showing.
        steps: In the steps of gradient descent on the whole distribution.
    """

    capacity: float
    data: float
    steps: float


def zipf_probabilities(exponent: float | int, count: int) -> Float[np.ndarray, " V"]:
    """Probability of each of ``count`` facts, the most frequent first.

    Computes::

        p_k = k^(-s) / Σ_j j^(-s)

    Args:
        exponent: Zipf's s >= 0; 1 for words of a text, roughly.
        count: How many facts V there are.

    Returns:
        Probabilities in falling order, which sum to 1.

    Raises:
        InputError: If the exponent is negative or not finite, or there is no fact.
    """
    if not 0 <= exponent < np.inf or count < 1:
        raise InputError(
            f"exponent={exponent} must be finite and not negative, and count={count} at least 1"
        )
    p = np.arange(1, count + 1, dtype=float) ** -exponent
    return p / p.sum()


def zipf_exponents(exponent: float | int) -> ZipfExponents:
    """How fast the loss falls if facts are learned in the order of their frequency.

    Implements eq-explain-zipf::

        Σ_{k > K} k^(-s) ~ K^(-(s - 1)),     Σ_k p_k (1 - p_k)^D ~ D^(-(s - 1)/s)

    The second sum is over facts with ``p_k < 1/D``, so ``K ~ D^(1/s)`` are known. For s <= 1
    the probabilities of endlessly many facts have no sum: no power law follows.

    Args:
        exponent: Zipf's s > 1.

    Returns:
        The three exponents, as positive numbers.

    Raises:
        InputError: If s is not above 1.

    References:
        Hutter (2021), arXiv:2102.04074; Michaud et al. (2023), arXiv:2303.13506.
    """
    if not 1 < exponent < np.inf:
        raise InputError(
            f"exponent={exponent} must be above 1: at 1 and below, frequencies of endlessly "
            "many facts have no finite sum, and the loss falls by no power"
        )
    s = float(exponent)
    return ZipfExponents(s - 1, (s - 1) / s, (s - 1) / s)


def unlearned_mass(p: Numbers, learned: Int[np.ndarray, " N"]) -> Float[np.ndarray, " N"]:
    """Share of the tokens whose facts are not among the most frequent ones.

    Computes::

        Σ_{k > K} p_k

    Args:
        p: Probabilities in falling order.
        learned: Numbers K of facts that are known.

    Returns:
        One share for each K.

    Raises:
        InputError: If p is no falling distribution, or a K is negative or above the facts.
    """
    row = falling(p)
    if not ((learned >= 0) & (learned <= len(row))).all():
        raise InputError(f"learned={learned.tolist()} must lie between 0 and {len(row)} facts")
    rest = np.append(np.cumsum(row[::-1])[::-1], 0.0)  # summed from the small end
    return rest[learned]


def unseen_mass(p: Numbers, draws: Numbers) -> Float[np.ndarray, " N"]:
    """Expected share of the next token's facts that did not occur before.

    Computes::

        Σ_k p_k (1 - p_k)^D

    Args:
        p: Probabilities.
        draws: Numbers D of tokens seen.

    Returns:
        One share for each D.

    Raises:
        InputError: If p is no distribution, or a D is not positive.
    """
    row = distribution(p)
    return np.array([float(row @ (1 - row) ** d) for d in positive("draws", draws)])


def distinct_seen(p: Numbers, draws: Numbers) -> Float[np.ndarray, " N"]:
    """Expected number of different facts among the draws: Heaps' law.

    Computes::

        Σ_k 1 - (1 - p_k)^D,     ~ D^(1/s) under Zipf's law with s > 1

    Args:
        p: Probabilities.
        draws: Numbers D of draws.

    Returns:
        One number for each D.

    Raises:
        InputError: As :func:`unseen_mass`.
    """
    row = distribution(p)
    return np.array([float((1 - (1 - row) ** d).sum()) for d in positive("draws", draws)])


def distribution(p: Numbers) -> Float[np.ndarray, " V"]:
    """Positive numbers that sum to 1."""
    row = positive("p", p)
    if abs(row.sum() - 1) > 1e-9:
        raise InputError(f"p sums to {row.sum():.6g}; expected probabilities, which sum to 1")
    return row


def falling(p: Numbers) -> Float[np.ndarray, " V"]:
    """A distribution with the most frequent first."""
    row = distribution(p)
    if (np.diff(row) > 0).any():
        raise InputError("p rises somewhere; expected the most frequent first: sort it")
    return row
