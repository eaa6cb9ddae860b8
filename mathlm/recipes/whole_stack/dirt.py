"""Text made dirty in the ways of web pages, so that what cleans it can be judged."""

import re

import numpy as np

BOILERPLATE = (
    "Skip to content",
    "Accept all cookies",
    "Log in",
    "© 2021 The Globe. All rights reserved.",
    "Share on Facebook",
)
WRONG = {"’": "â€™", "é": "Ã©", "—": "â€”"}  # UTF-8 read as Windows-1252
UNSEEN = "\u200b\u00ad\x07"


def passages(text: str, words: int = 120) -> list[str]:
    """A text cut at empty lines into passages of about so many words, or a few more."""
    found, part, size = [], list[str](), 0
    for speech in text.split("\n\n"):
        part.append(speech.strip())
        size += len(speech.split())
        if size >= words:
            found.append("\n\n".join(part) + "\n")
            part, size = [], 0
    return found


def altered(text: str, rate: float, rng: np.random.Generator) -> str:
    """A share of the words replaced, one at least; all that is no word stays."""
    parts = re.split(r"(\w+)", text)  # odd places hold the words
    n = len(parts) // 2
    for i in rng.choice(n, max(1, round(rate * n)), replace=False):
        parts[2 * i + 1] = f"{parts[2 * i + 1][::-1]}x"
    return "".join(parts)


def dirtied(text: str, rng: np.random.Generator) -> str:
    """As a page would show it: markup, menus, wrong characters, control characters."""
    if rng.random() < 0.5:
        menu = [f"<li>{line}</li>" for line in rng.permutation(BOILERPLATE)]
        body = [f"<p>{line}</p>" for line in text.replace("&", "&amp;").split("\n")]
        text = "\n".join(["<html><script>track();</script>", *menu, *body, "</html>"])
    if rng.random() < 0.5:
        for right, wrong in WRONG.items():
            text = text.replace(right, wrong)
    if rng.random() < 0.5:
        at, char = int(rng.integers(len(text))), UNSEEN[int(rng.integers(len(UNSEEN)))]
        text = text[:at] + char + text[at:]
    return text


__all__ = ["altered", "dirtied", "passages"]
