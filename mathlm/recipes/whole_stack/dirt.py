"""Passages made dirty in the ways of web pages, so that what cleans them can be judged."""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from ...text import corpus

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


@dataclass(kw_only=True)
class Dirty:
    """Documents, and the truth about them.

    Args:
        documents: What a crawler would have brought.
        originals: What each document should become.
        junk: Numbers of documents that are no prose.
        exact: Pairs of numbers: a document, and its copy.
        near: Pairs of numbers: a document, and its altered copy.
        test: Held-out documents.
        leaked: Numbers of the held-out documents of which a part stands in a document.
    """

    documents: list[str]
    originals: list[str]
    test: list[str]
    junk: set[int] = field(default_factory=set)
    exact: set[tuple[int, int]] = field(default_factory=set)
    near: set[tuple[int, int]] = field(default_factory=set)
    leaked: set[int] = field(default_factory=set)


def plant(size: int, planted: int, rng: np.random.Generator) -> Dirty:
    """``size`` passages of training plays, made dirty; ``planted`` of each kind of dirt."""
    training, held_out = (passages(text) for text in corpus.split("shakespeare"))
    chosen = rng.choice(len(training), size, replace=False)
    originals = [training[i] for i in sorted(chosen)]
    data = Dirty(documents=[], originals=originals, test=held_out[: 4 * planted])
    leaking, copied, changed = rng.choice(size, (3, planted), replace=False)
    _leak(data, leaking, rng)
    for i in copied:
        data.exact.add((int(i), len(data.originals)))
        data.originals.append(data.originals[i].upper())
    for i in changed:
        data.near.add((int(i), len(data.originals)))
        data.originals.append(altered(data.originals[i], float(rng.uniform(0.005, 0.03)), rng))
    data.documents = [dirtied(text, rng) for text in data.originals]
    _add_junk(data, planted, rng)
    return data


def _leak(data: Dirty, targets: Sequence[int] | np.ndarray, rng: np.random.Generator) -> None:
    """Part of a held-out document in the middle of a training document."""
    sources = rng.choice(len(data.test), len(targets), replace=False)
    for i, j in zip(targets, sources, strict=True):
        words = data.test[j].split()
        start = int(rng.integers(len(words) - 40))
        lines = data.originals[i].split("\n")
        lines.insert(len(lines) // 2, " ".join(words[start : start + 40]))
        data.originals[i] = "\n".join(lines)
        data.leaked.add(int(j))


def _add_junk(data: Dirty, planted: int, rng: np.random.Generator) -> None:
    """Lists of keywords, lines over and over, and rows of numbers."""
    entries = corpus.documents("glosses")
    for k in range(planted):
        keywords = [entries[i].split(" : ")[0] for i in rng.integers(0, 20_000, 80)]
        numbers = [f"{x:.2f}" for x in rng.normal(size=80)]
        kinds = (" ".join(keywords), "Buy now and save.\n" * 30, " ".join(numbers))
        data.junk.add(len(data.documents))
        for texts in (data.originals, data.documents):
            texts.append(kinds[k % 3])


def write(data: Dirty, folder: Path) -> None:
    """Write dirty documents, what they should become, and the truth about them."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in ("documents", "originals", "test"):
        rows = [json.dumps({"text": text}) for text in getattr(data, name)]
        (folder / f"{name}.jsonl").write_text("\n".join(rows) + "\n", encoding="utf-8")
    truth = {name: sorted(getattr(data, name)) for name in ("junk", "exact", "near", "leaked")}
    numbers = json.dumps(truth, default=int)
    (folder / "truth.json").write_text(numbers + "\n", encoding="utf-8")
