"""The rule that judges: an answer of one sentence is better than one that goes on."""

import re

END = re.compile(r"[.!?][\"')”’]*(?=\s|$)")
FEWEST = 4  # words of a sentence that is an answer


def sentences(text: str) -> list[str]:
    """The whole sentences of a text; what stands after the last end is none."""
    ends = [found.end() for found in END.finditer(text)]
    return [text[a:b].strip() for a, b in zip([0, *ends], ends, strict=False)]


def whole(text: str) -> str:
    """A text up to the end of its last whole sentence; empty if it has none."""
    ends = [found.end() for found in END.finditer(text)]
    return text[: ends[-1]].strip() if ends else ""


def first(text: str) -> str:
    """The first sentence of a text; empty if it is none or has fewer than four words."""
    found = sentences(text)
    return found[0] if found and len(found[0].split()) >= FEWEST else ""


def brevity(text: str) -> int:
    """The score: minus the number of words, so that the shorter answer is the better one."""
    return -len(text.split())
