"""Ratings on the scale of Elo: from games one after another, and from all games at once."""

import math
from collections.abc import Iterable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..align.reward.bradley_terry import Strengths
from ..checks import require_positive
from ..errors import InputError

Array = NDArray[np.float64]
SCALE = 400 / math.log(10)  # [points/nat]: 400 points are odds of ten to one


def elo_expected(
    first: ArrayLike | float | int, second: ArrayLike | float | int
) -> np.float64 | Array:
    """Chance that the first wins, with half a win for a tie.

    Implements eq-eval-elo::

        1 / (1 + 10^((R₂ - R₁)/400)) = σ((R₁ - R₂) ln 10 / 400)

    It is the model of Bradley and Terry, with strengths s = R ln 10 / 400 [nats].

    Args:
        first: R₁ [points].
        second: R₂ [points].

    Example:
        >>> round(float(elo_expected(1600, 1200)), 4)  # 1 / (1 + 1/10)
        0.9091
    """
    gap = (np.asarray(first, float) - np.asarray(second, float)) / SCALE
    return np.exp(-np.logaddexp(0.0, -gap))


def elo_ratings(
    games: Iterable[tuple[int, int, float | int]], items: int, k: float | int = 16
) -> Array:
    """Ratings after games that were played one after another.

    Implements eq-eval-elo-update::

        R₁ ← R₁ + K (y - E),   R₂ ← R₂ - K (y - E),   E = elo_expected(R₁, R₂)

    y - E is the slope of log E^y (1 - E)^(1 - y) in the gap of strengths, so every game is a
    step of stochastic gradient ascent on the likelihood of Bradley and Terry. The step never
    shrinks: the ratings follow players who change, and wander about those of players who do
    not, in an order-dependent way. :func:`elo_scale` of all games at once does not.

    Args:
        games: (first, second, result), the result 1 if the first won, 0 if the second, 0.5 for
            a tie; items are numbered from 0.
        items: How many there are.
        k: K > 0, the step [points].

    Returns:
        (items,) [points], with mean 1000, where all begin.

    Raises:
        InputError: If a number is out of range; the message names the game.

    Example:
        >>> first, second = elo_ratings([(0, 1, 1)], items=2, k=16)
        >>> float(first - second)  # half of k to one, from the other
        16.0
    """
    require_positive(k=k)
    ratings = np.full(items, 1000.0)
    for game, (first, second, result) in enumerate(games):
        if first == second or not (0 <= first < items and 0 <= second < items):
            raise InputError(
                f"game {game} is of {first} and {second}: need two different items of 0 to "
                f"{items - 1}"
            )
        if not 0 <= result <= 1:
            raise InputError(f"game {game} has the result {result}, expected 0, 0.5 or 1")
        surprise = k * (result - elo_expected(ratings[first], ratings[second]))
        ratings[first] += surprise
        ratings[second] -= surprise
    return ratings


def elo_scale(strengths: Strengths) -> tuple[Array, Array]:
    """Strengths of Bradley and Terry as ratings, and their standard errors [points].

    Implements eq-eval-elo-scale::

        R = 1000 + 400/ln 10 · s

    Args:
        strengths: From :func:`mathlm.align.fit_strengths`, in nats, with mean 0.

    Returns:
        The ratings (N,), and the standard error of each about the mean of all.

    Example:
        >>> from mathlm.align import fit_strengths
        >>> ratings, errors = elo_scale(fit_strengths([[0, 10], [1, 0]]))
        >>> round(float(ratings[0] - ratings[1]), 3)  # odds of 10 to 1
        400.0
    """
    return 1000 + SCALE * strengths.values, SCALE * strengths.standard_errors
