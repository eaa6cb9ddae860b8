"""Grader of the project of this page: an evaluation that counts each token once."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy import ndarray

from lab.grading import Case, FaultError, Report, grade_by

Evaluate = Callable[..., Any]
V = 11


class Model:
    """Logits that depend on every token read so far, and a note of what was read."""

    def __init__(self, size: float = 1.0) -> None:
        self.size = size
        self.read: list = []
        self.table = np.random.default_rng(0).normal(size=(V, V))

    def __call__(self, window: ndarray) -> ndarray:
        """Logits (n, V); row i depends on the tokens 0 to i of the window."""
        self.read.append(len(window))
        past = np.cumsum(self.table[window], 0) / np.arange(1, len(window) + 1)[:, None]
        return self.size * (2 * self.table[window] + 3 * past)


def grade(evaluate: Evaluate) -> Report:
    """Test an evaluation of perplexity in sliding windows.

    Args:
        evaluate: ``evaluate(logits_of, ids, context, stride, n_bytes)`` returns nats in all,
            the number of predicted tokens, bits per byte, and perplexity per token.

    Returns:
        A report: print it, or read ``passed`` and ``faults``.
    """
    return grade_by(TESTS, evaluate)


def text(length: int) -> ndarray:
    """Token ids."""
    return np.random.default_rng(1).integers(0, V, length)


def costs_of(model: Model, window: ndarray, targets: ndarray) -> ndarray:
    """Nats of each target, the token after each place of the window."""
    z = model(window)[: len(targets)]
    z = z - z.max(-1, keepdims=True)
    logp = z - np.log(np.exp(z).sum(-1, keepdims=True))
    return -logp[np.arange(len(targets)), targets]


def by_hand(ids: ndarray, context: int, stride: int, size: float = 1.0) -> dict[int, float]:
    """Nats of every token but the first, from the first window that predicts it."""
    found: dict[int, float] = {}
    for begin in range(0, len(ids) - 1, stride):
        window, targets = ids[begin : begin + context], ids[begin + 1 : begin + context + 1]
        for i, cost in enumerate(costs_of(Model(size), window, targets)):
            found.setdefault(begin + 1 + i, float(cost))
    return found


def _found(evaluate: Evaluate, ids: ndarray, context: int, stride: int, n_bytes: int = 100,
           model: Model | None = None) -> tuple[float, int, float, float]:  # fmt: skip
    """What the reader's code returns, once it has the right form."""
    copy = ids.copy()
    found = evaluate(model or Model(), ids, context, stride, n_bytes)
    if (ids != copy).any():
        raise FaultError("your code changes ids in place.")
    if not isinstance(found, tuple) or len(found) != 4:
        raise FaultError("return four numbers: nats, count, bits per byte and perplexity.")
    nats, count, bits, ppl = (float(x) for x in found)
    return nats, int(count), bits, ppl


def _compare(nats: float, count: int, right: float, number: int, mistakes: dict) -> None:
    """Say which mistake gives the nats that were found."""
    if math.isclose(nats, right, rel_tol=1e-8) and count == number:
        return
    for sentence, wrong in mistakes.items():
        if math.isclose(nats, wrong, rel_tol=1e-8):
            raise FaultError(sentence)
    if count != number:
        raise FaultError(f"{count} predictions are counted; {number} tokens have one before.")
    raise FaultError(f"the text costs {right:.4f} nats; {nats:.4f} were found.")


def _one(evaluate: Evaluate) -> None:
    ids = text(30)
    each = costs_of(Model(), ids, ids[1:])
    right = float(each.sum())
    mistakes = {
        "row t of the logits is about token t + 1, not about token t.": (
            float(costs_of(Model(), ids, ids).sum())
        ),
        "this is the mean: nats are summed over the text.": right / len(each),
        "these are bits: use the natural logarithm.": right / math.log(2),
        "the sign is wrong: a cost is not negative.": -right,
    }
    nats, count, _, _ = _found(evaluate, ids, 40, 40)
    _compare(nats, count, right, len(each), mistakes)


def _tiles(evaluate: Evaluate) -> None:
    ids = text(60)
    right = by_hand(ids, 20, 20)
    lost = {t: x for t, x in right.items() if t % 20}
    mistakes = {
        "the first token of each window is never predicted: the target of the last place of a "
        "window is the token after it.": sum(lost.values()),
    }
    nats, count, _, _ = _found(evaluate, ids, 20, 20)
    _compare(nats, count, sum(right.values()), 59, mistakes)


def _overlap(evaluate: Evaluate) -> None:
    ids = text(61)
    right = by_hand(ids, 20, 5)
    twice = [
        float(costs_of(Model(), ids[b : b + 20], ids[b + 1 : b + 21]).sum())
        for b in range(0, 60, 5)
    ]
    until = [float(x) for x in np.cumsum(twice)]
    mistakes = {
        "windows overlap, and a token is counted in each of them: count it in the first.": (
            until[-1]
        ),
        "windows overlap and are counted whole: count each token once.": until[-4],
        "the stride is not used: windows start every `stride` tokens.": (
            sum(by_hand(ids, 20, 20).values())
        ),
        "tokens are predicted without the overlap: the window reads it, and only its last "
        "predictions are counted.": sum(by_hand(ids, 5, 5).values()),
    }
    nats, count, _, _ = _found(evaluate, ids, 20, 5)
    if count > 60 and not any(math.isclose(nats, x, rel_tol=1e-8) for x in mistakes.values()):
        raise FaultError(f"{count} predictions are counted in a text of 61 tokens: count each "
                         "token once.")  # fmt: skip
    _compare(nats, count, sum(right.values()), 60, mistakes)


def _rest(evaluate: Evaluate) -> None:
    for length in (21, 22, 47, 53):
        ids = text(length)
        right = by_hand(ids, 20, 8)
        nats, count, _, _ = _found(evaluate, ids, 20, 8)
        if count < length - 1:
            raise FaultError(
                f"{count} of the {length - 1} predictions of a text of {length} tokens are "
                "counted: the last window may be shorter."
            )
        _compare(nats, count, sum(right.values()), length - 1, {})


def _units(evaluate: Evaluate) -> None:
    ids = text(41)
    nats, count, bits, ppl = _found(evaluate, ids, 50, 50, n_bytes=120)
    right = nats / math.log(2) / 120
    mistakes = {
        "bits are divided by the number of tokens: divide by the bytes.": (
            nats / math.log(2) / count
        ),
        "these are nats per byte: divide by log 2.": nats / 120,
    }
    for sentence, wrong in mistakes.items():
        if math.isclose(bits, wrong, rel_tol=1e-8):
            raise FaultError(sentence)
    if not math.isclose(bits, right, rel_tol=1e-8):
        raise FaultError(f"bits per byte are {right:.4f}; {bits:.4f} were found.")
    mistakes = {
        "this is exp of bits: exp goes with nats, 2 to the power with bits.": (
            math.exp(nats / math.log(2) / count)
        ),
        "this is the perplexity per byte; per token is asked for.": math.exp(nats / 120),
        "this is exp of the sum: take the mean first.": math.exp(min(nats, 700)),
    }
    for sentence, wrong in mistakes.items():
        if math.isclose(ppl, wrong, rel_tol=1e-8):
            raise FaultError(sentence)
    if not math.isclose(ppl, math.exp(nats / count), rel_tol=1e-8):
        raise FaultError(f"perplexity is {math.exp(nats / count):.4f}; {ppl:.4f} was found.")


def _large(evaluate: Evaluate) -> None:
    ids = text(30)
    right = sum(by_hand(ids, 40, 40, size=110.0).values())
    nats, *_ = _found(evaluate, ids, 40, 40, model=Model(110.0))
    if not math.isclose(nats, right, rel_tol=1e-8):
        raise FaultError(f"large logits give {nats}: subtract their maximum before exp.")


def _work(evaluate: Evaluate) -> None:
    ids, model = text(161), Model()
    _found(evaluate, ids, 40, 20, model=model)
    if max(model.read) > 40:
        raise FaultError(f"the model reads {max(model.read)} tokens; its window has 40.")
    if len(model.read) > 7:
        raise FaultError(
            f"the model is called {len(model.read)} times; 7 windows cover the text."
        )


ONE, TILES, OVERLAP = "one window", "windows side by side", "windows that overlap"
TESTS = (
    Case(ONE, _one),
    Case(TILES, _tiles, (ONE,)),
    Case(OVERLAP, _overlap, (TILES,)),
    Case("a shorter last window", _rest, (OVERLAP,)),
    Case("units", _units, (ONE,)),
    Case("large logits", _large, (ONE,)),
    Case("work", _work, (OVERLAP,)),
)
