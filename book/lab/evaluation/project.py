"""Grader of the project of this page: a question set of one's own."""

import math
from collections.abc import Callable, Sequence
from numbers import Integral
from typing import Any

import numpy as np
from numpy import ndarray

from lab.grading import Case, FaultError, Report, grade_by
from mathlm.text.corpora.questions import Question

from .exact import binomial

Deal = Callable[..., Any]
Compare = Callable[..., Any]
Enough = Callable[..., Any]
Overlaps = Callable[..., Any]


def grade(deal: Deal, compare: Compare, enough: Enough, overlaps: Overlaps) -> Report:
    """Test the four parts of a question set.

    Args:
        deal: (questions, rng) to the same questions with their choices in a random order.
        compare: (first, second), two rows of bool, to (difference, low, high, p).
        enough: (difference, disagreement) to a number of questions.
        overlaps: (questions, text, length) to a list of bool, one for each question.

    Returns:
        A report that prints itself.
    """
    return grade_by(TESTS, deal, compare, enough, overlaps)


# --- the tests ------------------------------------------------------------------------------


def sample(count: int = 400) -> list[Question]:
    """Questions whose right answer stands at one of the first three places in turn."""
    made = []
    for i in range(count):
        numbers = [f"{2 * i + 1}", f"{2 * i + 3}"]
        numbers.insert(i % 3, f"{2 * i}")
        made.append(Question(f"What is {i} and {i}?", (*numbers, "none"), i % 3))
    return made


def _dealt(deal: Deal) -> tuple[list[Question], Sequence[Question]]:
    asked = sample()
    found = deal(asked, np.random.default_rng(0))
    if len(found) != len(asked) or not all(isinstance(q, Question) for q in found):
        raise FaultError(f"deal must return {len(asked)} questions, one for each it was given.")
    return asked, found


def _answers(deal: Deal, *rest: Any) -> None:
    asked, found = _dealt(deal)
    two = Question("Is seven an odd number?", ("no", "yes"), 1)
    dealt = deal([two] * 9, np.random.default_rng(1))
    for before, after in zip([*asked, *[two] * 9], [*found, *dealt], strict=True):
        if after.text != before.text or set(after.choices) != set(before.choices):
            raise FaultError("a question or its choices were changed, not only their order.")
        if after.choices[after.answer] != before.choices[before.answer]:
            raise FaultError(
                f"the answer to {after.text!r} is now {after.choices[after.answer]!r}: when "
                "the choices move, the place of the right one moves with them."
            )


def _places(deal: Deal, *rest: Any) -> None:
    asked, found = _dealt(deal)
    counts = np.bincount([q.answer for q in found], minlength=4)
    if counts.max() == len(found):
        raise FaultError("every right answer stands in one place: draw an order per question.")
    if [q.choices for q in found] == [q.choices for q in asked]:
        raise FaultError("every choice stands where it stood: draw an order per question.")
    if counts.max() > 145 or counts.min() < 60:  # of 400; 100 expected, deviation 8.7
        raise FaultError(
            f"the right answers stand {counts.tolist()} times at the four places: draw all "
            "orders equally likely."
        )
    lasts = np.bincount([q.choices.index("none") for q in found], minlength=4)
    if lasts.max() > 145:
        raise FaultError("the wrong answers keep their order: shuffle all choices.")
    pairs = zip(asked, found, strict=True)
    orders = {tuple(map(before.choices.index, after.choices)) for before, after in pairs}
    if len(orders) < 24:  # all 24 are there but for one draw of a million
        raise FaultError(
            f"of the 24 orders of four choices {len(orders)} occur: a choice that has moved "
            "must not say where the others went."
        )
    again = deal(asked, np.random.default_rng(0))
    if [q.answer for q in again] != [q.answer for q in found]:
        raise FaultError("the same rng gives two results: draw everything from rng.")


def rows(both: int, first: int, second: int, neither: int) -> tuple[ndarray, ndarray]:
    """Right and wrong answers of two models with these counts."""
    a = [True] * (both + first) + [False] * (second + neither)
    b = [True] * both + [False] * first + [True] * second + [False] * neither
    return np.array(a), np.array(b)


def _result(compare: Compare, *counts: int) -> tuple[float, ...]:
    found = compare(*rows(*counts))
    if not isinstance(found, tuple) or len(found) != 4:
        raise FaultError("compare must return (difference, low, high, p).")
    return tuple(float(x) for x in found)


def _difference(deal: Deal, compare: Compare, *rest: Any) -> None:
    difference, low, high, _ = _result(compare, 50, 15, 5, 30)
    if math.isclose(difference, -0.1):
        raise FaultError("the sign is wrong: it is the first model less the second.")
    if not math.isclose(difference, 0.1):
        raise FaultError(f"the difference is {difference:.3f}; 15 less 5 of 100 is 0.1.")
    half = (high - low) / 2
    mistakes = {
        math.sqrt((0.65 * 0.35 + 0.55 * 0.45) / 100): (
            "the interval is that of two separate sets of questions: use that they are one."
        ),
        math.sqrt(0.19): "the standard error is not divided by the root of n.",
        math.sqrt(0.19) / 100: "the standard error is divided by n, not by its root.",
        math.sqrt(0.0019) / 1.96: "the interval is one standard error to each side: take 1.96.",
    }
    for se, sentence in mistakes.items():
        if math.isclose(half, 1.96 * se, rel_tol=2e-3):
            raise FaultError(sentence)
    if not math.isclose(half, 1.96 * math.sqrt(0.0019), rel_tol=0.01):
        raise FaultError(f"the interval is ± {half:.4f}; by hand it is ± 0.0854.")
    if not math.isclose((low + high) / 2, difference):
        raise FaultError(
            f"the interval is from {low:.3f} to {high:.3f}: its middle is the difference, 0.1."
        )
    turned = _result(compare, 50, 5, 15, 30)[:3]
    if not np.allclose(turned, (-difference, -high, -low)):
        raise FaultError(
            "with the two models exchanged, the difference and both ends change their signs; "
            "yours do not."
        )


def _exact(deal: Deal, compare: Compare, *rest: Any) -> None:
    p = _result(compare, 50, 15, 5, 30)[3]
    tail = sum(math.comb(20, k) for k in range(6)) / 2**20  # of 5 or fewer of 20
    mistakes = {
        tail: "p is one-sided: a split as uneven in the other direction counts too.",
        2
        * math.comb(20, 5)
        / 2**20: "p is the chance of this split alone: add the more uneven.",
        1 - 2 * tail: "p is one less the chance that was asked for.",
    }
    for wrong, sentence in mistakes.items():
        if math.isclose(p, wrong, rel_tol=1e-6):
            raise FaultError(sentence)
    if not math.isclose(p, 2 * tail, rel_tol=1e-6):
        raise FaultError(f"p is {p:.4f} for 15 against 5; the exact sign test gives 0.0414.")
    turned = _result(compare, 50, 5, 15, 30)[3]
    if not math.isclose(p, turned):
        raise FaultError(
            f"p is {p:.4f} for 15 against 5 and {turned:.4f} for 5 against 15: the sum goes to "
            "the smaller of the two counts."
        )
    if not math.isclose(_result(compare, 10, 10, 5, 0)[3], _result(compare, 900, 10, 5, 85)[3]):
        raise FaultError("p depends on the questions on which both agree, which say nothing.")
    if _result(compare, 7, 4, 4, 5)[3] != 1 or _result(compare, 7, 0, 0, 5)[3] != 1:
        raise FaultError("p is not 1 where neither model is ahead: it is a probability.")


def power(n: int, difference: float, disagreement: float) -> float:
    """Chance that ``|b - c| > 1.96 sqrt(d n)``, by an exact sum over both counts."""
    p, q = (disagreement + difference) / 2, (disagreement - difference) / 2
    total = 0.0
    for b, chance in enumerate(binomial(n, p)):
        if chance > 1e-12:
            rest = binomial(n - b, q / (1 - p))
            seen = abs(b - np.arange(n - b + 1)) > 1.96 * math.sqrt(disagreement * n)
            total += chance * rest[seen].sum()
    return float(total)


def _enough(deal: Deal, compare: Compare, enough: Enough, *rest: Any) -> None:
    for difference, disagreement in ((0.1, 0.3), (0.08, 0.2)):
        found = enough(difference, disagreement)
        if not isinstance(found, Integral) or int(found) < 1:
            raise FaultError(f"enough must return a whole number of questions, not {found!r}.")
        n = int(found)
        seen = power(n, difference, disagreement)
        if 0.45 < seen < 0.6:
            raise FaultError(
                f"with {n} questions the difference is seen {seen:.0%} of the time: the "
                "interval just reaches 0 on average. Add the second quantile, 0.84."
            )
        if not 0.77 < seen < 0.84:
            raise FaultError(
                f"with {n} questions a difference of {difference} at a disagreement of "
                f"{disagreement} is seen {seen:.0%} of the time; 80 % was asked for."
            )
    if not 32 <= (n := enough(0.3, 0.4)) <= 34:  # 32.4 by the formula
        raise FaultError(
            f"a difference of 0.3 at a disagreement of 0.4 needs 33 questions, not {n}: the "
            "variance is d without a difference and d - δ² with it."
        )


TEXT = "He asked: how many legs does a common garden spider have, and why does it need them?"


def _overlaps(deal: Deal, compare: Compare, enough: Enough, overlaps: Overlaps) -> None:
    cases = {
        "how many legs does a common garden spider have": (True, "words in a row"),
        "HOW many legs, does a Common garden spider have today": (True, "case and commas"),
        "a spider does have common legs how many in a garden": (False, "words out of order"),
        "how many legs does a garden spider common have": (False, "a run that is broken"),
        "why does it need them": (True, "a question of fewer words than the run"),
        "why do we need them": (False, "a short question that is not there"),
        "so how many legs does a common garden spider need": (True, "a run that begins later"),
        "why does it need the": (False, "a word that is part of another"),
    }
    shorter = {
        "why does it sleep": (True, "a run of three where length is 3"),
        "why does he need them": (False, "no run of three where length is 3"),
    }
    for length, expected in ((8, cases), (3, shorter)):
        asked = [Question(text, ("eight", "six"), 0) for text in expected]
        found = [bool(x) for x in overlaps(asked, TEXT, length)]
        if len(found) != len(asked):
            raise FaultError("overlaps must return one entry for each question.")
        for got, (known, what) in zip(found, expected.values(), strict=True):
            if got != known:
                verb = "is missed" if known else "is reported"
                raise FaultError(f"{what}: an overlap {verb}.")


ANSWERS, DIFFERENCE = "the right answer stays right", "difference and interval"
TESTS = (
    Case(ANSWERS, _answers),
    Case("places", _places, (ANSWERS,)),
    Case(DIFFERENCE, _difference),
    Case("exact test", _exact, (DIFFERENCE,)),
    Case("enough questions", _enough),
    Case("overlap", _overlaps),
)
