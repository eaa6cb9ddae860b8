"""A tournament whose true strengths are known: one game after another, and all at once."""

from typing import NamedTuple

import numpy as np
from numpy import ndarray

from mathlm.align import fit_strengths
from mathlm.align.reward.bradley_terry import Strengths
from mathlm.evaluation import elo_expected, elo_ratings

TRUE = np.array([1150.0, 1090.0, 1030.0, 970.0, 910.0, 850.0])  # [points], mean 1000
Game = tuple[int, int, float]


class Spread(NamedTuple):
    """Ratings of one set of games in many orders.

    Args:
        means: Mean over the orders of each player's rating, (N,) [points].
        stds: Standard deviation over the orders, (N,) [points].
        best: Share of the orders after which the strongest player is rated highest.
    """

    means: ndarray
    stds: ndarray
    best: float


def play(true: ndarray, games: int, seed: int) -> list[Game]:
    """Games of pairs drawn evenly; the first wins with the chance that the ratings give.

    Args:
        true: Ratings that do not change, (N,) [points].
        games: How many.
        seed: Of the pairs and the results.
    """
    rng = np.random.default_rng(seed)
    first = rng.integers(0, len(true), games)
    second = (first + rng.integers(1, len(true), games)) % len(true)
    wins = rng.random(games) < elo_expected(true[first], true[second])
    return [*zip(first.tolist(), second.tolist(), wins.astype(float).tolist(), strict=True)]


def in_many_orders(games: list[Game], items: int, k: float, orders: int, seed: int) -> Spread:
    """The ratings of Elo after the same games, each time in another order.

    Args:
        games: Of :func:`play`.
        items: How many players there are.
        k: K, the step [points].
        orders: How many.
        seed: Of the orders.
    """
    rng = np.random.default_rng(seed)
    drawn = [[games[i] for i in rng.permutation(len(games))] for _ in range(orders)]
    found = np.array([elo_ratings(one, items, k) for one in drawn])
    best = float((found.argmax(1) == 0).mean())
    return Spread(found.mean(0), found.std(0, ddof=1), best)


def fitted(games: list[Game], items: int) -> Strengths:
    """The strengths of all games at once, in which their order does not count."""
    wins = np.zeros((items, items))
    for first, second, result in games:
        wins[first, second] += result
        wins[second, first] += 1 - result
    return fit_strengths(wins)


def on_questions(right: ndarray) -> Strengths:
    """The strengths of models that answered the same questions.

    A question that only one of two models answers rightly is a game between them, which that
    one wins.

    Args:
        right: Whether each model is right on each question, (N, Q) of bool.
    """
    answered = right.astype(int)
    return fit_strengths((answered @ (1 - answered).T).astype(float))
