"""The picture of the live model: what it shows before its first use, and without scripts.

HTML that ``book/index.md`` includes; ``live_views.py`` has those of chapters. It has the
classes of ``live/live.css`` and so follows the colors of the page and its width; the map is
drawn as SVG. ``live_weights.write`` writes it when the book is built, from the weights that the
page itself will load.
"""

from __future__ import annotations

from html import escape
from typing import Any

import torch
from torch import Tensor

from mathlm.interpret import record
from mathlm.models import GPT

PROMPT = list(b"JULIET:\nO Romeo, Romeo! ")  # the one that live.js starts with
LAYER, HEAD = 0, 1
SHOWN = 8  # bytes that have a bar
LEAST = 0.01  # weight that is drawn


def sign(byte: int) -> str:
    """One byte as one sign, as live.js has it."""
    if 32 < byte < 127:
        return chr(byte)
    return {32: "␣", 10: "⏎"}.get(byte, f"{byte:02X}")


def spoken(byte: int) -> str:
    """One byte as a word."""
    if 32 < byte < 127:
        return f"“{chr(byte)}”"
    return {32: "space", 10: "line break"}.get(byte, f"byte {byte:02x}")


def percent(p: float) -> str:
    """A probability as live.js writes it."""
    if p < 0.0005:
        return "<\u00a00.1\u00a0%"
    return f"{100 * p:.0f}\u00a0%" if p >= 0.0995 else f"{100 * p:.1f}\u00a0%"


@torch.no_grad()
def computed(model: GPT) -> dict[str, Any]:
    """What the picture shows: probabilities (T, V) and the weights of one head (T, T)."""
    ids = torch.tensor([PROMPT])
    weights = record(model, ids)[f"blocks.{LAYER}.attention.weights"][0, HEAD]
    return {"p": model(ids)[0].softmax(-1), "weights": weights}


def strip(ids: list[int], p: Tensor, weights: Tensor, whole: Tensor | None = None) -> str:
    """Each byte above the one that is predicted after it, and what the whole model predicts."""
    cells, last = [], len(ids) - 1
    for t, byte in enumerate(ids):
        guess = int(p[t].argmax())
        names = " ".join(["hit"] * hits(ids, t, guess) + ["here"] * (t == last))
        read = round(50 * float(weights[last, t]) ** 0.5)
        style = f"--sure:{100 * float(p[t, guess]):.0f}%;--read:{read}%"
        inner = f"<b>{escape(sign(byte))}</b><i>{escape(sign(guess))}</i>"
        if whole is not None:
            other = int(whole[t].argmax())
            name = ' class="hit"' * hits(ids, t, other)
            inner += f"<em{name}>{escape(sign(other))}</em>"
        cells.append(f'<span class="{names}" style="{style}">{inner}</span>')
    return f'<div class="live-strip">{"".join(cells)}</div>'


def hits(ids: list[int], t: int, guess: int) -> bool:
    """Whether what is predicted after a position came."""
    return t + 1 < len(ids) and ids[t + 1] == guess


def bars(p: Tensor, whole: Tensor | None = None, shown: int = SHOWN) -> str:
    """The likeliest next bytes with their bars, and a line where the whole model has them."""
    rows = []
    for byte in (p if whole is None else p.maximum(whole)).topk(shown).indices.tolist():
        share = float(p[byte])
        line = "" if whole is None else f'<u style="left:{100 * float(whole[byte]):.1f}%"></u>'
        track = f'<span class="bar"><i style="width:{100 * share:.1f}%"></i>{line}</span>'
        name = escape(sign(byte))
        rows.append(
            f"<tr><th>{name}</th><td>{track}</td><td>{escape(percent(share))}</td></tr>"
        )
    return f'<table class="live-bars">{"".join(rows)}</table>'


def attention_map(weights: Tensor) -> str:
    """The weights of one head as squares, the darker the larger."""
    T = len(weights)
    squares = [
        f'<rect x="{s}" y="{t}" width="1" height="1" opacity="{float(w) ** 0.5:.2f}"/>'
        for t, row in enumerate(weights)
        for s, w in enumerate(row)
        if w >= LEAST
    ]
    inside = "".join(squares)
    return (
        f'<div class="live-map"><svg viewBox="0 0 {T} {T}" fill="currentColor" '
        f'shape-rendering="crispEdges">{inside}</svg></div>'
    )


def description(p: Tensor) -> str:
    """The picture in words, for those who do not see it."""
    text = bytes(PROMPT).decode().replace("\n", " ")
    hits = sum(int(p[t].argmax()) == byte for t, byte in enumerate(PROMPT[1:]))
    first = int(p[-1].argmax())
    return (
        f"A language model has read “{text.strip()}”, byte by byte. Below each stands the "
        f"one it predicts next: {hits} of {len(PROMPT) - 1} came. After the last it expects "
        f"{spoken(first)} with {percent(float(p[-1, first]))}. A map shows head "
        f"{LAYER}.{HEAD}, which reads mostly the byte before."
    )


def still(model: GPT) -> str:
    """The picture, and the button that starts the model."""
    found = computed(model)
    p, weights = found["p"], found["weights"]
    return f"""\
<link rel="stylesheet" href="../_static/live/live.css">
<section class="live-model tex2jax_ignore mathjax_ignore" data-live
  aria-label="A language model that runs in this page">
<h2 class="live-title">A language model that runs in this page</h2>
<div class="live-before live-row"><button type="button" class="live-start live-main" hidden>
Start the model</button>
<p class="live-note">824,448 parameters, trained in <a href="19-pretraining.html">chapter 19</a>
on plays. It is 0.9 MB, and what you type stays on your device.</p></div>
<noscript><p class="live-note">With scripts on, the model runs here.</p></noscript>
<div class="live-before live-still" role="img" aria-label="{escape(description(p))}">
<div class="live-part">{strip(PROMPT, p, weights)}
<p class="live-note">Above stand the bytes that it has read, below each the byte that it
predicts to come next, in color where it did come.</p></div>
<div class="live-parts">
<div class="live-part"><h3>The next byte</h3>{bars(p[-1])}</div>
<div class="live-part"><h3>What head {LAYER}.{HEAD} looks at</h3>
{attention_map(weights)}</div>
</div>
</div>
<script src="../_static/live/load.js" defer></script>
<script src="../_static/live/live.js" defer></script>
</section>
"""
