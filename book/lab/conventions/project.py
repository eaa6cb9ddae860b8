"""Grader of the project of this page: which conventions does an unlabelled checkpoint use?"""

import itertools
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy import ndarray

from lab.grading import Case, FaultError, Report, grade_by

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


def grade(identify: Callable[[Checkpoint], Mapping[str, str]]) -> Report:
    """Give a reader's function two checkpoints of each of the sixteen kinds.

    Args:
        identify: From a checkpoint to its conventions: for each of ``CHOICES`` one of the two
            names.

    Returns:
        A report: print it, or read ``passed`` and ``faults``.
    """
    kinds = 2 * answers()
    given = [checkpoint(kind, seed=i // 16) for i, kind in enumerate(kinds)]
    named: list[dict] = []  # filled by the first test, read by the others
    tests = [
        Case(FORM, lambda identify: named.extend(_answer(identify, one) for one in given)),
        *(
            Case(PHRASES[n], lambda _, n=n: _confused(n, kinds, named), (FORM,))
            for n in CHOICES
        ),
    ]
    report = grade_by(tests, identify)
    right = sum(a == b for a, b in zip(kinds, named, strict=False))
    return Report(report.results, f"{right} of {len(kinds)} checkpoints identified")


FORM = "a dict of four names"


def _answer(identify: Callable, given: Checkpoint) -> dict:
    """The reader's answer, once its form is right and the checkpoint is untouched."""
    before = [np.copy(a) for a in (given.x, given.y, *given.weights.values())]
    found: Any = identify(given)
    after = (given.x, given.y, *given.weights.values())
    if not all(np.array_equal(a, b) for a, b in zip(before, after, strict=True)):
        raise FaultError("your code changes the checkpoint in place.")
    if not isinstance(found, Mapping) or set(found) != set(CHOICES):
        raise FaultError(f"identify must return a dict with the keys {', '.join(CHOICES)}.")
    for name, names in CHOICES.items():
        if found[name] not in names:
            raise FaultError(
                f"{name} is {found[name]!r}; it must be one of {', '.join(names)}."
            )
    return dict(found)


def _confused(name: str, kinds: list[dict[str, str]], named: list[dict]) -> str | None:
    """How often each answer to one question is taken for the other."""
    faults = []
    for truth, other in itertools.permutations(CHOICES[name]):
        pairs = zip(kinds, named, strict=True)
        times = sum(kind[name] == truth and said[name] == other for kind, said in pairs)
        if times:
            faults.append(
                f"for {times} of 16 checkpoints with {truth!r} your function says {other!r}."
            )
    return " ".join(faults) or None


__all__ = ["CHOICES", "Checkpoint", "Report", "answers", "checkpoint", "grade"]
