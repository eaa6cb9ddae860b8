"""The project of chapter 5: tests of a reader's scalar autodiff and of the network it trains.

from lab.neural_networks.project import grade
grade(Value)          # part 1
grade(Value, fit)     # part 1 and part 2
"""

import math
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

TOLERANCE = 1e-5
INPUTS = [[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]]
AND, XOR = [0, 0, 0, 1], [0, 1, 1, 0]
STARTS = 3


@dataclass(frozen=True)
class Report:
    """What the tests found: a sentence for each fault, how many tests ran, how many failed."""

    faults: tuple[str, ...]
    tests: int
    failed: int
    missing: str = ""

    @property
    def passed(self) -> bool:
        """Whether no test failed."""
        return not self.failed

    def __str__(self) -> str:
        head = f"{self.tests - self.failed} of {self.tests} tests passed."
        if len(self.faults) < self.failed:
            head += f" The other {self.failed} wait for what these sentences name:"
        return "\n".join([head, *(f"✗ {fault}" for fault in self.faults), self.missing]).strip()

    __repr__ = __str__


def grade(value: type, fit: Callable | None = None) -> Report:
    """Run the tests of the project on a reader's own automatic differentiation.

    Args:
        value: The class ``Value``: ``Value(3.0)`` with ``data``, ``grad``, the operations
            ``+ - *`` with values and numbers on either side, ``relu()``, ``exp()``, ``log()``
            and ``backward()``.
        fit: ``fit(inputs, targets, seed)`` trains a two-layer network with ``Value`` and
            returns a function that gives the probability of a 1 for an input. None = part 1.

    Returns:
        A report that prints itself.
    """
    tests: list[Callable[[], str | None]] = [
        lambda: _holds_a_number(value),
        lambda: _computes(value),
        lambda: _takes_numbers(value),
        *(lambda name=name: _slope(value, name) for name in SLOPES),
        lambda: _adds_up(value),
        lambda: _waits(value),
        lambda: _random_expressions(value),
        lambda: _long_chain(value),
    ]
    if fit is None:
        missing = "Part 2 was not tested: call grade(Value, fit)."
        return _report(tests, missing)
    tests += [lambda: _uses_backward(value, fit), lambda: _repeats(fit)]
    tests += [lambda: _learns_and(fit), lambda: _learns_xor(fit)]
    return _report(tests)


def _report(tests: Sequence[Callable[[], str | None]], missing: str = "") -> Report:
    found = [fault for fault in map(_sentence, tests) if fault]
    return Report(tuple(dict.fromkeys(found)), len(tests), len(found), missing)


def _sentence(test: Callable[[], str | None]) -> str | None:
    """The fault that a test found, or what was raised on the way."""
    try:
        return test()
    except RecursionError:
        return (
            "A chain of 3000 additions ended in a RecursionError: collect the values with a "
            "list and a loop instead of a function that calls itself."
        )
    except NotImplementedError:
        return "Something is still missing: a method raised NotImplementedError."
    except Exception as error:
        return f"Your code raised {type(error).__name__}: {error}."


# --- part 1: values ---------------------------------------------------------------------------


def _holds_a_number(value: type) -> str | None:
    a = value(3.0)
    for name, expected in (("data", 3.0), ("grad", 0.0)):
        found = getattr(a, name, "nothing")
        if found != expected:
            return f"Value(3.0).{name} is {found}, expected {expected}."
    return None


def _computes(value: type) -> str | None:
    a, b = value(2.0), value(-3.0)
    cases = {
        "Value(2) * Value(-3) + Value(2)": (a * b + a, -4.0),
        "Value(2) - Value(-3)": (a - b, 5.0),
        "-Value(2)": (-a, -2.0),
        "Value(-3).relu()": (b.relu(), 0.0),
        "Value(2).relu()": (a.relu(), 2.0),
        "Value(2).exp()": (a.exp(), math.exp(2)),
        "Value(2).log()": (a.log(), math.log(2)),
    }
    for text, (result, expected) in cases.items():
        if not math.isclose(result.data, expected):
            return f"{text} has data {result.data:g}, expected {expected:g}."
    return None


def _takes_numbers(value: type) -> str | None:
    cases = {
        "a + 1": (lambda a: a + 1, 3.0),
        "1 + a": (lambda a: 1 + a, 3.0),
        "a - 5": (lambda a: a - 5, -3.0),
        "5 - a": (lambda a: 5 - a, 3.0),
        "a * 4": (lambda a: a * 4, 8.0),
        "4 * a": (lambda a: 4 * a, 8.0),
    }
    for text, (operation, expected) in cases.items():
        try:
            found = operation(value(2.0)).data
        except (TypeError, AttributeError):
            return (
                f"{text} does not work for a = Value(2): wrap plain numbers in Value, and "
                "define __radd__, __rsub__ and __rmul__ for a number on the left."
            )
        if found != expected:
            return f"{text} has data {found:g} for a = Value(2), expected {expected:g}."
    return None


SLOPES: dict[str, tuple[Callable, tuple[float, ...]]] = {
    "a + b": (lambda a, b: a + b, (2.0, -3.0)),
    "a - b": (lambda a, b: a - b, (2.0, -3.0)),
    "a * b": (lambda a, b: a * b, (2.0, -3.0)),
    "-a": (lambda a: -a, (2.0,)),
    "a.exp()": (lambda a: a.exp(), (0.5,)),
    "a.log()": (lambda a: a.log(), (0.5,)),
    "a.relu()": (lambda a: a.relu(), (2.0,)),
    "a.relu() of a negative number": (lambda a: a.relu(), (-2.0,)),
}


def _slope(value: type, name: str) -> str | None:
    function, point = SLOPES[name]
    found, expected = _slopes(value, function, point)
    where = ", ".join(f"{n} = {x:g}" for n, x in zip("ab", point, strict=False))
    for letter, f, e in zip("ab", found, expected, strict=False):
        if not math.isclose(f, e, abs_tol=TOLERANCE):
            return (
                f"The slope of {name} in {letter} at {where} is {f:g} by backward() and {e:g} "
                "by central differences: look at the local slope of that operation."
            )
    return None


def _slopes(
    value: type, function: Callable, point: Sequence[float]
) -> tuple[list[float], list[float]]:
    """Slopes by backward, and by central differences of the data."""
    leaves = [value(x) for x in point]
    function(*leaves).backward()
    expected, h = [], 1e-6
    for i in range(len(point)):
        ends = []
        for step in (h, -h):
            moved = [x + step * (i == k) for k, x in enumerate(point)]
            ends.append(function(*map(value, moved)).data)
        expected.append((ends[0] - ends[1]) / (2 * h))
    return [float(leaf.grad) for leaf in leaves], expected


def _adds_up(value: type) -> str | None:
    a = value(3.0)
    (a * a + a).backward()
    if math.isclose(a.grad, 7.0):
        return None
    return (
        f"The slope of a * a + a at a = 3 is {a.grad:g} by backward(), expected 7: a value "
        "that is used more than once must add up what comes back along every path (+=, not =)."
    )


def _waits(value: type) -> str | None:
    a = value(1.0)
    end = a
    for _ in range(3):
        end = end + end
    end.backward()
    if math.isclose(a.grad, 8.0):
        return None
    return (
        f"Doubling three times by x + x gives the slope {a.grad:g}, expected 8: a value may "
        "pass its gradient on only when all of it has arrived, and only once. Visit the values "
        "in reverse topological order: every value after all that were made of it."
    )


def _random_expressions(value: type) -> str | None:
    rng = random.Random(0)
    for _ in range(5):
        choices = [rng.random() for _ in range(12)]
        point = [rng.uniform(0.5, 1.5) for _ in range(2)]
        found, expected = _slopes(value, lambda a, b, c=choices: _expression(a, b, c), point)
        if not all(
            math.isclose(f, e, rel_tol=1e-4, abs_tol=1e-4)
            for f, e in zip(found, expected, strict=True)
        ):
            return (
                f"An expression of a dozen operations has the slopes {found} by backward() and "
                f"{expected} by central differences: each operation may be right and their "
                "order in backward() wrong."
            )
    return None


def _expression(a: Any, b: Any, choices: Sequence[float]) -> Any:
    values = [a, b]
    for i, u in enumerate(choices):
        left, right = values[int(u * 1e6) % len(values)], values[-1]
        values.append(
            (left * right * 0.5, left + right, (right - left).relu(), (left * -0.3).exp())[
                i % 4
            ]
        )
    return values[-1] + values[-2] * values[-3]


def _long_chain(value: type) -> str | None:
    a = value(1.0)
    end = a
    for _ in range(3000):
        end = end + 0.5
    end.backward()
    if a.grad == 1:
        return None
    return f"After 3000 additions of a number the slope is {a.grad:g}, expected 1."


# --- part 2: a network ------------------------------------------------------------------------


def _uses_backward(value: type, fit: Callable) -> str | None:
    calls, usual = [], value.backward  # type: ignore[attr-defined]

    def counted(self: Any) -> Any:
        calls.append(1)
        return usual(self)

    value.backward = counted  # type: ignore[attr-defined]
    try:
        predict = fit(INPUTS, AND, 0)
    finally:
        value.backward = usual  # type: ignore[attr-defined]
    if not callable(predict):
        return f"fit returned {predict!r}; it must return a function of an input."
    if not calls:
        return "fit never called backward(): train with the gradients of your own Value."
    p = predict(INPUTS[0])
    if not isinstance(p, int | float) or not 0 <= p <= 1:
        return f"predict([0, 0]) is {p!r}; it must be a probability, a float from 0 to 1."
    return None


def _repeats(fit: Callable) -> str | None:
    first, second = ([fit(INPUTS, XOR, 0)(x) for x in INPUTS] for _ in range(2))
    if first == second:
        return None
    return "Two runs with seed 0 differ: draw every number from random.Random(seed)."


def _learns_and(fit: Callable) -> str | None:
    predict = fit(INPUTS, AND, 1)
    found = [round(predict(x), 2) for x in INPUTS]
    if [p > 0.5 for p in found] == [bool(y) for y in AND]:
        return None
    return (
        f"After fit on AND the probabilities are {found} for the targets {AND}. A line "
        "separates these: look at the sign of the update, at the loss, and whether every grad "
        "is set back to 0 before backward()."
    )


def _learns_xor(fit: Callable) -> str | None:
    right = 0
    for seed in range(STARTS):
        predict = fit(INPUTS, XOR, seed)
        right += all((predict(x) > 0.5) == bool(y) for x, y in zip(INPUTS, XOR, strict=True))
    if right >= STARTS - 1:
        return None
    return (
        f"Of {STARTS} starts, {right} learn XOR. If AND is learned, gradients are right and "
        "starts get stuck: use more hidden units, or more steps."
    )


__all__ = ["Report", "grade"]
