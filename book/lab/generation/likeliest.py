"""The likeliest long text of a model that looks back a fixed number of tokens."""

import numpy as np
from numpy import ndarray

from mathlm.checks import require_counts
from mathlm.errors import InputError
from mathlm.shapes import Int


def likeliest_path(
    source: ndarray,
    target: ndarray,
    logp: ndarray,
    steps: int,
) -> tuple[Int[ndarray, " T"], float]:
    """The likeliest walk along edges, started anywhere: exact, by dynamic programming.

    Implements eq-gen-viterbi::

        s_0(j) = 0,   s_t(j) = max over edges i → j of s_{t-1}(i) + log p(i → j)

    Of equally likely edges into a state the first one is taken. In a long walk the mean of
    log p comes to that of the best loop, which the walk goes around again and again.

    Args:
        source: State that each edge leaves, (E,) integers.
        target: State that it enters, (E,).
        logp: Log-probability of taking it, (E,) [nats].
        steps: Edges in the walk, at least 1.

    Returns:
        The edges that are taken, and the sum of their log-probabilities [nats].

    Raises:
        InputError: If the edges do not fit together, a log-probability is NaN or above 0, or no
            walk is so long.
    """
    _require_edges(source, target, logp)
    require_counts(1, steps=steps)
    order = np.argsort(target, kind="stable")
    entered, first = np.unique(target[order], return_index=True)
    segment = np.repeat(np.arange(len(entered)), np.diff(np.append(first, len(order))))
    best, backs = np.zeros(int(max(source.max(), target.max())) + 1), []
    for _ in range(steps):
        value = best[source[order]] + logp[order]
        top = np.maximum.reduceat(value, first)
        hit = np.flatnonzero(value == top[segment])[::-1]  # the first one is written last
        back = np.full(len(best), -1)
        back[entered[segment[hit]]] = order[hit]
        best = np.full(len(best), -np.inf)
        best[entered] = top
        backs.append(back)
    if best.max() == -np.inf:
        raise InputError(f"no walk along these edges has steps={steps}: every one ends before")
    return _followed(backs, source, int(best.argmax())), float(best.max())


def _followed(backs: list[ndarray], source: ndarray, state: int) -> Int[ndarray, " T"]:
    """The edges that led to the state, the first one first."""
    edges = []
    for back in reversed(backs):
        edges.append(back[state])
        state = source[edges[-1]]
    return np.array(edges[::-1])


def _require_edges(source: ndarray, target: ndarray, logp: ndarray) -> None:
    if not len(source) == len(target) == len(logp) > 0:
        raise InputError(
            f"{len(source)} sources, {len(target)} targets and {len(logp)} log-probabilities: "
            "give one of each for every edge, and at least one edge"
        )
    if min(source.min(), target.min()) < 0:
        raise InputError("a state below 0: number the states from 0")
    if not (logp <= 0).all():
        bad = logp[~(logp <= 0)][0]
        raise InputError(f"log-probability {bad}: every one must be a number not above 0")


__all__ = ["likeliest_path"]
