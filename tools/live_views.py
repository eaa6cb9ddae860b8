"""The pictures of the live model in chapters: what each view shows before its first use.

``VIEWS`` names each view, the page that holds it and the state that it starts from, as
``live.js`` reads it from a link. A page marks the place with ``data-live="NAME"`` in an HTML
block that holds a sentence for Jupyter; ``book/_ext/live_places.py`` puts the picture there.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from html import escape
from itertools import islice
from typing import Any
from urllib.parse import quote_from_bytes

import torch
from live_picture import attention_map, bars, percent, sign, spoken, strip
from torch import Tensor

from mathlm.interpret import activation_patching, record, recovered, without_heads
from mathlm.models import GPT

State = Mapping[str, Any]
PROMPTS = "prompt", "other"
WRITTEN = 120  # bytes of each text that "sampling" writes, as in views.js
LETTERS = {
    "prompt": "p", "seed": "s", "temperature": "t", "topP": "k", "temperature2": "u",
    "topP2": "l", "byte": "b", "byte2": "c", "other": "o", "depth": "d", "at": "i",
}  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class View:
    """A place for the live model in a chapter."""

    page: str
    view: str
    title: str
    state: State


@dataclass(frozen=True)
class Tools:
    """What the pictures are computed with, of ``live_weights.py``."""

    model: GPT
    logits: Callable[..., Tensor]
    written: Callable[..., list[int]]
    uniform: Callable[[int], Any]
    without_positions: Callable[..., Any]

    def probabilities(self, ids: list[int], **switches: Any) -> Tensor:
        """Of the byte after each position, (T, V)."""
        return self.logits(self.model, {"ids": ids, **switches}).softmax(-1)

    def weights(self, ids: list[int], layer: int, head: int, positions: bool) -> Tensor:
        """Of one head, (T, T)."""
        with self.without_positions(self.model, not positions):
            taps = record(self.model, torch.tensor([ids]))
        return taps[f"blocks.{layer}.attention.weights"][0, head]


THOU, THEY = list(b"I know that thou ar"), list(b"I know that they ar")
ROMEO = list(b"JULIET:\nO Romeo, Romeo! wherefore art thou Rom")
PLAIN = {"temperature": 1, "topP": 1}
VIEWS = {
    "self-attention": View(
        page="11-self-attention",
        view="map",
        title="The 16 heads of a small model, on your text",
        state={"prompt": THOU, **PLAIN, "layer": 2, "head": 1},
    ),
    "multi-head": View(
        page="13-multi-head-attention",
        view="map",
        title="Sixteen heads to switch off",
        state={"prompt": THOU, **PLAIN, "layer": 0, "head": 1, "off": [[0, 1], [0, 2]]},
    ),
    "positions": View(
        page="14-positional-encoding",
        view="positions",
        title="A model that loses its positions",
        state={"prompt": ROMEO, **PLAIN, "layer": 0, "head": 1, "positions": False},
    ),
    "sampling": View(
        page="20-generation",
        view="sampling",
        title="Two settings, the same random numbers",
        state={"prompt": list(b"JULIET:\n"), **PLAIN, "seed": 5, "topP2": 0.9},
    ),
    "ablation": View(
        page="25-interpretability",
        view="ablation",
        title="Each head off in turn",
        state={"prompt": THOU, "layer": 2, "head": 1, "byte": ord("t")},
    ),
    "patching": View(
        page="25-interpretability",
        view="patching",
        title="One vector of another run",
        state={"prompt": THOU, "other": THEY, "byte": ord("t"), "byte2": ord("e"), "at": 18,
               "depth": 3},
    ),
}  # fmt: skip


def link(state: State) -> str:
    """The state as in a link: what stands after ``#live:``."""
    parts = []
    for name, value in state.items():
        if letter := LETTERS.get(name):
            text = quote_from_bytes(bytes(value), safe="") if name in PROMPTS else value
            parts.append(f"{letter}={text}")
    if off := state.get("off"):
        parts.append("x=" + "_".join(f"{layer}-{head}" for layer, head in off))
    if not state.get("positions", True):
        parts.append("r=0")
    if "layer" in state:
        parts.append(f"h={state['layer']}-{state['head']}")
    return "&".join(parts)


# --- each view: its picture, and the same in words -----------------------------------------


def name(ids: list[int]) -> str:
    """A prompt as one line of text."""
    return " ".join(bytes(ids).decode().split())


def note(text: str) -> str:
    return f'<p class="live-note">{text}</p>'


def what_is_off(state: State) -> str:
    """A sentence, if something is."""
    heads = " and ".join(f"{layer}.{head}" for layer, head in state.get("off", ()))
    if heads:
        return f"Heads {heads} are off; a line marks the probability of the whole model."
    if not state.get("positions", True):
        return "Positions are off; a line marks the probability of the whole model."
    return ""


def part(title: str, body: str) -> str:
    return f'<div class="live-part"><h4>{title}</h4>{body}</div>'


def model_picture(tools: Tools, state: State) -> tuple[str, str]:
    """Of "map" and "positions": predictions, a map and bars."""
    ids, layer, head = state["prompt"], state["layer"], state["head"]
    switches = {key: state[key] for key in ("off", "positions") if key in state}
    p = tools.probabilities(ids, **switches)
    weights = tools.weights(ids, layer, head, state.get("positions", True))
    whole = tools.probabilities(ids) if switches else None
    end, guess = p[-1], int(p[-1].argmax())
    last = None if whole is None else whole[-1]
    words = (
        f"A language model has read “{name(ids)}” byte by byte. After the last byte it expects "
        f"{spoken(guess)} with {percent(float(end[guess]))}"
    )
    if last is not None:
        words += f"; the whole model expects {spoken(int(last.argmax()))} with "
        words += percent(float(last.max()))
    s = int(weights[-1].argmax())
    words += (
        f". Head {layer}.{head} reads {spoken(ids[s])} at position {s} from there, with "
        f"{percent(float(weights[-1, s]))} of its weight."
    )
    said = "Above the bytes that it has read, below each the byte that it predicts to come next"
    said += ", then what the whole model predicts. " if whole is not None else "."
    first = strip(ids, p, weights, whole) + note(said + what_is_off(state))
    second = part(f"What head {layer}.{head} looks at", attention_map(weights))
    second += part("The next byte", bars(end, last))
    return f'<div class="live-part">{first}</div><div class="live-parts">{second}</div>', words


def grid(
    columns: list[str], rows: list[str], cells: list[list[tuple[str, float, bool]]]
) -> str:
    """A table of words, each with the strength of its color and which color it is."""
    heads = "".join(f"<th>{column}</th>" for column in columns)
    top = f"<thead><tr><td></td>{heads}</tr></thead>"
    body = "".join(
        f"<tr><th>{row}</th>" + "".join(
            f'<td><div class="live-cell{" against" * against}" '
            f'style="--strength:{45 * min(1, abs(strength)):.0f}%">{escape(words)}</div></td>'
            for words, strength, against in line
        ) + "</tr>"
        for row, line in zip(rows, cells, strict=True)
    )  # fmt: skip
    return f'<table class="live-grid">{top}<tbody>{body}</tbody></table>'


def ablation_picture(tools: Tools, state: State) -> tuple[str, str]:
    """The probability of a byte without each head."""
    ids, byte, (layer, head) = state["prompt"], state["byte"], (state["layer"], state["head"])
    L, H = tools.model.config.n_layers, tools.model.config.n_heads
    gone = torch.eye(L * H, dtype=torch.bool).view(L * H, L, H)
    rows = torch.tensor([ids]).expand(L * H, -1)
    whole = tools.probabilities(ids)[-1]
    without = without_heads(tools.model, rows, gone)[:, -1].softmax(-1).view(L, H, -1)
    nats = (without[..., byte] / whole[byte]).log().tolist()
    cells = [
        [(percent(float(without[i, j, byte])), nats[i][j], nats[i][j] > 0) for j in range(H)]
        for i in range(L)
    ]
    table = grid([f"head {j}" for j in range(H)], [f"layer {i}" for i in range(L)], cells)
    one = without[layer, head]
    inside = f'<div class="live-parts">{part("Its probability without each head", table)}'
    inside += part(f"Without head {layer}.{head}", bars(one, whole, 6)) + "</div>"
    said = f"After “{escape(name(ids))}”: the probability of {spoken(byte)}. "
    inside += note(f"{said}All on: {percent(float(whole[byte]))}, marked by a line.")
    words = (
        f"A table: after “{name(ids)}” a language model gives {spoken(byte)} "
        f"{percent(float(whole[byte]))}. Each cell has the probability with one of its {L * H} "
        f"heads off. It is lowest, {percent(float(without[..., byte].min()))}, without head "
        "{}.{}".format(*divmod(int(without[..., byte].argmin()), H))
        + f", where {spoken(int(one.argmax()))} becomes the likeliest."
    )
    return inside, words


def patching_picture(tools: Tools, state: State) -> tuple[str, str]:
    """The share that each vector of the clean run brings back."""
    clean, corrupt = state["prompt"], state["other"]
    pair = torch.tensor([clean]), torch.tensor([corrupt])

    def metric(z: Tensor) -> Tensor:
        return z[:, -1, state["byte"]] - z[:, -1, state["byte2"]]

    before = activation_patching(tools.model, *pair, metric, "resid_pre")
    last = tools.model.config.n_layers - 1
    after = activation_patching(tools.model, *pair, metric, "resid_post", [last])
    with torch.no_grad():
        ends = [metric(tools.model(ids)).item() for ids in pair]
    shares = recovered(torch.cat([before, after]), *ends)  # (L + 1, T)
    first = next(t for t, (a, b) in enumerate(zip(clean, corrupt, strict=True)) if a != b)
    rows = [
        f"{t} <b>{escape(sign(a) if a == b else f'{sign(a)}|{sign(b)}')}</b>"
        for t, (a, b) in enumerate(zip(clean, corrupt, strict=True))
    ][first:]
    cells = [
        [
            (f"{x + 0.0:.2f}".replace("-0.00", "0.00").replace("-", "−"), x, x < 0)
            for x in column
        ]
        for column in shares[:, first:].T.tolist()
    ]
    columns = [f"before {i}" for i in range(last + 1)] + [f"after {last}"]
    inside = part("What one vector of the clean run brings back", grid(columns, rows, cells))
    said = f"Clean: “{escape(name(clean))}”, corrupt: “{escape(name(corrupt))}”. A row is a "
    said += "position, a column a place in the stream, before a block or after the last. "
    said += f"Shares of the logit of {spoken(state['byte'])} less that of "
    inside += note(f"{said}{spoken(state['byte2'])}.")
    most = [first + int(row[first:].argmax()) for row in shares]
    words = (
        f"A table of shares, by position and layer. The clean prompt is “{name(clean)}”, the "
        f"corrupt one “{name(corrupt)}”. Before block 0 most of the difference between the "
        f"answers {spoken(state['byte'])} and {spoken(state['byte2'])} is at position "
        f"{most[0]}, with {float(shares[0, most[0]]):.2f}; before block {last} at position "
        f"{most[last]}, with {float(shares[last, most[last]]):.2f}."
    )
    return inside, words


def pieces(p: Tensor) -> str:
    """The interval from 0 to 1, cut in the order of the bytes; thin pieces in one."""
    found, rest = [], 0.0
    for byte, share in enumerate(p.tolist()):
        if share < 0.004:
            rest += share
            continue
        if rest > 0:
            found.append(f'<span style="width:{100 * rest:.2f}%"></span>')
        rest = 0.0
        words = escape(sign(byte)) if share > 0.035 else ""
        odd = ' class="odd"' * (byte % 2)
        found.append(f'<span{odd} style="width:{100 * share:.2f}%">{words}</span>')
    if rest > 0:
        found.append(f'<span style="width:{100 * rest:.2f}%"></span>')
    return f'<div class="live-pieces">{"".join(found)}</div>'


def kept(p: Tensor, top_p: float) -> Tensor:
    """The fewest bytes that reach top-p, and what is left of 1 is shared."""
    order = p.argsort(descending=True, stable=True)
    before = p[order].cumsum(0) - p[order]
    q = p.clone()
    q[order[before >= top_p]] = 0
    return q / q.sum()


def sampling_picture(tools: Tools, state: State) -> tuple[str, str]:
    """Two texts from the same random numbers, and the draw at which they part."""
    ids, settings = state["prompt"], [(1, state["topP"]), (1, state["topP2"])]
    texts = [tools.written(tools.model, ids, WRITTEN, t, k, state["seed"]) for t, k in settings]
    n = next(i for i, (a, b) in enumerate(zip(*texts, strict=True)) if a != b)
    u = next(islice(tools.uniform(state["seed"]), n, None))
    p = tools.probabilities([*ids, *texts[0][:n]])[-1]
    inside = '<div class="live-parts">'
    for title, (_, top_p), text in zip(("First", "Second"), settings, texts, strict=True):
        same, here, rest = (
            escape(bytes(x).decode()) for x in (text[:n], text[n : n + 1], text[n + 1 :])
        )
        shown = f"<span>{escape(bytes(ids).decode())}</span><b>{same}</b>"
        shown += f'<mark class="apart">{here}</mark><b class="apart">{rest}</b>'
        inside += part(f"{title} setting: top-p {top_p}", f'<p class="live-output">{shown}</p>')
    draws = "".join(pieces(kept(p, k)) for _, k in settings)
    needle = f'<i style="left:{100 * u:.2f}%"></i>'
    said = (
        "Each strip is the interval from 0 to 1, first setting above, cut into one piece for "
    )
    said += f"each byte that can be drawn. The line is the random number, {u:.3f}, for both."
    draw = f'<div class="live-draw">{draws}{needle}</div>{note(said)}'
    inside += "</div>" + part(f"The draw of byte {n + 1}", draw)
    words = (
        f"Two texts that begin with “{name(ids)}”, written with top-p {settings[0][1]} and "
        f"{settings[1][1]} from the same random numbers. Their first {n} bytes are the same; "
        f"byte {n + 1} is {spoken(texts[0][n])} in the first and {spoken(texts[1][n])} in the "
        "second."
    )
    return inside, words


PICTURES = {
    "map": model_picture,
    "positions": model_picture,
    "ablation": ablation_picture,
    "patching": patching_picture,
    "sampling": sampling_picture,
}


def picture(tools: Tools, view: View) -> str:
    """The picture of one view, and the button that starts it."""
    inside, words = PICTURES[view.view](tools, view.state)
    return f"""\
<link rel="stylesheet" href="../_static/live/live.css">
<section class="live-model tex2jax_ignore mathjax_ignore" data-live data-view="{view.view}"
  data-state="{escape(link(view.state))}" aria-label="{view.title}">
<h3 class="live-title">{view.title}</h3>
<div class="live-before live-row"><button type="button" class="live-start live-main" hidden>
Start the model</button>
<p class="live-note">The GPT of <a href="19-pretraining.html">chapter 19</a> runs in this page:
0.9 MB, and what you type stays on your device.</p></div>
<noscript><p class="live-note">With scripts on, the model runs here.</p></noscript>
<div class="live-before live-still" role="img" aria-label="{escape(words)}">
{inside}
</div>
<script src="../_static/live/load.js" defer></script>
<script src="../_static/live/live.js" defer></script>
</section>
"""


def pictures(tools: Tools) -> dict[str, str]:
    """Each picture by the name of its file."""
    return {f"still-{name}.html": picture(tools, view) for name, view in VIEWS.items()}
