"""Clean passages made dirty in known ways, so that what finds the dirt can be judged."""

import argparse
import json
import logging
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from ...text import corpus
from .dirt import altered, dirtied, passages


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


def main(argv: Sequence[str] | None = None) -> Dirty:
    """Write dirty documents, what they should become, and the truth about them."""
    parser = argparse.ArgumentParser(description=__doc__)
    add = parser.add_argument
    add("--documents", type=int, default=500, help="passages of plays")
    add("--planted", type=int, default=30, help="dirty ones of each kind")
    add("--seed", type=int, default=0, help="of the choice and of the dirt")
    add("--out", type=Path, required=True, help="folder for documents and truth")
    args = parser.parse_args(argv)
    data = plant(args.documents, args.planted, np.random.default_rng(args.seed))
    args.out.mkdir(parents=True, exist_ok=True)
    for name in ("documents", "originals", "test"):
        rows = [json.dumps({"text": text}) for text in getattr(data, name)]
        (args.out / f"{name}.jsonl").write_text("\n".join(rows) + "\n", encoding="utf-8")
    truth = {name: sorted(getattr(data, name)) for name in ("junk", "exact", "near", "leaked")}
    numbers = json.dumps(truth, default=int)
    (args.out / "truth.json").write_text(numbers + "\n", encoding="utf-8")
    return data


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    logging.info("%d documents", len(main().documents))
