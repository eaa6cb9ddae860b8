"""Moving demos of embeddings: the rows that a batch touches, and a map of words."""

from collections import Counter
from collections.abc import Sequence
from html import escape
from typing import Any

import numpy as np
from numpy import ndarray

from mathlm.errors import InputError
from mathlm.plot.demo import Demo, bar, live_text, script_beside, select, slider, value
from mathlm.plot.picture import axis, dots, line, picture
from mathlm.plot.picture import words as words_at

OPTIMIZERS = ("SGD", "SGD with momentum", "Adam", "SparseAdam", "AdamW")
USES = ("input only", "input and output (tied)")
MOST = 12  # tokens in a batch
AXES = ("first principal axis", "second principal axis")


ROWS_CSS = """
.mathlm-demo .cells{display:grid;grid-template-columns:repeat(auto-fill,minmax(6.6rem,1fr));
gap:.25rem;margin:.6rem 0}
.mathlm-demo .cell{border:2px solid var(--line);border-radius:.25rem;padding:.05rem .35rem;
font-size:.9rem;white-space:nowrap;overflow:hidden;color:var(--soft)}
.mathlm-demo .cell.used{background:var(--mark);color:var(--fg);font-weight:600}
.mathlm-demo .cell.moves{border-color:var(--accent)}
"""


def embedding_rows_demo(tokens: Sequence[str], size: int = 6, step: int = 2) -> Demo:
    """Batches of a text, one after another; which rows of the table they look up and move.

    Args:
        tokens: A text, as words; at least two batches of ``MOST`` tokens.
        size: Tokens in a batch at first, 1 to ``MOST``.
        step: Number of the batch shown first, from 1.

    Raises:
        InputError: If the text is too short, or a number is out of range.
    """
    steps = len(tokens) // MOST
    if steps < 2 or not 1 <= size <= MOST or not 1 <= step <= steps:
        raise InputError(
            f"{len(tokens)} tokens, size={size}, step={step}: expected at least {2 * MOST} "
            f"tokens, size 1 to {MOST} and step 1 to {max(steps, 1)}"
        )
    often = Counter(tokens)
    words = sorted(often, key=lambda w: (-often[w], tokens.index(w)))
    batch = Counter(tokens[(step - 1) * size : step * size])
    cells = "".join(_cell(word, batch[word]) for word in words)
    n = str(len(batch))
    return Demo(
        kind="embedding-rows",
        title="Which rows of an embedding table does a batch touch, and which rows move?",
        hint="Take Adam and go on by one batch: rows that were looked up earlier still move.",
        controls=slider("size", "tokens in a batch", 1, MOST, 1, size)
        + slider("step", "step", 1, steps, 1, step)
        + select("optimizer", "optimizer", OPTIMIZERS)
        + select("use", "table is used as", USES),
        view=live_text(
            f"Batch: {value('batch', ' '.join(tokens[(step - 1) * size :][:size]))}."
        )
        + f'<div class="cells">{cells}</div>'
        + live_text(
            f"Of {len(words)} rows {value('looked', n)} are looked up (filled), "
            f"{value('gradient', n)} get a gradient and {value('moves', n)} move (framed, →)."
        ),
        script=script_beside(__file__, "embedding_rows"),
        state={"words": words, "tokens": [words.index(t) for t in tokens]},
        css=ROWS_CSS,
    )


def _cell(word: str, times: int) -> str:
    """One row of the table, under plain SGD: what is looked up moves."""
    kind = " used moves" if times else ""
    mark = (f" ×{times}" if times > 1 else "") + (" →" if times else "")
    return (
        f'<span class="cell{kind}" data-name="row">{escape(word)}'
        f'<span data-name="times">{mark}</span></span>'
    )


def word_neighbors_demo(
    words: Sequence[str], vectors: ndarray, places: ndarray, chosen: int = 0, k: int = 5
) -> Demo:
    """A map of words; point at one and see its nearest neighbors in the full space.

    Args:
        words: Words on the map, more than k.
        vectors: Their vectors (words, D), none of them zero.
        places: Where the map shows them (words, 2).
        chosen: Word that is shown first.
        k: Neighbors shown.

    Raises:
        InputError: If the arguments do not fit each other, or a number is not finite, a vector
            zero, or the chosen word not there.
    """
    vectors, places = np.asarray(vectors, float), np.asarray(places, float)
    shapes = (vectors.shape[:1], places.shape)
    if shapes != ((len(words),), (len(words), 2)) or not 0 < k < len(words):
        raise InputError(
            f"{len(words)} words, vectors {vectors.shape}, places {places.shape}, k={k}: "
            "expected one vector and two coordinates a word, and fewer neighbors than words"
        )
    length = np.linalg.norm(vectors, axis=1, keepdims=True)
    finite = np.isfinite(length).all() and np.isfinite(places).all()
    if not finite or not length.all() or not 0 <= chosen < len(words):
        raise InputError(
            f"chosen={chosen} of {len(words)} words, vectors of length {length.min():g} to "
            f"{length.max():g}: expected a word that is there, and finite vectors, none zero"
        )
    unit = vectors / length
    cosines = unit @ unit.T - 2 * np.eye(len(words))  # a word is not its own neighbor
    near = np.argsort(-cosines, axis=1, kind="stable")[:, :k]
    close = np.take_along_axis(cosines, near, axis=1).round(3)
    x, y = (_axis(places[:, i], name) for i, name in enumerate(AXES))
    return Demo(
        kind="word-neighbors",
        title="A map of words, and the neighbors that it hides",
        hint="Point at a word, or move with the arrow keys: the lines lead to its neighbors.",
        controls=select("choice", "word", words, chosen),
        view=_map(words, places, near[chosen], chosen, x, y)
        + _neighbors(words, near[chosen], close[chosen], chosen),
        script=script_beside(__file__, "word_neighbors"),
        state={
            "words": list(words),
            "places": places.round(4).tolist(),
            "x": x,
            "y": y,
            "neighbors": near.tolist(),
            "cosines": close.tolist(),
        },
    )


def _axis(places: ndarray, name: str) -> dict[str, Any]:
    """An axis with room for a word at both ends."""
    low, high = float(places.min()), float(places.max())
    room = 0.12 * (high - low or 1)
    return axis(low - room, high + room, name)


def _map(
    words: Sequence[str],
    places: ndarray,
    near: ndarray,
    chosen: int,
    x: dict[str, Any],
    y: dict[str, Any],
) -> str:
    """Lines from the chosen word to its neighbors, and all words as dots with names."""
    lit = {chosen: "accent"} | {int(j): "second" for j in near}
    order = sorted(range(len(words)), key=lambda j: j in lit)
    marks = [line([places[chosen], places[j]], "second", width=1.5) for j in near]
    marks += [dots([places[j]], lit.get(j, "soft"), size=4) for j in order]
    for j in order:
        look: dict[str, Any] = (
            {"color": "fg", "size": 14, "weight": 600} if j in lit else {"color": "soft"}
        )
        marks.append(words_at(places[j], words[j], anchor="middle", dy=-9, **look))
    return picture("map", "words on two axes", x, y, marks, aspect=0.9, tallest=420)


def _neighbors(words: Sequence[str], near: ndarray, close: ndarray, chosen: int) -> str:
    """Table of the neighbors of a word with their cosines."""
    rows = "".join(
        f'<tr><th scope="row">{value("neighbor", words[j])}</th>'
        f'<td class="wide">{bar("bar", max(0.0, c))}</td>'
        f"<td>{value('cosine', f'{c:.2f}'.replace('-', '−'))}</td></tr>"
        for j, c in zip(near, close, strict=True)
    )
    return (
        live_text(f"Nearest to {value('center', words[chosen])}, in all dimensions:")
        + f"<table><thead><tr><th>word</th><th>cosine</th><td></td></tr></thead>"
        f"<tbody>{rows}</tbody></table>"
    )


__all__ = ["embedding_rows_demo", "word_neighbors_demo"]
