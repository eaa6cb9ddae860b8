"""Moving demos: the logit lens as a table to point at, and a map of patched runs."""

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from mathlm.errors import InputError
from mathlm.plot.demo import Demo, bar, live_text, script_beside, select, value

CSS = """
.mathlm-demo[data-demo=KIND] .grid{overflow-x:auto}
.mathlm-demo[data-demo=KIND] .grid td{padding:0;border:0}
.mathlm-demo[data-demo=KIND] .grid th{font-size:.8rem;padding:.1rem .2rem}
.mathlm-demo[data-demo=KIND] .grid thead th{text-align:center;font-weight:600}
.mathlm-demo[data-demo=KIND] .grid tbody th{position:sticky;left:0;background:var(--bg)}
.mathlm-demo[data-demo=KIND] .grid button{width:100%;min-width:2.5rem;min-height:1.7rem;
border:1px solid transparent;border-radius:0;padding:0 .15rem;font-size:.8rem;
white-space:nowrap;color:var(--fg);background:var(--bg);
background:color-mix(in srgb,var(--accent) var(--p),var(--bg))}
.mathlm-demo[data-demo=KIND] .grid button[data-sign=less]{
background:color-mix(in srgb,var(--second) var(--p),var(--bg))}
.mathlm-demo[data-demo=KIND] .grid button[aria-pressed=true]{border:2px solid var(--fg);
font-weight:600}
"""


def logit_lens_demo(
    words: Sequence[str],
    depths: Sequence[str],
    tops: Sequence[Sequence[Sequence[tuple[str, float | int]]]],
    chosen: tuple[int, int] | None = None,
) -> Demo:
    """What the head would say next at every depth and position; point at a cell for its list.

    Args:
        words: The text, one token for each column.
        depths: Name of each row, the embedding first; the deepest is shown at the top.
        tops: By depth and position the most probable next tokens with their probabilities, the
            best first, everywhere as many.
        chosen: Depth and position of the cell that is open at first; None = the deepest at the
            last position.
    """
    D, T = len(depths), len(words)
    sizes = {len(cell) for row in tops for cell in row}
    if len(tops) != D or any(len(row) != T for row in tops) or len(sizes) != 1 or 0 in sizes:
        raise InputError(
            f"tops must hold {D} rows of {T} cells with as many tokens in each, found "
            f"{len(tops)} rows of {sorted({len(row) for row in tops})} with {sorted(sizes)}"
        )
    depth, place = require_cell(chosen, D, T)
    marked: list[list[list[Any]]] = [
        [[[visible(t), round(float(p), 4)] for t, p in cell] for cell in row]
        for row in reversed(tops)
    ]
    names, seen = [*reversed(depths)], [visible(word) for word in words]
    first = (D - 1 - depth) * T + place
    shown = [[(cell[0][0], float(cell[0][1]), False) for cell in row] for row in marked]
    best = marked[D - 1 - depth][place]
    return Demo(
        kind="logit-lens",
        title="The logit lens: what would be said if the model ended there",
        hint="Point at a cell, or move with the arrow keys: the list below is its prediction.",
        state={"words": seen, "depths": names, "tops": marked, "chosen": first},
        view=grid(seen, names, shown, first, "depth")
        + lens_list(best, depths[depth], seen[place]),
        script=script_beside(__file__, "logit_lens", "grid"),
        css=CSS.replace("KIND", "logit-lens"),
    )


def lens_list(best: Sequence[Sequence], depth: str, word: str) -> str:
    """The most probable tokens of one cell, and a sentence on the first."""
    rows = "".join(
        f'<tr><th scope="row">{value("token", token)}</th><td class="wide">{bar("bar", p)}</td>'
        f"<td>{value('p', f'{p:.3f}')}</td></tr>"
        for token, p in best
    )
    return live_text(
        f"Behind {value('word', word)}, at the depth {value('depth', depth)}: "
        f"{value('best', best[0][0])} with probability {value('share', f'{best[0][1]:.3f}')}."
    ) + (
        "<table><thead><tr><th>next token</th><th>probability</th><td></td></tr></thead>"
        f"<tbody>{rows}</tbody></table>"
    )


def patching_demo(
    words: Sequence[str],
    tables: Mapping[str, ArrayLike],
    axis: str = "position",
    unit: str = "share of the difference brought back",
    chosen: tuple[int, int] | None = None,
    layers: Sequence[int] | None = None,
) -> Demo:
    """What comes back when one value of a clean run is put into the other, value by value.

    Args:
        words: Name of each column: the tokens of the prompt (where two differ, both), or heads.
        tables: Name of the value that is patched -> numbers (layers, words), the first layer
            first; the last is shown at the top.
        axis: What a column is.
        unit: Of the numbers.
        chosen: Layer and column of the cell that is open at first; None = the largest of the
            first table.
        layers: Which layers the rows are; None = all from 0.
    """
    arrays = patched_tables(tables, len(words))
    first = next(iter(arrays.values()))
    L, T = first.shape
    blocks = require_layers(layers, L)
    layer, place = require_cell(chosen or divmod(int(first.argmax()), T), L, T)
    most = max(float(np.abs(table).max()) for table in arrays.values()) or 1.0
    names, seen = [f"block {i}" for i in blocks[::-1]], [visible(word) for word in words]
    shown = [
        [(_signed(x, 2), abs(x) / most, x < 0) for x in row.tolist()] for row in first[::-1]
    ]
    open_cell = (L - 1 - layer) * T + place
    return Demo(
        kind="patching-map",
        title="Patching: one value of the clean run in place of the other's",
        hint="Choose a value. Point at a cell, or move with the arrow keys.",
        state={
            "words": seen,
            "layers": names,
            "sites": [*arrays],
            "tables": [table[::-1].tolist() for table in arrays.values()],
            "most": most,
            "chosen": open_cell,
        },
        controls=select("site", "value that is patched", [*arrays]),
        view=grid(seen, names, shown, open_cell, axis)
        + live_text(
            f"{value('site-name', next(iter(arrays)))} of "
            f"{value('layer', names[L - 1 - layer])}, {escape(axis)} "
            f"{value('place', seen[place])}: "
            f"{value('number', _signed(first[layer, place], 3))}, {escape(unit)}."
        )
        + bar("bar", abs(first[layer, place]) / most),
        script=script_beside(__file__, "patching", "grid"),
        css=CSS.replace("KIND", "patching-map"),
    )


def patched_tables(tables: Mapping[str, ArrayLike], columns: int) -> dict[str, np.ndarray]:
    """The numbers of every map, rounded; refuse maps of other shapes or that are not finite."""
    arrays = {name: np.asarray(table, dtype=float).round(4) for name, table in tables.items()}
    shapes = {table.shape for table in arrays.values()}
    if len(shapes) != 1 or next(iter(shapes))[1:] != (columns,):
        raise InputError(
            f"tables of shapes {sorted(shapes)} must all be (layers, {columns}): one column "
            "for each word"
        )
    if not all(np.isfinite(table).all() for table in arrays.values()):
        raise InputError("tables hold NaN or infinite numbers: every one must be finite")
    return arrays


def grid(
    words: Sequence[str],
    rows: Sequence[str],
    cells: Sequence[Sequence[tuple[str, float, bool]]],
    chosen: int,
    corner: str,
) -> str:
    """A table of buttons: what each shows, how strongly it is colored, and whether negative."""
    head = "".join(f'<th scope="col">{escape(word)}</th>' for word in words)
    body, T = "", len(words)
    for i, (name, row) in enumerate(zip(rows, cells, strict=True)):
        body += f'<tr><th scope="row">{escape(name)}</th>'
        for j, (shown, strength, negative) in enumerate(row):
            pressed, sign = i * T + j == chosen, "less" if negative else "more"
            body += (
                f'<td><button type="button" data-name="cell" data-sign="{sign}" '
                f'style="--p:{45 * min(1.0, strength):.1f}%" tabindex="{0 if pressed else -1}" '
                f'aria-pressed="{str(pressed).lower()}">{escape(shown)}</button></td>'
            )
        body += "</tr>"
    return (
        f'<div class="grid"><table><thead><tr><th>{escape(corner)}</th>{head}</tr></thead>'
        f"<tbody>{body}</tbody></table></div>"
    )


def require_cell(chosen: tuple[int, int] | None, rows: int, columns: int) -> tuple[int, int]:
    """The cell that is open at first; refuse one that is not there."""
    row, column = (rows - 1, columns - 1) if chosen is None else chosen
    if not (0 <= row < rows and 0 <= column < columns):
        raise InputError(
            f"chosen={(row, column)}: rows are 0 to {rows - 1}, columns 0 to {columns - 1}"
        )
    return row, column


def require_layers(layers: Sequence[int] | None, rows: int) -> list[int]:
    """The number of each row's layer; refuse more or fewer than there are rows."""
    found = list(range(rows)) if layers is None else list(layers)
    if len(found) != rows:
        raise InputError(f"layers={found} must name each of {rows} rows")
    return found


def visible(token: str) -> str:
    """A token with its outer spaces and line ends as signs."""
    head = len(token) - len(token.lstrip(" "))
    shown = "␣" * head + token[head:] if token.strip(" ") else "␣" * len(token)
    return shown.replace("\n", "⏎").replace("\t", "⇥")


def _signed(x: float, digits: int) -> str:
    """A number with a real minus sign, and no minus zero, as the script writes it."""
    return f"{round(x, digits) + 0.0:.{digits}f}".replace("-", "−")
