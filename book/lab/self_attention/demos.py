"""Moving demos of self-attention: a matrix of real weights, and what its cost is made of."""

from collections.abc import Mapping, Sequence
from html import escape

import numpy as np
from numpy import ndarray
from numpy.typing import ArrayLike

from mathlm.errors import InputError
from mathlm.plot.demo import (
    Demo,
    button,
    live_text,
    scientific,
    script_beside,
    select,
    slider,
    value,
)
from mathlm.plot.picture import axis, dots, legend, line, picture


def attention_matrix_demo(
    examples: Mapping[str, tuple[Sequence[str], ArrayLike]],
    *,
    causal: bool = True,
    query: int = 0,
    key: int = 0,
) -> Demo:
    """An attention matrix to walk through, with the causal mask on or off.

    Args:
        examples: Name -> (words, scores before the softmax, one query in each row).
        causal: Whether the mask is on at first.
        query: Row of the cell that is read out at first.
        key: Its column.
    """
    if not examples:
        raise InputError("there is no example to show: give at least one name with its scores")
    kept = [_example(name, *found) for name, found in examples.items()]
    words, scores = kept[0]
    if not (0 <= query < len(words) and 0 <= key < len(words)):
        raise InputError(f"query={query}, key={key} must be among the {len(words)} words")
    width, weights = max(len(w) for w, _ in kept), _weights(scores, causal)
    shown = f"{weights[query, key]:.3f}" if key <= query or not causal else "0 (hidden)"
    return Demo(
        kind="attention-matrix",
        title="Who reads whom: rows ask, columns are read",
        hint="Point at a cell, or move with the arrow keys. Turn the mask off: the same "
        "scores, with the future in sight.",
        state={
            "examples": [{"words": w, "scores": s.tolist()} for w, s in kept],
            "width": width,
            "causal": causal,
            "query": query,
            "key": key,
        },
        controls=select("example", "head and sentence", list(examples))
        + button("mask", "causal mask", pressed=causal),
        view=_table(words, weights, width, causal)
        + live_text(
            f"{value('query', words[query])} gives {value('key', words[key])} the weight "
            f"{value('weight', shown)}. Its row sums to {value('sum', '1.00')}."
        ),
        script=script_beside(__file__, "attention_matrix"),
        css=MATRIX_CSS,
    )


MATRIX_CSS = """
.mathlm-demo[data-demo=attention-matrix] table{width:auto;border-spacing:1px}
.mathlm-demo[data-demo=attention-matrix] th{border:0;font-size:.8rem;padding:0 .3rem;
max-width:5.5rem;overflow:hidden;text-overflow:ellipsis}
.mathlm-demo[data-demo=attention-matrix] thead th{writing-mode:vertical-rl;
transform:rotate(180deg);text-align:left;padding:.2rem 0;max-height:5.5rem}
.mathlm-demo[data-demo=attention-matrix] td{width:1.7rem;height:1.7rem;min-width:1.2rem;
padding:0;border:1px solid var(--line);cursor:default;
background:color-mix(in srgb,var(--accent) var(--share),var(--track))}
.mathlm-demo[data-demo=attention-matrix] td[data-hidden=true]{
background:repeating-linear-gradient(45deg,var(--bg) 0 3px,var(--line) 3px 4px)}
.mathlm-demo[data-demo=attention-matrix] td[aria-selected=true]{outline:2px solid var(--second)}
"""


def attention_cost_demo(length: int = 10, width: int = 10) -> Demo:
    """Length and width to choose; the two parts of the work of a layer follow.

    Args:
        length: Initial logarithm of n in base 2, between 5 and 20.
        width: Initial logarithm of d in base 2, between 5 and 14.
    """
    if not (5 <= length <= 20 and 5 <= width <= 14):
        raise InputError(
            f"length={length} must lie between 5 and 20 and width={width} between 5 and 14"
        )
    n, d = 2**length, 2**width
    pairs, maps = 2 * n * n * d, 4 * n * d * d
    return Demo(
        kind="attention-cost",
        title="What a layer of self-attention multiplies",
        hint="Find lengths at which both parts are equal: n = 2d.",
        controls=slider("length", "length n (log scale)", 5, 20, 0.25, length).replace(
            f'length-value">{length}<', f'length-value">{n:,}<'
        )
        + slider("width", "width d (log scale)", 5, 14, 0.25, width).replace(
            f'width-value">{width}<', f'width-value">{d:,}<'
        ),
        view=f'<p class="still">n = {n:,}, d = {d:,}.</p>'
        + legend((("accent", "pairs, 2n²d"), ("second", "projections, 4nd²")))
        + _work(n, d)
        + live_text(
            f"Pairs: {value('pairs', scientific(pairs, 2))} multiply-adds. Projections: "
            f"{value('maps', scientific(maps, 2))}. The pairs are "
            f"{value('share', f'{100 * pairs / (pairs + maps):.0f}')} % of the work. "
            f"Weights, if stored: {value('weights', scientific(n * n, 2))} a head."
        ),
        script=script_beside(__file__, "attention_cost"),
    )


def _work(n: int, d: int) -> str:
    """Both parts of the work by length, on logarithmic axes."""
    ends, marks = np.array([32.0, 2.0**20]), []
    for found, color in ((2 * ends**2 * d, "accent"), (4 * ends * d**2, "second")):
        marks.append(line(zip(ends, found, strict=True), color))
    marks.append(line([(n, 1e4), (n, 1e17)], "soft", width=1, dash="3 3"))
    marks.append(dots([(n, 2 * n * n * d)], "accent", size=6))
    marks.append(dots([(n, 4 * n * d * d)], "second", size=6))
    return picture(
        "work",
        "multiply-adds of the pairs and of the projections by length, on logarithmic axes",
        axis(ends[0], ends[1], "length n [tokens]", log=True),
        axis(1e4, 1e17, "multiply-adds of a layer", log=True),
        marks,
        aspect=0.5,
    )


def _example(name: str, words: Sequence[str], scores: ArrayLike) -> tuple[list[str], ndarray]:
    """Words and rounded scores of one example."""
    table = np.asarray(scores, dtype=float)
    if not words or table.shape != (len(words), len(words)):
        raise InputError(f"{name!r} has {len(words)} words and scores of shape {table.shape}")
    if not np.isfinite(table).all():
        raise InputError(f"{name!r} has scores that are not finite: give them without a mask")
    return list(words), table.round(2) + 0.0


def _weights(scores: ndarray, causal: bool) -> ndarray:
    """Softmax of each row, of the visible part."""
    seen = np.where(np.tri(len(scores), dtype=bool) | (not causal), scores, -np.inf)
    powers = np.exp(seen - seen.max(1, keepdims=True))
    return powers / powers.sum(1, keepdims=True)


def _table(words: list[str], weights: ndarray, width: int, causal: bool) -> str:
    """The matrix as cells that can be focused, wide enough for the longest example."""
    names = words + [""] * (width - len(words))
    head = "".join(f'<th scope="col" data-name="head">{escape(w)}</th>' for w in names)
    rows = "".join(
        f'<tr><th scope="row" data-name="row">{escape(w)}</th>'
        + "".join(_cell(weights, t, s, causal) for s in range(width))
        + "</tr>"
        for t, w in enumerate(names)
    )
    return (
        f'<table role="grid" aria-label="attention weights"><thead><tr><td></td>{head}</tr>'
        f"</thead><tbody>{rows}</tbody></table>"
    )


def _cell(weights: ndarray, t: int, s: int, causal: bool) -> str:
    if t >= len(weights) or s >= len(weights):
        return '<td data-name="cell" style="visibility:hidden"></td>'
    hidden = str(causal and s > t).lower()
    share = round(100 * float(weights[t, s]))
    return f'<td data-name="cell" data-hidden="{hidden}" style="--share:{share}%"></td>'
