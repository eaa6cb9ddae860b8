"""Grader of the project of this page: which conventions does an unlabelled checkpoint use?"""

import itertools
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy import ndarray

CHOICES: dict[str, tuple[str, str]] = {
    "layout": ("out_in", "in_out"),
    "pairs": ("half_split", "interleaved"),
    "gelu": ("exact", "tanh"),
    "variance": ("n", "n-1"),
}
PHRASES = {
    "layout": "how its weights lie",
    "pairs": "which features its rotary embedding pairs",
    "gelu": "which GELU it uses",
    "variance": "what its norm divides the squares by",
}
T, K = 6, 8


@dataclass(frozen=True, eq=False)
class Checkpoint:
    """A model of one block, without a word on its conventions.

    Args:
        weights: ``W_q``, ``W_k``, ``W_v``, ``W_o``, each (8, 8).
        x: An input, (6, 8).
        y: The output of the model for it, (6, 8), in float32.
    """

    weights: Mapping[str, ndarray]
    x: ndarray
    y: ndarray


def answers() -> list[dict[str, str]]:
    """The sixteen combinations of conventions."""
    return [dict(zip(CHOICES, c, strict=True)) for c in itertools.product(*CHOICES.values())]


def checkpoint(conventions: Mapping[str, str], seed: int) -> Checkpoint:
    """A random model that was made with these conventions, and one output of it."""
    from .project_solution import forward

    rng = np.random.default_rng(seed)
    weights = {n: rng.normal(size=(K, K)) / K**0.5 for n in ("W_q", "W_k", "W_v", "W_o")}
    x = rng.normal(size=(T, K))
    return Checkpoint(weights, x, forward(weights, x, **conventions).astype(np.float32))


@dataclass(frozen=True)
class Report:
    """What the grader found.

    Args:
        right: Checkpoints whose conventions were all named.
        tried: Checkpoints.
        faults: A sentence for each kind of mistake.
    """

    right: int
    tried: int
    faults: tuple[str, ...]

    @property
    def passed(self) -> bool:
        """Whether all conventions of all checkpoints were named."""
        return self.right == self.tried and not self.faults

    def __repr__(self) -> str:
        """A line for each mistake, and the count."""
        lines = [f"✗ {fault}" for fault in self.faults]
        sign = "✓" if self.passed else "·"
        end = f"{sign} {self.right} of {self.tried} checkpoints identified"
        return "\n".join([*lines, end])


def grade(identify: Callable[[Checkpoint], Mapping[str, str]]) -> Report:
    """Give a reader's function two checkpoints of each of the sixteen kinds.

    Args:
        identify: From a checkpoint to its conventions: for each of ``CHOICES`` one of the two
            names.

    Returns:
        A report: print it, or read ``passed`` and ``faults``.
    """
    tried = [(kind, checkpoint(kind, seed)) for seed in (0, 1) for kind in answers()]
    confused: dict[tuple[str, str], int] = {}
    right = 0
    for kind, given in tried:
        found, fault = _answer(identify, given)
        if fault is not None:
            return Report(right, len(tried), (fault,))
        wrong = [name for name in CHOICES if found[name] != kind[name]]
        right += not wrong
        for name in wrong:
            confused[name, kind[name]] = confused.get((name, kind[name]), 0) + 1
    return Report(right, len(tried), tuple(_sentence(*c) for c in confused.items()))


def _sentence(place: tuple[str, str], times: int) -> str:
    name, truth = place
    other = CHOICES[name][1 - CHOICES[name].index(truth)]
    return (
        f"{PHRASES[name]}: for {times} of 16 checkpoints with {truth!r} your function says "
        f"{other!r}."
    )


def _answer(identify: Callable, given: Checkpoint) -> tuple[dict, str | None]:
    """The reader's answer, or a sentence on what is wrong with its form."""
    before = [np.copy(a) for a in (given.x, given.y, *given.weights.values())]
    try:
        found = identify(given)
    except NotImplementedError:
        return {}, "this function is not written yet."
    except Exception as error:  # whatever the reader's code may raise
        return {}, f"your code raised {type(error).__name__}: {error}"
    after = (given.x, given.y, *given.weights.values())
    if not all(np.array_equal(a, b) for a, b in zip(before, after, strict=True)):
        return {}, "your code changes the checkpoint in place."
    return _form(found)


def _form(found: Any) -> tuple[dict, str | None]:
    if not isinstance(found, Mapping) or set(found) != set(CHOICES):
        return {}, f"identify must return a dict with the keys {', '.join(CHOICES)}."
    for name, names in CHOICES.items():
        if found[name] not in names:
            return {}, f"{name} is {found[name]!r}; it must be one of {', '.join(names)}."
    return dict(found), None


__all__ = ["CHOICES", "Checkpoint", "Report", "answers", "checkpoint", "grade"]
