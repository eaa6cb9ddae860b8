"""Grader of the project of this page: a network printed in columns, as a program in rows."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy import ndarray

from lab.grading import Case, FaultError, Report, grade_by
from mathlm.reference import numerical_vjp

from .project_solution import loss_and_gradients

NAMES = ("X", "W1", "b1", "W2", "b2")


def grade(function: Callable) -> Report:
    """Test a reader's loss and gradients; tests wait for those that they build on.

    Args:
        function: ``function(X, y, W1, b1, W2, b2)`` returns the summed loss [nats], the number
            of tokens that count, and the gradients in X, W1, b1, W2, b2.

    Returns:
        A report: print it, or read ``passed``.
    """
    return grade_by(TESTS, function)


def _draw(square: bool = False, hidden: int = 0) -> list[ndarray]:
    """X, y, W1, b1, W2, b2; if square, every weight is 4 by 4."""
    rng = np.random.default_rng(0)
    T, D, F, V = (5, 4, 4, 4) if square else (5, 3, 6, 4)
    y = rng.integers(V, size=T)
    y[:hidden] = -100
    shapes = ((T, D), (F, D), (F,), (V, F), (V,))
    X, *weights = (rng.normal(size=shape) for shape in shapes)
    return [X, y, *weights]


def _call(function: Callable, args: list[ndarray]) -> tuple[float, int, list[ndarray]]:
    """The three answers, once their form is right and the arguments are untouched."""
    before = [a.copy() for a in args]
    found: Any = function(*args)
    if not isinstance(found, tuple | list) or len(found) != 3:
        raise FaultError("return three things: the summed loss, the count, the gradients.")
    if not all(np.array_equal(a, b) for a, b in zip(args, before, strict=True)):
        raise FaultError("your code changes an argument in place.")
    loss, count, gradients = found
    if np.shape(loss) != ():
        raise FaultError(f"the loss has shape {np.shape(loss)}; it is one number, a sum.")
    return float(loss), int(count), [np.asarray(g) for g in gradients]


def _form(function: Callable) -> None:
    args = _draw()
    gradients = _call(function, args)[2]
    wanted = [args[0].shape, *(a.shape for a in args[2:])]
    shapes = [g.shape for g in gradients]
    if shapes != wanted:
        raise FaultError(
            f"the gradients in {', '.join(NAMES)} have shapes {shapes}; each has the shape of "
            f"its variable, {wanted}."
        )


def _loss(function: Callable) -> None:
    args = _draw(square=True)
    loss, _, _ = _call(function, args)
    right, count, _ = loss_and_gradients(*args)
    X, y, W1, b1, W2, b2 = args
    mistakes = {
        "it is in bits: the logarithm of this book is the natural one.": right / math.log(2),
        "it is a mean: return the sum, and the count beside it.": right / count,
        "a weight lies the wrong way round: with tokens as rows, X Wᵀ, not X W.": (
            loss_and_gradients(X, y, W1.T, b1, W2.T, b2)[0]
        ),
        "the sign is wrong: a loss is a negative log-likelihood.": -right,
    }
    _compare(loss, right, mistakes)


def _compare(loss: float, right: float, mistakes: dict[str, float]) -> None:
    if math.isclose(loss, right, rel_tol=1e-9):
        return
    for sentence, wrong in mistakes.items():
        if math.isclose(loss, wrong, rel_tol=1e-9):
            raise FaultError(sentence)
    raise FaultError(f"the loss is {loss:.4f}; it should be {right:.4f} nats.")


def _counts(function: Callable) -> None:
    args = _draw(hidden=2)
    loss, count, gradients = _call(function, args)
    right, n, _ = loss_and_gradients(*args)
    if count != n:
        raise FaultError(f"{n} of 5 tokens count, your count is {count}: -100 is no token.")
    _compare(loss, right, {})
    if np.abs(gradients[0][:2]).max() > 0:
        raise FaultError("a token that does not count sends a gradient back; it must send 0.")


def _large(function: Callable) -> None:
    args = _draw()
    args[4] = args[4] * 1e4
    loss, _, _ = _call(function, args)
    if not math.isfinite(loss):
        raise FaultError(
            "logits of some 10,000 overflow: subtract the largest of each row before the "
            "exponential, and take log-probabilities without a log of a probability."
        )
    _compare(loss, loss_and_gradients(*args)[0], {})


def _gradients(function: Callable) -> None:
    args = _draw(hidden=1)
    y = args[1]
    found = _call(function, args)[2]
    variables = (args[0], *args[2:])
    right = numerical_vjp(
        lambda X, *weights: np.asarray(function(X, y, *weights)[0]), variables, np.asarray(1.0)
    )
    for name, a, b in zip(NAMES, found, right, strict=True):
        if np.allclose(a, b, rtol=1e-5, atol=1e-7):
            continue
        if np.allclose(a * 4, b, rtol=1e-5, atol=1e-7):
            raise FaultError(f"the gradient in {name} is that of the mean; the loss is a sum.")
        raise FaultError(
            f"the gradient in {name} is off by up to {np.abs(a - b).max():.2g} from central "
            "differences of your own loss."
        )


FORM, LOSS, COUNTS = "shapes", "loss", "tokens that do not count"
TESTS = (
    Case(FORM, _form),
    Case(LOSS, _loss, (FORM,)),
    Case(COUNTS, _counts, (LOSS,)),
    Case("large logits", _large, (LOSS,)),
    Case("gradients against central differences", _gradients, (COUNTS,)),
)

__all__ = ["Report", "grade"]
