"""Tests of a reader's run: a tokenizer, a data set and a model that beats a table."""

import json
import math
from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy import ndarray

from lab.grading import Case, FaultError, Report, grade_by

RECORD = Path(__file__).parents[2] / "results" / "baselines.json"
TEXTS = ("To be, or not to be: that is the question. " * 20, "Who's there? Nay, answer me.")
UNSEEN = "Œdipus said “naïve” 🙂\n\tand no more"


def grade(tokenizer_from: Callable, windows: Callable, bits: Callable) -> Report:
    """Test a tokenizer, the windows of a data set, and bits per byte.

    Args:
        tokenizer_from: ``tokenizer_from(texts, vocab_size)``, an object with ``encode`` and
            ``decode``.
        windows: ``windows(ids, context)``, inputs and targets, (windows, context) each.
        bits: ``bits(logits_of, tokenizer, text, context)``, bits per byte.

    Returns:
        A report: print it, or read ``passed`` and ``faults``.
    """
    return grade_by(TESTS, tokenizer_from, windows, bits)


def race(bits: float) -> str:
    """A sentence that says how a run on all held-out plays compares with the 6-gram."""
    table = json.loads(RECORD.read_text())["results"]["tables"]["6"]
    share = 100 * abs(1 - bits / table)
    word = "fewer" if bits < table else "more"
    return f"{bits:.3f} bits per byte, {share:.1f} % {word} than the 6-gram ({table:.3f})."


class Bytes:
    """A tokenizer whose tokens are bytes."""

    def encode(self, text: str) -> list[int]:
        """The bytes of a text."""
        return list(text.encode())

    def decode(self, ids: list[int]) -> str:
        """The text of these bytes."""
        return bytes(ids).decode()


class Pairs(Bytes):
    """Two bytes a token."""

    def encode(self, text: str) -> list[int]:
        """Pairs of bytes as numbers below 65,536."""
        data = text.encode() + b" " * (len(text.encode()) % 2)
        return [256 * a + b for a, b in zip(data[::2], data[1::2], strict=True)]


def _back(tokenizer_from: Callable, *_: Callable) -> None:
    tokenizer = tokenizer_from(list(TEXTS), 300)
    for text in TEXTS:
        if tokenizer.decode(tokenizer.encode(text)) != text:
            raise FaultError("decode(encode(text)) is not the text, for a text of training.")


def _unseen(tokenizer_from: Callable, *_: Callable) -> None:
    tokenizer = tokenizer_from(list(TEXTS), 300)
    try:
        back = tokenizer.decode(tokenizer.encode(UNSEEN))
    except Exception as error:
        raise FaultError(
            f"a text with characters that training did not have raises {type(error).__name__}: "
            "held-out text may have any; start from the 256 bytes."
        ) from error
    if back != UNSEEN:
        raise FaultError(
            "a character that training did not have does not come back: then its bits are "
            "not charged. Start from the 256 bytes."
        )


def _size(tokenizer_from: Callable, *_: Callable) -> None:
    tokenizer = tokenizer_from(list(TEXTS), 300)
    ids = [tokenizer.encode(text) for text in (*TEXTS, UNSEEN)]
    if max(map(max, ids)) >= 300 or min(map(min, ids)) < 0:
        raise FaultError("some id is not in 0 ... vocab_size - 1: the model has no row for it.")
    if len(ids[0]) > 0.6 * len(TEXTS[0].encode()):
        raise FaultError("nothing is merged: tokens of a repeated text are as short as bytes.")


def _windows(_: Callable, windows: Callable, *__: Callable) -> None:
    inputs, targets = (np.asarray(x) for x in windows(list(range(10, 18)), 3))
    if inputs.shape != targets.shape or inputs.ndim != 2 or inputs.shape[1] != 3:
        raise FaultError(f"shapes are {inputs.shape} and {targets.shape}, not (windows, 3).")
    real = targets >= 0
    if np.array_equal(inputs[real], targets[real]):
        raise FaultError(
            "targets equal inputs: shift them by one, or the model learns to copy."
        )
    if not np.array_equal(targets[real], inputs[real] + 1):
        raise FaultError("a target is not the id that follows its input.")
    found = sorted(targets[real].tolist())
    if len(set(found)) < len(found):
        raise FaultError("an id is a target twice: windows must tile the text.")
    missing = sorted(set(range(11, 18)) - set(found))
    if missing:
        raise FaultError(
            f"ids {missing} of 10 ... 17 are never a target; windows of 3 over 8 ids are "
            "three, and the last is padded."
        )
    if (targets[~real] != -100).any():
        raise FaultError("targets without anything to predict must be -100.")


def _exact(_: Callable, windows: Callable, *__: Callable) -> None:
    inputs, targets = (np.asarray(x) for x in windows(list(range(7)), 3))
    if inputs.shape != (2, 3) or (targets < 0).any():
        raise FaultError("7 ids are 6 targets, two whole windows of 3 without padding.")


def uniform(vocab_size: int) -> Callable[[ndarray], ndarray]:
    """Logits of a model that knows nothing."""
    return lambda inputs: np.zeros((*np.shape(inputs), vocab_size))


def _nothing(*functions: Callable) -> None:
    text = "abc" * 11
    found = float(functions[2](uniform(256), Bytes(), text, 8))
    expected = 8 * 32 / 33  # 32 targets over 33 bytes
    if math.isclose(found, expected, rel_tol=1e-4):
        return
    if math.isclose(found, expected * math.log(2), rel_tol=1e-4):
        raise FaultError("the result is in nats: divide by log 2.")
    if math.isclose(found, 8 * 40 / 33, rel_tol=1e-4):
        raise FaultError("padding is charged: targets of -100 count for nothing.")
    if math.isclose(found, 8 * 24 / 33, rel_tol=1e-4):
        raise FaultError("the last, short window is left out: its bytes are to be charged.")
    raise FaultError(
        f"a model that knows nothing pays 8 bits for each of 32 targets over 33 bytes, "
        f"{expected:.3f}; found {found:.3f}."
    )


def _longer(*functions: Callable) -> None:
    text = "abcd" * 16  # 64 bytes, 32 tokens, 31 targets of 16 bits
    found = float(functions[2](uniform(65536), Pairs(), text, 8))
    if math.isclose(found, 16 * 31 / 64, rel_tol=1e-4):
        return
    if math.isclose(found, 16, rel_tol=1e-3) or math.isclose(found, 15.5, rel_tol=1e-3):
        raise FaultError("the sum is divided by tokens: divide it by the bytes of the text.")
    raise FaultError(f"tokens of two bytes: expected {16 * 31 / 64:.3f}, found {found:.3f}.")


def _unequal(*functions: Callable) -> None:
    """Eight cheap targets in the first window and one expensive one in the second."""

    def logits_of(inputs: ndarray) -> ndarray:
        logits = np.zeros((*np.shape(inputs), 256))
        logits[..., ord("a")] = 6.0
        return logits

    text = "a" * 9 + "b"
    cheap = math.log2((math.exp(6) + 255) / math.exp(6))
    right = (8 * cheap + math.log2(math.exp(6) + 255)) / 10
    found = float(functions[2](logits_of, Bytes(), text, 8))
    if not math.isclose(found, right, rel_tol=1e-4):
        raise FaultError(
            f"a short window weighs as much as a long one: expected {right:.3f} bits per byte, "
            f"found {found:.3f}. Sum over all targets and divide once."
        )


BACK, WINDOWS, NOTHING = (
    "back to the text",
    "windows tile the text",
    "a model that knows nothing",
)
TESTS = (
    Case(BACK, _back),
    Case("unseen characters", _unseen, (BACK,)),
    Case("ids and merges", _size, (BACK,)),
    Case(WINDOWS, _windows),
    Case("windows that come out even", _exact, (WINDOWS,)),
    Case(NOTHING, _nothing),
    Case("tokens of two bytes", _longer, (NOTHING,)),
    Case("windows of unequal length", _unequal, (NOTHING,)),
)
