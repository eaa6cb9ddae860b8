"""The rule that judges: words of gladness, half of which teach and half of which test."""

import re
from functools import cache
from typing import Literal

from mathlm.text import sentiment

RATED = 1.4  # lowest rating of a glad word, of 4
STEM = 4  # letters by which words of one family are kept together
Half = Literal["taught", "kept"]


@cache
def halves() -> dict[str, frozenset[str]]:
    """Glad words in two halves that share no family: every other beginning of four letters."""
    rated = sentiment.load().valences
    glad = [word for word, rating in rated.items() if word.isalpha() and rating >= RATED]
    stems = sorted({word[:STEM] for word in glad})
    taught = set(stems[::2])
    return {
        "taught": frozenset(word for word in glad if word[:STEM] in taught),
        "kept": frozenset(word for word in glad if word[:STEM] not in taught),
    }


def glad_words(text: str, half: Half) -> list[str]:
    """The different glad words of a text, of one half, in alphabetical order."""
    return sorted(set(re.findall(r"[a-z]+", text.lower())) & halves()[half])


def score(text: str) -> float:
    """What the judge sees: different glad words of the half that teaches, and one for "!"."""
    return len(glad_words(text, "taught")) + float("!" in text)


def kept_score(text: str) -> float:
    """Different glad words of the half that taught nothing."""
    return float(len(glad_words(text, "kept")))


def whole_sentences(text: str) -> str:
    """A text up to the end of its last whole sentence; empty if it has none."""
    ends = [found.end() for found in re.finditer(r"[.!?][\"')”’]*(?=\s|$)", text)]
    return text[: ends[-1]].strip() if ends else ""
