"""Grader of the project of this page: the gated delta rule in chunks."""

import tracemalloc
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy import ndarray

from lab.grading import Case, FaultError, Report, advice_on_shapes, grade_by

Rule = Callable[..., Any]
Arrays = tuple[ndarray, ...]
LONG = 1536  # tokens of the test of memory
ON_SHAPES = advice_on_shapes(
    "Within a chunk of C tokens the matrices of keys are (C, C), U is (C, P) and the state "
    "(N, P); β and the decays are columns (C, 1) when they multiply rows."
)


def grade(rule: Rule) -> Report:
    """Test an implementation of the gated delta rule in chunks.

    What it returns is compared with the recurrence, and with what common mistakes give, so that
    the report can name the mistake. Memory is measured.

    Args:
        rule: ``rule(q, k, v, beta, log_decay, chunk, state)`` returns y (T, P) and the last
            state (N, P), for q and k (T, N), v (T, P), beta and log_decay (T).

    Returns:
        A report: print it, or read ``passed`` and ``faults``.
    """
    return grade_by(TESTS, rule, advice=ON_SHAPES)


def draw(T: int = 6, N: int = 4, P: int = 3, forget: float = 0.0) -> Arrays:
    """q, k of length 1, v, β, log α of up to ``forget``, and the state 0."""
    rng = np.random.default_rng(0)
    q, k = rng.normal(size=(2, T, N))
    k = k / np.linalg.norm(k, axis=1, keepdims=True)
    v, beta = rng.normal(size=(T, P)), rng.uniform(0.2, 1.0, size=T)
    return q, k, v, beta, -forget * rng.uniform(size=T), np.zeros((N, P))


def recurrence(
    args: Arrays, *, plain: bool = False, beta: bool = True, late: bool = False,
    before: bool = True, reset: int | None = None,
) -> Arrays:  # fmt: skip
    """Y and the last state, token by token, or with one thing changed.

    Args:
        args: As of :func:`draw`.
        plain: Write v, not the error.
        beta: Whether the error is multiplied by β.
        late: Read the state before the token is written.
        before: Whether the state decays before the error is taken.
        reset: Start from 0 again after so many tokens.
    """
    q, k, v, share, log_decay, state = args
    y, alpha = np.zeros_like(v), np.exp(log_decay)
    for t in range(len(q)):
        if reset and t and t % reset == 0:
            state = np.zeros_like(state)
        said = k[t] @ (alpha[t] * state if before else state)
        error = v[t] if plain else v[t] - said
        new = alpha[t] * state + np.outer(k[t], (share[t] if beta else 1.0) * error)
        y[t] = q[t] @ (state if late else new)
        state = new
    return y, state


def _found(rule: Rule, args: Arrays, chunk: int) -> Arrays:
    """Y and the state, once their form is right and the arguments are untouched."""
    *inputs, state = args
    copies = [x.copy() for x in args]
    found = rule(*inputs, chunk, state)
    if not isinstance(found, tuple) or len(found) != 2:
        raise FaultError(f"return the pair (y, state), not {type(found).__name__}.")
    for name, x, old in zip(NAMES, args, copies, strict=True):
        if not np.array_equal(x, old):
            raise FaultError(f"your code changes its argument {name} in place.")
    for name, x, shape in zip(("y", "state"), found, (args[2].shape, state.shape), strict=True):
        if np.shape(x) != shape:
            raise FaultError(f"{name} has shape {np.shape(x)}; it must have {shape}.")
    return np.asarray(found[0]), np.asarray(found[1])


def _compare(rule: Rule, args: Arrays, chunk: int, mistakes: Mapping[str, dict]) -> None:
    """Say which mistake gives what was found, or how far it is from what is right."""
    y, state = _found(rule, args, chunk)
    if not (np.isfinite(y).all() and np.isfinite(state).all()):
        raise FaultError(
            "some numbers are NaN or infinite: a ratio of decays overflows; take the "
            "exponential of a difference of logarithms, masked to -∞ before it."
        )
    right, last = recurrence(args)
    good = [np.allclose(a, b, rtol=1e-8, atol=1e-10) for a, b in ((y, right), (state, last))]
    if all(good):
        return
    for sentence, change in mistakes.items():
        if np.allclose(y, recurrence(args, **change)[0], rtol=1e-8, atol=1e-10) and not good[0]:
            raise FaultError(sentence)
    if good[0]:
        raise FaultError(
            "y is right and the last state is not: U of token j is worth γ_C/γ_j at the end "
            "of its chunk, and the state before the chunk γ_C."
        )
    raise FaultError(f"y is off by up to {np.abs(y - right).max():.2g}.")


def _one(rule: Rule) -> None:
    mistakes = {
        "each token writes its value, as if nothing were there: solve the system for U.": (
            {"plain": True}
        ),
        "β is left out: it multiplies the rows of the system and of its right side.": (
            {"beta": False}
        ),
        "a token does not read what it writes itself: the mask of Q Kᵀ includes the diagonal, "
        "that of the system does not.": {"late": True},
    }
    _compare(rule, draw(), 6, mistakes)


def _several(rule: Rule) -> None:
    mistakes = {
        "every chunk starts from 0: hand the state of the last chunk on.": {"reset": 2},
    }
    _compare(rule, draw(), 2, mistakes)


def _rest(rule: Rule) -> None:
    _compare(rule, draw(T=7), 3, {})


def _decay(rule: Rule) -> None:
    mistakes = {
        "the error is taken before the state decays; token t reads α_t M_{t-1}.": (
            {"before": False}
        ),
        "β is left out: it multiplies the rows of the system and of its right side.": (
            {"beta": False}
        ),
    }
    args = draw(forget=1.0)
    y, _ = _found(rule, args, 6)
    still = (*args[:4], 0 * args[4], args[5])
    if np.allclose(y, recurrence(still)[0]):
        raise FaultError("nothing decays: log_decay is not used.")
    _compare(rule, args, 6, mistakes)
    _compare(rule, args, 2, mistakes)


def _first(rule: Rule) -> None:
    args = draw(forget=1.0)
    state = np.random.default_rng(1).normal(size=args[5].shape)
    y, _ = _found(rule, (*args[:5], state), 3)
    if np.allclose(y, recurrence(args)[0]):
        raise FaultError("the first state is not used.")
    _compare(rule, (*args[:5], state), 3, {})


def _strong(rule: Rule) -> None:
    _compare(rule, draw(T=8, forget=900.0), 8, {})


def _memory(rule: Rule) -> None:
    args = draw(T=LONG)
    tracemalloc.start()
    try:
        rule(*args[:5], 32, args[5])
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    if peak > LONG**2:
        raise FaultError(
            f"{LONG} tokens need {peak / 2**20:.1f} MiB: a matrix with an entry for each pair "
            "of tokens is made; only pairs within a chunk are needed."
        )


NAMES = ("q", "k", "v", "beta", "log_decay", "state")
ONE, SEVERAL, DECAY = "one chunk", "three chunks", "decay"
TESTS = (
    Case(ONE, _one),
    Case(SEVERAL, _several, (ONE,)),
    Case("a shorter last chunk", _rest, (SEVERAL,)),
    Case(DECAY, _decay, (SEVERAL,)),
    Case("a state before the first token", _first, (DECAY,)),
    Case("strong decay", _strong, (DECAY,)),
    Case("memory", _memory, (SEVERAL,)),
)
