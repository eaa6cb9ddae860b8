"""Figures on what a model computes on the way: what each depth says, what patching shows."""

from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import ArrayLike

from ..errors import InputError
from .interpretability_demos import require_layers, visible
from .style import BLUE, COLORS, DIVERGING, GRAY, RED, SEQUENTIAL, WIDE


def lens_table(
    words: Sequence[str],
    depths: Sequence[str],
    tops: Sequence[Sequence[str]],
    probabilities: ArrayLike,
) -> Figure:
    """What the head would say next at every depth and position, colored by its probability.

    Args:
        words: The text, one token for each column.
        depths: Name of each row, the embedding first; it is drawn at the bottom.
        tops: Most probable next token, by depth and position.
        probabilities: Of those tokens, (depths, words).
    """
    table = np.asarray(probabilities, dtype=float)
    sizes = {len(row) for row in tops} | {len(words)}
    if table.shape != (len(depths), len(words)) or len(tops) != len(depths) or len(sizes) > 1:
        raise InputError(
            f"probabilities {table.shape} and {len(tops)} rows of tops must be "
            f"({len(depths)}, {len(words)}): depths and words"
        )
    fig, ax = plt.subplots(figsize=(6.4, 1.3 + 0.27 * len(depths)))
    image = ax.imshow(table, cmap=SEQUENTIAL, vmin=0, vmax=1, aspect="auto", origin="lower")
    for (i, j), p in np.ndenumerate(table):
        color = "white" if p < 0.6 else "black"
        ax.text(j, i, marked(tops[i][j]), ha="center", va="center", color=color, fontsize=8)
    label_axes(ax, words, depths, "text that is read")
    fig.colorbar(image, ax=ax, label="probability of the token shown", shrink=0.8)
    return fig


def patching_maps(
    tables: Mapping[str, ArrayLike],
    places: Sequence[str],
    axis: str = "position patched",
    unit: str = "share of the difference brought back",
    layers: Sequence[int] | None = None,
) -> Figure:
    """What comes back when one value of a clean run is put in, by layer and place.

    Args:
        tables: Name of the value -> table (layers, places), the first layer first; it is drawn
            at the bottom. All panels have one scale, and 0 is white.
        places: Name of each column: tokens, or heads.
        axis: What a column is.
        unit: Of the numbers.
        layers: Which layers the rows are; None = all from 0.
    """
    arrays = {name: np.asarray(table, dtype=float) for name, table in tables.items()}
    for name, table in arrays.items():
        if table.ndim != 2 or table.shape[1] != len(places):
            raise InputError(
                f"table {name!r} {table.shape} must be (layers, {len(places)}): one column for "
                "each place"
            )
    most = max(np.abs(table).max() for table in arrays.values())
    n, rows = len(arrays), max(len(table) for table in arrays.values())
    size = (6.4, 1.6 + 0.12 * max(rows, 12))
    fig, panels = plt.subplots(1, n, figsize=size, sharey=True, squeeze=False)
    for ax, (name, table) in zip(panels[0], arrays.items(), strict=True):
        image = ax.imshow(
            table, cmap=DIVERGING, vmin=-most, vmax=most, aspect="auto", origin="lower"
        )
        label_axes(ax, places, None, axis)
        if layers is not None:
            ax.set_yticks(range(rows), [str(i) for i in require_layers(layers, rows)])
        ax.set_title(name, fontsize=10)
    fig.colorbar(image, ax=panels, label=unit, shrink=0.8)
    return fig


def depth_curves(curves: Mapping[str, ArrayLike], unit: str) -> Figure:
    """A number of the logit lens by depth, one curve for each token or text.

    Args:
        curves: Name -> numbers by depth, the embedding first.
        unit: Label of the vertical axis.
    """
    fig, ax = plt.subplots(figsize=WIDE)
    for i, (name, curve) in enumerate(curves.items()):
        ax.plot(np.asarray(curve), "-o", ms=3, color=COLORS[i % len(COLORS)], label=name)
    ax.axhline(0, color=GRAY, lw=0.8)
    ax.set(xlabel="depth: blocks behind the embedding", ylabel=unit)
    ax.legend(fontsize=9)
    return fig


def largest_shares(shares: Mapping[str, float | int], unit: str, most: int = 12) -> Figure:
    """The parts of a model that add most to a logit, or take most away, and all the rest.

    Args:
        shares: Name of the part -> what it adds; their sum is the logit.
        unit: Label of the horizontal axis.
        most: Bars, the last of which sums up the parts that have none.
    """
    if not shares or most < 2:
        raise InputError(f"{len(shares)} shares and most={most}: expected some, and 2 bars")
    ordered = sorted(shares.items(), key=lambda item: -abs(item[1]))
    kept, rest = ordered[: most - 1], ordered[most - 1 :]
    names, values = [name for name, _ in kept], [float(x) for _, x in kept]
    if rest:
        names, values = [*names, f"{len(rest)} others"], [*values, sum(x for _, x in rest)]
    fig, ax = plt.subplots(figsize=(6.4, 0.9 + 0.26 * len(names)))
    ax.barh(names, values, color=[BLUE if x >= 0 else RED for x in values])
    ax.invert_yaxis()
    ax.axvline(0, color=GRAY, lw=0.8)
    ax.tick_params(axis="y", labelsize=9)
    ax.grid(axis="y", visible=False)
    ax.set(xlabel=unit, ylabel="part of the model")
    return fig


def label_axes(ax: Axes, places: Sequence[str], rows: Sequence[str] | None, axis: str) -> None:
    """Names of the columns and rows of a table of colors."""
    turn: dict[str, Any] = (
        {"rotation": 60, "ha": "right"} if max(map(len, places), default=0) > 2 else {}
    )
    ax.set_xticks(range(len(places)), [marked(place) for place in places], fontsize=9, **turn)
    if rows is not None:
        ax.set_yticks(range(len(rows)), list(rows), fontsize=9)
    ax.set(xlabel=axis, ylabel="layer" if rows is None else "depth")
    ax.grid(False)


def marked(token: str) -> str:
    """A token with signs for its spaces, of which none makes a formula."""
    return visible(token).replace("$", "\\$")
