"""Grader of the project of this page, one's own stack on one's own text."""

import lzma
import math
from collections.abc import Sequence
from typing import Any

from lab.grading import Case, FaultError, Report, grade_by
from mathlm.text import KneserNey, bits_per_byte, conditional_bits_per_byte

TEXTS = [
    "The rain in the hills begins early in the year.",
    "the rain  in the hills begins early in the YEAR.",
    "Menu",
    "A river runs from the hills down to the sea.",
    "Bread is baked in the village every morning.",
    "The train to the city leaves from the village.",
    "In winter the lake is frozen, and children skate.",
]
DATA = " ".join(TEXTS).encode()
SHORT, LONG = "a text  of 19 letter", "a text  of 20 letters"  # of 19 and 20 characters


def grade(mine: Any) -> Report:
    """Test a small stack.

    Args:
        mine: An object with ``clean(texts)``, ``split(texts, share, seed)``, ``fit(data)``,
            which returns a model with ``log_probabilities(data)``, and
            ``bits_per_byte(model, data)``.

    Returns:
        A report: print it, or read ``passed`` and ``faults``.
    """
    return grade_by(TESTS, mine)


def run(mine: Any, texts: Sequence[str], share: float = 0.1, seed: int = 0) -> dict[str, float]:
    """Clean, split, fit and judge a reader's own texts.

    Args:
        mine: The reader's stack.
        texts: Documents.
        share: That is held out.
        seed: Of the split.

    Returns:
        Bits per byte of the held-out text by the reader's model, by a table of counts of order
        5, and by xz after the text that was learned.
    """
    learned, held_out = mine.split(mine.clean(texts), share, seed)
    data, test = "\n".join(learned).encode(), "\n".join(held_out).encode()
    table = -float(KneserNey(5, data).log_probabilities(test).sum())

    def squeeze(x):
        return lzma.compress(x, preset=6)

    return {
        "mine": mine.bits_per_byte(mine.fit(data), test),
        "5-gram": bits_per_byte(table, len(test)),
        "xz": conditional_bits_per_byte(squeeze, data, test),
    }


def methods(mine: Any) -> None:
    """All that is asked for is there."""
    for name in ("clean", "split", "fit", "bits_per_byte"):
        if not callable(getattr(mine, name, None)):
            raise FaultError(f"there is no method {name}.")


def cleaning(mine: Any) -> str | None:
    """Copies and junk go, and the rest stays."""
    found = list(mine.clean(list(TEXTS)))
    if missing := [text for text in TEXTS[3:] if text not in found]:
        return f"clean() drops or changes {missing[0]!r}, which is neither a copy nor junk."
    if TEXTS[2] in found:
        return "clean() keeps 'Menu': a text of fewer than 20 characters is no document."
    if TEXTS[0] in found and TEXTS[1] in found:
        return "clean() keeps two texts that differ in blanks and capitals only."
    if not {TEXTS[0], TEXTS[1]} & set(found):
        return "clean() drops both copies of a text: one of them is to stay."
    if list(mine.clean([SHORT, LONG])) != [LONG]:
        return (
            "clean() draws the line elsewhere: 20 characters stay, a run of blanks being one."
        )
    return None


def splitting(mine: Any) -> str | None:
    """Every text on one side, the same for the same seed."""
    texts = [f"This is the text of number {i}." for i in range(20)]
    learned, held_out = mine.split(texts, 0.2, 0)
    if set(learned) & set(held_out):
        return "split() puts a text on both sides: then the model is judged on what it saw."
    if sorted([*learned, *held_out]) != sorted(texts):
        return "split() loses texts, or repeats them."
    if len(held_out) != 4:
        return f"split() holds out {len(held_out)} of 20 texts for a share of 0.2, not 4."
    if mine.split(texts, 0.2, 0) != (learned, held_out):
        return "split() gives other parts when it is called again with the same seed."
    if set(mine.split(texts, 0.2, 1)[1]) == set(held_out):
        return "split() does not depend on the seed."
    return None


def probabilities(mine: Any) -> str | None:
    """A distribution over bytes that sees the past only."""
    model = mine.fit(DATA)
    before = b"The rain in"
    own = list(model.log_probabilities(before))
    if len(own) != len(before):
        return f"log_probabilities() returns {len(own)} numbers for {len(before)} bytes."
    ends = [list(model.log_probabilities(before + bytes([x]))) for x in range(256)]
    if not all(math.isfinite(x) for x in (*own, *(e[-1] for e in ends))):
        return "a byte that was not seen has probability 0, which costs infinitely many bits."
    total = sum(math.exp(e[-1]) for e in ends)
    if abs(total - 1) > 1e-6:
        return f"the probabilities of the 256 bytes after {before!r} sum to {total:.4f}, not 1."
    if any(abs(a - b) > 1e-9 for e in ends for a, b in zip(own, e, strict=False)):
        return "what follows a byte changes its probability: the model sees the future."
    if math.exp(ends[ord(" ")][-1]) < 2 / 256:
        return "after 'The rain in' a blank is no likelier than a guess: nothing was learned."
    return None


class Constant:
    """A model for which each byte has the same probability.

    Args:
        bits: What a byte costs.
    """

    def __init__(self, bits: int) -> None:
        self.bits = bits

    def log_probabilities(self, data: bytes) -> list[float]:
        """The same for each byte [nats]."""
        return [-self.bits * math.log(2)] * len(data)


def judging(mine: Any) -> str | None:
    """Bits, and per byte."""
    found = float(mine.bits_per_byte(Constant(1), DATA))
    if abs(found - math.log(2)) < 1e-9:
        return "bits_per_byte() gives nats: divide by log 2."
    if abs(found - len(DATA)) < 1e-6:
        return "bits_per_byte() gives the bits of the whole text: divide by its bytes."
    if abs(found + 1) < 1e-9:
        return "bits_per_byte() is negative: a code length is minus a log-probability."
    if abs(found - 1) > 1e-9:
        return f"bits_per_byte() of bytes of probability one half is {found:.4f}, not 1."
    if abs(float(mine.bits_per_byte(Constant(2), DATA)) - 2) > 1e-9:
        return "bits_per_byte() does not ask the model: bytes of probability 1/4 cost 2 bits."
    return None


TESTS = (
    Case("methods", methods),
    Case("cleaning", cleaning, ("methods",)),
    Case("splitting", splitting, ("methods",)),
    Case("probabilities", probabilities, ("methods",)),
    Case("bits per byte", judging, ("methods",)),
)
