"""The project of chapter 5: tests of a reader's scalar autodiff and of the network it trains.

from lab.neural_networks.project import grade
grade(Value)          # part 1
grade(Value, fit)     # part 1 and part 2
"""

import math
import random
from collections.abc import Callable, Sequence
from typing import Any

from lab.grading import Case, FaultError, Report, grade_by

TOLERANCE = 1e-5
INPUTS = [[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]]
AND, XOR = [0, 0, 0, 1], [0, 1, 1, 0]
STARTS = 3


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
    note = "" if fit else "Part 2 was not tested: call grade(Value, fit)."
    tests = PART_1 if fit is None else (*PART_1, *PART_2)
    return grade_by(tests, value, fit, advice=_advice, note=note)


def _advice(error: Exception) -> str:
    """What usually raises such an error in this project."""
    if isinstance(error, RecursionError):
        return (
            "Collect the values with a list and a loop, not a function that calls itself: "
            "the chain has 3000 additions."
        )
    if isinstance(error, OverflowError):
        return (
            "The numbers grew without bound. Is every grad set back to 0 before backward(), "
            "and is the update subtracted? exp of a large number overflows too: give it minus "
            "the absolute value."
        )
    return ""


def _require(fits: bool, sentence: str) -> None:
    if not fits:
        raise FaultError(sentence)


# --- part 1: values ---------------------------------------------------------------------------


def _holds_a_number(value: type, _: Any) -> None:
    a = value(3.0)
    for name, expected in (("data", 3.0), ("grad", 0.0)):
        found = getattr(a, name, "nothing")
        if found != expected:
            raise FaultError(f"Value(3.0).{name} is {found}, expected {expected}.")


def _computes(value: type, _: Any) -> None:
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
            raise FaultError(f"{text} has data {result.data:g}, expected {expected:g}.")


def _takes_numbers(value: type, _: Any) -> None:
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
            raise FaultError(
                f"{text} does not work for a = Value(2): wrap plain numbers in Value, and "
                "define __radd__, __rsub__ and __rmul__ for a number on the left."
            ) from None
        if found != expected:
            raise FaultError(
                f"{text} has data {found:g} for a = Value(2), expected {expected:g}."
            )


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


def _slope(value: type, name: str) -> None:
    function, point = SLOPES[name]
    found, expected = _slopes(value, function, point)
    where = ", ".join(f"{n} = {x:g}" for n, x in zip("ab", point, strict=False))
    for letter, f, e in zip("ab", found, expected, strict=False):
        if not math.isclose(f, e, abs_tol=TOLERANCE):
            raise FaultError(
                f"The slope of {name} in {letter} at {where} is {f:g} by backward() and {e:g} "
                "by central differences: look at the local slope of that operation."
            )


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


def _adds_up(value: type, _: Any) -> None:
    a = value(3.0)
    (a * a + a).backward()
    _require(
        math.isclose(a.grad, 7.0),
        f"The slope of a * a + a at a = 3 is {a.grad:g} by backward(), expected 7: a value "
        "that is used more than once must add up what comes back along every path (+=, not =).",
    )


def _keeps(value: type, _: Any) -> None:
    a = value(3.0)
    (a * a).backward()
    (a * 2).backward()
    _require(
        math.isclose(a.grad, 8.0),
        f"After (a * a).backward() and (a * 2).backward() at a = 3 the grad of a is "
        f"{a.grad:g}, expected 6 + 2 = 8: backward() adds to grad, so that several losses can "
        "share a value. Whoever trains sets grad back to 0.",
    )
    y = a * 2
    y.backward()
    _require(
        math.isclose(y.grad, 1.0),
        f"After y.backward() the grad of y itself is {y.grad:g}, expected 1 (its own slope).",
    )


def _waits(value: type, _: Any) -> None:
    a = value(1.0)
    end = a
    for _step in range(3):
        end = end + end
    end.backward()
    _require(
        math.isclose(a.grad, 8.0),
        f"Doubling three times by x + x gives the slope {a.grad:g}, expected 8: a value may "
        "pass its gradient on only when all of it has arrived, and only once. Visit the values "
        "in reverse topological order: every value after all that were made of it.",
    )


def _random_expressions(value: type, _: Any) -> None:
    rng = random.Random(0)
    for _draw in range(5):
        choices = [rng.random() for _ in range(12)]
        point = [rng.uniform(0.5, 1.5) for _ in range(2)]
        found, expected = _slopes(value, lambda a, b, c=choices: _expression(a, b, c), point)
        if not all(
            math.isclose(f, e, rel_tol=1e-4, abs_tol=1e-4)
            for f, e in zip(found, expected, strict=True)
        ):
            raise FaultError(
                f"An expression of a dozen operations has the slopes {found} by backward() and "
                f"{expected} by central differences, though each operation alone is right: "
                "look at the order in backward()."
            )


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


def _long_chain(value: type, _: Any) -> None:
    a = value(1.0)
    end = a
    for _step in range(3000):
        end = end + 0.5
    end.backward()
    _require(
        a.grad == 1, f"After 3000 additions of a number the slope is {a.grad:g}, expected 1."
    )


def _slope_test(name: str) -> Case:
    return Case(f"slope of {name}", lambda value, _: _slope(value, name), (NUMBER,))


NUMBER, COMPUTES, NUMBERS = "data and grad", "results of operations", "plain numbers"
ADDS_UP, WAITS = "a value that is used twice", "order of backward()"
ALONE = tuple(_slope_test(name) for name in SLOPES)
EACH = tuple(test.name for test in ALONE)
PART_1 = (
    Case(NUMBER, _holds_a_number),
    Case(COMPUTES, _computes, (NUMBER,)),
    Case(NUMBERS, _takes_numbers, (NUMBER,)),
    *ALONE,
    Case(ADDS_UP, _adds_up, EACH[:3]),
    Case("several calls of backward()", _keeps, (ADDS_UP,)),
    Case(WAITS, _waits, EACH[:1]),
    Case("random expressions", _random_expressions, (*EACH, ADDS_UP, WAITS)),
    Case("a long chain", _long_chain, EACH[:1]),
)


# --- part 2: a network ------------------------------------------------------------------------


def _uses_backward(value: type, fit: Callable) -> None:
    calls, usual = [], value.backward  # type: ignore[attr-defined]

    def counted(self: Any, *args: Any, **options: Any) -> Any:
        calls.append(1)
        return usual(self, *args, **options)

    value.backward = counted  # type: ignore[attr-defined]
    try:
        predict = fit(INPUTS, AND, 0)
    finally:
        value.backward = usual  # type: ignore[attr-defined]
    _require(
        callable(predict), f"fit returned {predict!r}; it must return a function of an input."
    )
    _require(
        bool(calls), "fit never called backward(): train with the gradients of your own Value."
    )
    p = predict(INPUTS[0])
    _require(
        isinstance(p, int | float) and 0 <= p <= 1,
        f"predict([0, 0]) is {p!r}; it must be a probability, a float from 0 to 1.",
    )


def _repeats(_: type, fit: Callable) -> None:
    first, second = ([fit(INPUTS, XOR, 0)(x) for x in INPUTS] for _run in range(2))
    _require(
        first == second,
        "Two runs with seed 0 differ: draw every number from random.Random(seed).",
    )


def _learns_and(_: type, fit: Callable) -> None:
    predict = fit(INPUTS, AND, 1)
    found = [round(predict(x), 2) for x in INPUTS]
    _require(
        [p > 0.5 for p in found] == [bool(y) for y in AND],
        f"After fit on AND the probabilities are {found} for the targets {AND}. A line "
        "separates these: look at the sign of the update, at the loss, and whether every grad "
        "is set back to 0 before backward().",
    )


def _learns_xor(_: type, fit: Callable) -> None:
    right = 0
    for seed in range(STARTS):
        predict = fit(INPUTS, XOR, seed)
        right += all((predict(x) > 0.5) == bool(y) for x, y in zip(INPUTS, XOR, strict=True))
    _require(
        right >= STARTS - 1,
        f"Of {STARTS} starts, {right} learn XOR, {STARTS - 1} are asked for. AND is learned, "
        "so gradients and update are right. Is there an activation between the layers? With "
        "one, some starts get stuck: use more hidden units, or more steps.",
    )


TRAINS, LEARNS = "fit trains and predicts", "fit learns AND"
PART_2 = (
    Case(TRAINS, _uses_backward, tuple(test.name for test in PART_1)),
    Case("fit with one seed, twice", _repeats, (TRAINS,)),
    Case(LEARNS, _learns_and, (TRAINS,)),
    Case("fit learns XOR", _learns_xor, (LEARNS,)),
)

__all__ = ["Report", "grade"]
