"""Grader of the project of this page: hide, score and commit, for one sequence in NumPy."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy import ndarray

from lab.grading import Case, FaultError, Report, advice_on_shapes, grade_by

from . import project_solution

Function = Callable[..., Any]
T, V = 5, 4
ON_SHAPES = advice_on_shapes("logits and p are (T, V), x and hidden are (T,).")


def grade(hide: Function, loss: Function, choose: Function) -> Report:
    """Test the three parts of a masked diffusion model.

    Args:
        hide: ``hide(x, k, rng)`` returns booleans (T,), True at k places, every set equally
            likely.
        loss: ``loss(logits, x, hidden)`` returns the term of the bound of this set [nats] and
            its gradient in the logits (T, V).
        choose: ``choose(p, hidden, passes)`` returns booleans (T,): which hidden places the
            next of so many passes commits, those whose likeliest token is likeliest.

    Returns:
        A report: print it, or read ``passed`` and ``faults``.
    """
    return grade_by(TESTS, hide, loss, choose, advice=ON_SHAPES)


def drawn() -> tuple[ndarray, ndarray, ndarray]:
    """Logits, a text and two hidden places."""
    rng = np.random.default_rng(0)
    return rng.normal(size=(T, V)), rng.integers(0, V, T), np.arange(T) % 3 == 1


def _places(found: Any, name: str, length: int = T) -> ndarray:
    found = np.asarray(found)
    if found.dtype != bool or found.shape != (length,):
        raise FaultError(f"{name} must return booleans of shape ({length},), got {found.dtype} "
                         f"{found.shape}.")  # fmt: skip
    return found


def _hidden_number(hide: Function, *_: Function) -> None:
    for k in (1, 3, T):
        number = int(_places(hide(np.zeros(T, int), k, np.random.default_rng(k)), "hide").sum())
        if number != k:
            raise FaultError(f"of {T} places {number} are hidden where k = {k} was asked for.")


def _hidden_evenly(hide: Function, *_: Function) -> None:
    rng, n = np.random.default_rng(0), 3000
    sets = np.array([hide(np.zeros(T, int), 2, rng) for _ in range(n)])
    shares = sets.mean(0)
    if np.abs(shares - 2 / T).max() > 5 * np.sqrt(0.24 / n):
        raise FaultError(
            f"the places are hidden with the shares {shares.round(2).tolist()}; each must be "
            f"hidden in {2 / T} of the cases."
        )
    together = (sets[:, :-1] & sets[:, 1:]).mean(0)
    if np.abs(together - 0.1).max() > 5 * np.sqrt(0.09 / n):
        raise FaultError("neighboring places are hidden together too often or too rarely.")


def _pair(loss: Function) -> tuple[float, ndarray]:
    found = loss(*drawn())
    if not isinstance(found, tuple) or len(found) != 2:
        raise FaultError("loss must return the pair (loss, gradient).")
    value, gradient = float(found[0]), np.asarray(found[1])
    if gradient.shape != (T, V):
        raise FaultError(f"the gradient has shape {gradient.shape}, it must be ({T}, {V}).")
    return value, gradient


def _value(_: Function, loss: Function, *__: Function) -> None:
    logits, x, hidden = drawn()
    value, right = _pair(loss)[0], project_solution.loss(logits, x, hidden)[0]
    k = int(hidden.sum())
    everywhere = project_solution.loss(logits, x, np.ones(T, bool))[0]
    mistakes = {
        "the cross-entropies are added without the weight T/k.": right * k / T,
        "the cross-entropies are divided by k only; the factor T is missing.": right / T,
        "visible places count as well; only hidden ones have a loss.": everywhere,
        "visible places count as well, with the weight T/k.": everywhere * T / k,
        "the visible places are scored instead of the hidden ones.": (
            (everywhere - right * k / T) * T / k
        ),
        "the sign is wrong: the loss is minus a log-probability.": -right,
        "the loss is in bits; use the natural logarithm.": right / np.log(2),
    }
    _name(value, right, mistakes, "the loss")


def _gradient(_: Function, loss: Function, *__: Function) -> None:
    logits, x, hidden = drawn()
    gradient, right = _pair(loss)[1], project_solution.loss(logits, x, hidden)[1]
    k = int(hidden.sum())
    p = np.exp(logits) / np.exp(logits).sum(-1, keepdims=True)
    mistakes = {
        "the gradient lacks the weight T/k.": right * k / T,
        "the gradient has the wrong sign: softmax minus one-hot.": -right,
        "the one-hot vector of the right token is missing in the gradient.": (
            T / k * hidden[:, None] * p
        ),
        "visible places have a gradient; theirs is 0.": (
            T / k * (p - (np.arange(V) == x[:, None]))
        ),
    }
    _name(gradient, right, mistakes, "the gradient")


def _name(found: Any, right: Any, mistakes: dict[str, Any], name: str) -> None:
    """Say which mistake gives what was found, if it is not right."""
    if np.allclose(found, right, rtol=1e-8, atol=1e-10):
        return
    for sentence, wrong in mistakes.items():
        if np.allclose(found, wrong, rtol=1e-8, atol=1e-10):
            raise FaultError(sentence)
    raise FaultError(f"{name} is {np.round(found, 4)}, it must be {np.round(right, 4)}.")


def _large(_: Function, loss: Function, *__: Function) -> None:
    logits, x, hidden = drawn()
    value, gradient = loss(2000 * logits, x, hidden)
    if not (np.isfinite(value) and np.isfinite(gradient).all()):
        raise FaultError(
            "logits of some thousands overflow: subtract the largest before the exponential."
        )


def _share(_: Function, __: Function, choose: Function) -> None:
    p = np.random.default_rng(1).dirichlet(np.ones(V), 8)
    hidden = np.arange(8) != 2
    for passes, wanted in ((1, 7), (2, 4), (3, 3), (7, 1), (20, 1)):
        chosen = _places(choose(p, hidden, passes), "choose", 8)
        if (chosen & ~hidden).any():
            raise FaultError("a visible place is chosen; it would be overwritten.")
        if int(chosen.sum()) != wanted:
            raise FaultError(
                f"with 7 hidden places and {passes} passes left, {int(chosen.sum())} are "
                f"chosen; it must be 7/{passes} rounded up, {wanted}."
            )


def _surest(_: Function, __: Function, choose: Function) -> None:
    p = np.random.default_rng(1).dirichlet(np.ones(V), 8)
    hidden = np.arange(8) != int(p.max(-1).argmax())  # the surest place is visible
    chosen = np.asarray(choose(p, hidden, 3))
    right = project_solution.choose(p, hidden, 3)
    if not np.array_equal(chosen, right):
        least = project_solution.choose(1 - p.max(-1, keepdims=True), hidden, 3)
        why = (
            "the least certain places are chosen first."
            if np.array_equal(chosen, least)
            else "the places chosen are not those whose likeliest token is likeliest."
        )
        raise FaultError(why)


NUMBER, VALUE, SHARE = "hide: as many as asked for", "loss: value", "choose: how many"
TESTS = (
    Case(NUMBER, _hidden_number),
    Case("hide: every set equally likely", _hidden_evenly, (NUMBER,)),
    Case(VALUE, _value),
    Case("loss: gradient", _gradient, (VALUE,)),
    Case("loss: large logits", _large, (VALUE,)),
    Case(SHARE, _share),
    Case("choose: the surest first", _surest, (SHARE,)),
)
