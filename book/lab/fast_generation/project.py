"""Grader of the project of this page: a round of speculative decoding that is exact."""

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy import ndarray

from lab.grading import Case, FaultError, Report, grade_by

Verify = Callable[..., Any]
P = np.array([[0.5, 0.3, 0.2], [0.1, 0.6, 0.3], [0.2, 0.2, 0.6]])  # after 0, 1, 2 draft tokens
Q = np.array([[0.2, 0.3, 0.5], [0.4, 0.4, 0.2]])
GRID = (np.arange(40) + 0.5) / 40


def grade(verify: Verify) -> Report:
    """Test an implementation of the rule; its outcomes are enumerated.

    Args:
        verify: ``verify(p, q, drafts, accept, u)`` returns the tokens of a round, for p
            (γ + 1, V), q (γ, V), draft tokens and uniform numbers (γ,), and one number u.

    Returns:
        A report: print it, or read ``passed`` and ``faults``.
    """
    return grade_by(TESTS, verify)


def _tokens(
    verify: Verify, drafts: tuple[int, ...], accept: tuple[float, ...], u: float
) -> list:
    arrays = P[: len(drafts) + 1].copy(), Q[: len(drafts)].copy(), np.array(drafts)
    found = verify(*arrays, np.array(accept), u)
    if not isinstance(found, list) or not 1 <= len(found) <= len(drafts) + 1:
        raise FaultError(
            f"a round gives a list of 1 to {len(drafts) + 1} tokens, not {found!r}."
        )
    return [int(x) for x in found]


def outcome(verify: Verify) -> ndarray:
    """Distribution of the first token, over the draft's draws and a grid of uniform numbers."""
    result = np.zeros(3)
    for x in range(3):
        for a, u in itertools.product(GRID, GRID):
            result[_tokens(verify, (x,), (a,), u)[0]] += Q[0, x] / len(GRID) ** 2
    return result


def _accept(verify: Verify) -> None:
    if _tokens(verify, (0, 1), (0.0, 0.99), 0.9)[1:2] != [1]:
        raise FaultError("p(x) ≥ q(x), and the draft token is refused: it is always accepted.")
    if _tokens(verify, (2,), (0.39,), 0.1)[0] != 2:
        raise FaultError("p/q = 0.4 and the number 0.39: the draft token is accepted.")
    if _tokens(verify, (2,), (0.41,), 0.1)[0] == 2:
        raise FaultError("p/q = 0.4 and the number 0.41: the draft token is refused.")


def _stop(verify: Verify) -> None:
    found = _tokens(verify, (2, 1), (0.9, 0.0), 0.1)
    if len(found) != 1:
        raise FaultError(f"after a refusal the round ends; yours goes on and gives {found}.")


def _free(verify: Verify) -> None:
    found = _tokens(verify, (0, 1), (0.0, 0.0), 0.7)
    if found == [0, 1]:
        raise FaultError("if all are accepted, one more token comes from the last row of p.")
    if found != [0, 1, 2]:
        raise FaultError(
            f"both are accepted and u = 0.7 draws token 2 of p[2]; yours: {found}."
        )


def _exact(verify: Verify) -> None:
    found = outcome(verify)
    if np.abs(found - P[0]).max() < 0.02:
        return
    alpha = np.minimum(P[0], Q[0]).sum()
    mistakes = {
        "a refused token becomes a draw from the target; it must come from the residual.":
            np.minimum(P[0], Q[0]) + (1 - alpha) * P[0],
        "a refused token is replaced by a draw from the draft's distribution.":
            np.minimum(P[0], Q[0]) + (1 - alpha) * Q[0],
    }  # fmt: skip
    for sentence, law in mistakes.items():
        if np.abs(found - law).max() < 0.02:
            raise FaultError(sentence)
    raise FaultError(f"the first token has the distribution {found.round(2)}, not {P[0]}.")


def _second(verify: Verify) -> None:
    found, weight = np.zeros(3), 0.0
    for x in range(3):
        for a, u in itertools.product(GRID, GRID):
            tokens = _tokens(verify, (0, x), (0.0, a), u)  # the first one is accepted
            found[tokens[1]] += Q[1, x] / len(GRID) ** 2
            weight += Q[1, x] / len(GRID) ** 2
    if np.abs(found / weight - P[1]).max() > 0.02:
        raise FaultError(
            f"the second token has the distribution {found.round(2)}, not {P[1]}: at draft "
            "token i everything is that of row i."
        )


ACCEPT = "accepting"
TESTS = (
    Case(ACCEPT, _accept),
    Case("the first refusal ends a round", _stop, (ACCEPT,)),
    Case("a free token", _free, (ACCEPT,)),
    Case("the distribution of a token", _exact, (ACCEPT,)),
    Case("the next token", _second, ("the distribution of a token",)),
)
