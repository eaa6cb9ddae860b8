"""The picture of a model before and after tuning on preferences, in chapters 24 and 27.

    python tools/pair_picture.py    write both texts, and place the pictures

Both models write with the same random numbers, as ``book/_static/live/pair.js`` lets them in
the reader's browser: the int8 weights of the live model, without and with the update of
``lab.preference_optimization.exclamations``. The texts stand in
``book/results/exclamation-texts.json``.
"""

from __future__ import annotations

import base64
import copy
import json
import sys
from collections.abc import Iterable
from html import escape
from typing import Any

import live_weights
import torch
import train_picture

from mathlm.models import GPT

LIVE = train_picture.LIVE
ADAPTER, PANEL = LIVE / "pair-adapter.js", LIVE / "pair.js"
RECORD = live_weights.ROOT / "book" / "results" / "exclamations.json"
TEXTS = RECORD.with_name("exclamation-texts.json")
PAGE = live_weights.ROOT / "book" / "24-preference-optimization.ipynb"
STACK = PAGE.with_name("27-whole-stack.ipynb")
SPEAKER = b"ROMEO:\n"  # of chapter 27, in which requests name a speaker
PROMPT, LENGTH, TEMPERATURE, SEED = b"JULIET:\nO Romeo, Romeo! ", 160, 0.8, 1
SURVEY = 20  # texts that are counted


def update() -> dict[str, Any]:
    """The update as the page gets it."""
    text = ADAPTER.read_text(encoding="utf-8")
    return json.loads(text.partition(" = ")[2].rstrip(";\n"))


@torch.no_grad()
def tuned(model: GPT) -> GPT:
    """A copy of the model with the update added: W + s B A."""
    found, numbers, at = copy.deepcopy(model), update(), 0
    data = torch.frombuffer(bytearray(base64.b64decode(numbers["data"])), dtype=torch.float32)
    weights = dict(found.named_parameters())
    for layer in range(model.config.n_layers):
        for name in numbers["maps"]:
            half = "feed_forward" if name == "Wout" else "attention"
            W = weights[f"blocks.{layer}.{half}.W_{name[1:]}.weight"]
            sizes = [(numbers["rank"], W.shape[1]), (W.shape[0], numbers["rank"])]
            counts = [rows * columns for rows, columns in sizes]
            parts = data[at : at + sum(counts)].split(counts)
            A, B = (x.view(s).double() for x, s in zip(parts, sizes, strict=True))
            W += numbers["scale"] * B @ A
            at += sum(counts)
    return found


def texts(seeds: Iterable[int], prompt: bytes = PROMPT) -> list[list[list[int]]]:
    """What both models write with each of the seeds."""
    base = live_weights.quantized()[0]
    models, options = (
        (base, tuned(base)),
        {"n": LENGTH, "temperature": TEMPERATURE, "top_p": 1.0},
    )
    return [
        [live_weights.written(m, list(prompt), seed=seed, **options) for m in models]
        for seed in seeds
    ]


def counts(found: list[list[list[int]]]) -> dict[str, list[float]]:
    """Signs in a text before and after, on average: marks, questions, empty lines."""
    signs = {"marks": "!", "questions": "?", "speeches": "\n\n"}
    columns = [
        [bytes(text).decode(errors="replace") for text in c] for c in zip(*found, strict=True)
    ]
    return {
        name: [sum(text.count(sign) for text in column) / len(column) for column in columns]
        for name, sign in signs.items()
    }


def column(name: str, text: list[int]) -> str:
    """One text, its marks in color."""
    shown = escape(bytes(text).decode(errors="replace"), quote=False)
    inner = shown.replace("!", "<mark>!</mark>").replace("\n", "<br>")
    count = text.count(ord("!"))
    return (
        f'<div><p class="train-head">{name}</p><p class="train-output">{inner}</p>'
        f'<p class="train-note">{count} exclamation mark{"s" * (count != 1)}</p></div>'
    )


def section(both: list[list[int]], prompt: bytes = PROMPT) -> str:
    """The component with its picture."""
    columns = column("Before", both[0]) + column("After DPO", both[1])
    asked = escape(prompt.decode().replace("\n", " ").strip())
    picture = f'<div class="train-pair">{columns}</div>'
    note = f"After the prompt “{asked}”, both with the same random numbers."
    html = train_picture.section("pair", "Before and after", "Open the pair", note, picture)
    given = escape(prompt.decode()).replace("\n", "&#10;")
    name = "data-pair" if prompt == PROMPT else f'data-pair data-prompt="{given}"'
    return html.replace('data-train="pair"', name).replace("train.js", "pair.js")


def main(argv: list[str]) -> int:
    """Write the texts and place the pictures."""
    if argv:
        print(__doc__)
        return 2
    found, speaker = (texts(range(SEED, SEED + SURVEY), p) for p in (PROMPT, SPEAKER))
    record = {"texts": found[0], "means": counts(found)}
    record["speaker"] = {"texts": speaker[0], "means": counts(speaker)}
    TEXTS.write_text(json.dumps(record) + "\n", encoding="utf-8")
    train_picture.place(PAGE, section(found[0]))
    train_picture.place(STACK, section(speaker[0], SPEAKER))
    print(record["means"], record["speaker"]["means"])
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
