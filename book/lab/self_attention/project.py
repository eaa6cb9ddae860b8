"""Grader of the project of this page: a test function that finds ten planted bugs."""

from collections.abc import Callable
from typing import Any

from lab.grading import Case, FaultError, Report, grade_by

from .planted_layers import CORRECT, HELD_BACK, LAYERS, Sealed, sealed

Examine = Callable[[Sealed], Any]
HINTS = (  # what the tests that let a layer pass have not tried, in the order of the layers
    "No row of yours has scores some 800 below those of another row. What is subtracted before "
    "the exponential, and from what?",
    "Are your matrices square? Give queries and keys another width than the input.",
    "Do all sequences of your batches have the same mask?",
    "Give some query a row of the mask that is False everywhere; its output must be 0.",
    "On paper this layer is right. Let a key that is hidden fit so well that its score exceeds "
    "the visible ones by 800 or more.",
    "What stands at a position that sees nothing and that nobody sees must not matter. Which "
    "number survives a multiplication by 0?",
    "Its outputs are right. Compare dx with central differences of the loss.",
    "Its outputs are right. Compare dW_q, dW_k and dW_v with central differences, for a batch "
    "of several sequences.",
    "One call of it is right. Call forward twice, on different inputs, and only then backward "
    "with the first cache.",
    "Your sequences are short. Does a layer know at 5 positions what it does at 50?",
)


def grade(examine: Examine) -> Report:
    """Try a test function on layers of self-attention, right ones and faulty ones.

    Args:
        examine: Takes a layer with ``forward(x, W_q, W_k, W_v, mask) -> (y, cache)`` and
            ``backward(dy, cache) -> (dx, dW_q, dW_k, dW_v)``, and returns True if the layer
            is right. An ``AssertionError`` counts as False.

    Returns:
        A report: print it, or read ``passed`` and ``faults``.
    """
    return grade_by(TESTS, examine)


def _verdict(examine: Examine, layer: Sealed) -> bool:
    """What the function says of a layer."""
    try:
        found = examine(layer)
    except AssertionError:
        return False
    try:
        said = bool(found)
    except ValueError:
        said = None
    if said is None or found is None or not (found is True or found is False or found == said):
        kind = type(found).__name__
        raise FaultError(f"examine must return True or False, it returned a {kind}.")
    return said


def _rejects(examine: Examine, layer: Sealed) -> bool:
    """Whether a faulty layer is caught; an error that it causes is a failure, too."""
    try:
        return not _verdict(examine, layer)
    except FaultError:
        raise
    except NotImplementedError:
        raise
    except Exception:  # raised by the layer, or by what it returned
        return True


def _accepts(name: str) -> Callable[[Examine], None]:
    """A test that a right layer passes the reader's tests."""

    def test(examine: Examine) -> None:
        if _verdict(examine, CORRECT[name]):
            return
        if name == "written plainly":
            raise FaultError(
                "a right layer fails your tests. Is it asked for something that the "
                "specification does not promise?"
            )
        raise FaultError(
            f"the layer {name} fails your tests and is right. Do you demand equality to the "
            "last bit? Compare with a relative tolerance of about 1e-9, gradients of central "
            "differences of about 1e-6."
        )

    return test


def _catches(i: int) -> Callable[[Examine], None]:
    """A test that a faulty layer fails the reader's tests."""

    def test(examine: Examine) -> None:
        if not _rejects(examine, LAYERS[i]):
            raise FaultError(f"it passes your tests and is wrong. {HINTS[i]}")

    return test


def _held_back(examine: Examine) -> None:
    missed = sum(not _rejects(examine, sealed(steps)) for steps in HELD_BACK.values())
    if missed:
        raise FaultError(
            f"{missed} of {len(HELD_BACK)} faulty layers that you have not been given pass "
            "your tests. Test what is promised (all four gradients, arguments that stay as "
            "they are), not the ten layers."
        )


PLAIN = "a right layer passes"
ALIKE = tuple(f"the right layer {name} passes" for name in list(CORRECT)[1:])
TEN = tuple(f"layer {i + 1} is caught" for i in range(len(LAYERS)))
TESTS = (
    Case(PLAIN, _accepts("written plainly")),
    *(Case(f"the right layer {n} passes", _accepts(n), (PLAIN,)) for n in list(CORRECT)[1:]),
    *(Case(name, _catches(i), (PLAIN,)) for i, name in enumerate(TEN)),
    Case("layers that were held back are caught", _held_back, TEN),
)
