"""Figures that several pages share."""

import textwrap
from collections.abc import Mapping, Sequence

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import ListedColormap, LogNorm
from matplotlib.figure import Figure
from numpy.typing import ArrayLike

from ..reference import Reliability
from .style import BLUE, COLORS, GRAY, MARKS, SEQUENTIAL


def curve_panels(
    x: ArrayLike,
    panels: Mapping[str, Mapping[str, ArrayLike]],
    xlabel: str,
    logarithmic: str = "",
    sharey: bool = False,
) -> Figure:
    """The same curves seen in several measures, one panel for each.

    Args:
        x: Where all curves were taken.
        panels: Label of the vertical axis -> name of the curve -> values. The names of the
            first panel stand in the legend.
        xlabel: Label of the horizontal axis.
        logarithmic: Which axes are, "", "x", "y" or "xy".
        sharey: Whether all panels have one vertical axis.

    Example:
        >>> panels = {"loss [nats]": {"GPT": [3.0, 2.0]}, "accuracy": {"GPT": [0.25, 0.5]}}
        >>> figure = curve_panels([1, 2], panels, xlabel="step")
        >>> [ax.get_ylabel() for ax in figure.axes]
        ['loss [nats]', 'accuracy']
    """
    fig, axes = plt.subplots(1, len(panels), figsize=(6.4, 3.4), squeeze=False, sharey=sharey)
    for ax, (label, curves) in zip(axes[0], panels.items(), strict=True):
        for i, (name, values) in enumerate(curves.items()):
            mark = MARKS[i % len(MARKS)] if np.size(np.asarray(values)) <= 20 else ""
            ax.plot(x, values, color=COLORS[i % len(COLORS)], marker=mark, ms=4, label=name)
        scale(ax, logarithmic)
        ax.set_xlabel(xlabel)
        ax.set_ylabel(label) if not sharey else ax.set_title(label, fontsize=11)
    handles, names = axes[0][0].get_legend_handles_labels()
    fig.legend(handles, names, loc="outside lower center", ncols=min(4, len(names)), fontsize=9)
    return fig


def head_maps(words: Sequence[str], maps: Mapping[str, ArrayLike]) -> Figure:
    """Four real attention matrices over one sentence.

    Args:
        words: Tokens of the sentence.
        maps: Title and attention matrix, queries in rows.

    Example:
        >>> maps = {f"head {h}": np.eye(2) for h in range(4)}
        >>> [ax.get_title() for ax in head_maps(["To", "be"], maps).axes]
        ['head 0', 'head 1', 'head 2', 'head 3']
    """
    fig, axes = plt.subplots(2, 2, figsize=(6.4, 6.4), sharex=True, sharey=True)
    for ax, (title, weights) in zip(axes.flat, maps.items(), strict=True):
        ax.imshow(np.asarray(weights, dtype=float), cmap=SEQUENTIAL, vmin=0, vmax=1)
        ax.set_title(title, fontsize=11)
        token_axes(ax, words, words, size=9 if len(words) <= 14 else 6)
    return fig


def influence_maps(maps: Mapping[str, ArrayLike]) -> Figure:
    """Which outputs depend on which inputs; what is exactly zero stays white.

    Args:
        maps: Title and matrix of sizes, output positions in rows, input positions in columns.

    Example:
        >>> figure = influence_maps({"causal": np.tril(np.ones((3, 3)))})
        >>> figure.axes[0].get_title()
        'causal'
    """
    fig, axes = plt.subplots(1, len(maps), figsize=(6.4, 2.7), squeeze=False)
    tables = [np.asarray(m, dtype=float) for m in maps.values()]
    top = max(t.max() for t in tables)
    for ax, title, table in zip(axes.flat, maps, tables, strict=True):
        shown = np.ma.masked_equal(table, 0.0)
        image = ax.imshow(shown, cmap=SEQUENTIAL, norm=LogNorm(1e-3 * top, top, clip=True))
        ax.set_title(title, fontsize=11)
        ax.set(xlabel="input position", xticks=[], yticks=[])
        ax.grid(False)
    axes[0, 0].set_ylabel("output position")
    fig.colorbar(image, ax=axes, label="size of ∂y/∂x", shrink=0.8)
    return fig


def mark_caught(
    ax: Axes, rows: Sequence[str], checks: Sequence[str], caught: ArrayLike, square: float | int
) -> None:
    """A square where a check fails, a dot where it passes, with the names at the axes."""
    table = np.asarray(caught, dtype=bool)
    for which, mark, size, color in (
        (table, "s", square, BLUE),
        (~table, ".", 0.3 * square, GRAY),
    ):
        y, x = np.nonzero(which)
        ax.plot(x, y, mark, ms=size, color=color)
    ax.set_xticks(range(len(checks)), checks, rotation=35, ha="right", fontsize=9)
    ax.set_yticks(range(len(rows)), rows, fontsize=9)
    ax.set(xlim=(-0.6, len(checks) - 0.4), ylim=(len(rows) - 0.4, -0.6))
    ax.grid(False)


def mask_panels(panels: Mapping[str, ArrayLike], tokens: Sequence[str]) -> Figure:
    """Which positions can change what a model says at which, one panel for each model.

    Args:
        panels: Title -> influences (positions that speak, positions that are read); only
            whether a number is 0 is drawn.
        tokens: Names of the positions.

    Example:
        >>> panels = {"GPT": np.tri(3), "BERT": np.ones((3, 3))}
        >>> figure = mask_panels(panels, ["To", "be", "or"])
        >>> [ax.get_title() for ax in figure.axes]
        ['GPT', 'BERT']
    """
    fig, axes = plt.subplots(1, len(panels), figsize=(6.4, 2.9), sharey=True, squeeze=False)
    places = range(len(tokens))
    for ax, (title, values) in zip(axes[0], panels.items(), strict=True):
        ax.imshow(
            np.asarray(values) != 0, cmap=ListedColormap(["#E9ECEF", BLUE]), vmin=0, vmax=1
        )
        ax.set_xticks(places, tokens, rotation=90)
        ax.set_yticks(places, tokens)
        ax.set_xticks(np.arange(len(tokens) + 1) - 0.5, minor=True)
        ax.set_yticks(np.arange(len(tokens) + 1) - 0.5, minor=True)
        ax.grid(False)
        ax.grid(which="minor", color="white", lw=2)
        ax.tick_params(which="minor", length=0)
        ax.set_title(title, fontsize=11)
        ax.set_xlabel("is read", fontsize=10)
    axes[0][0].set_ylabel("speaks")
    return fig


def probe_table(
    scores: Mapping[str, Mapping[str, float]], unit: str = "right answers [%]"
) -> Figure:
    """Scores of several models on the same probes, as a table of colors with numbers.

    Args:
        scores: Name of the model -> name of the probe -> score; NaN where it was not asked.
        unit: Label of the color bar.

    Example:
        >>> figure = probe_table({"GPT-2": {"agreement": 80.0, "questions": np.nan}})
        >>> [text.get_text().split() for text in figure.axes[0].texts]
        [['80'], ['not', 'asked']]
    """
    probes = [*next(iter(scores.values()))]
    table = np.array([[row[probe] for probe in probes] for row in scores.values()])
    fig, ax = plt.subplots(figsize=(6.4, 1.4 + 0.5 * len(table)))
    image = ax.imshow(table, cmap=SEQUENTIAL, vmin=0, vmax=100, aspect="auto")
    for (i, j), score in np.ndenumerate(table):
        shown = "not\nasked" if np.isnan(score) else f"{score:.0f}"
        dark = not np.isnan(score) and score < 60
        ax.text(j, i, shown, ha="center", va="center", color="white" if dark else "black")
    ax.set_xticks(range(len(probes)), [textwrap.fill(name, 9) for name in probes])
    ax.set_yticks(range(len(table)), [*scores])
    ax.grid(False)
    fig.colorbar(image, ax=ax, label=unit)
    return fig


def reliability(curves: Mapping[str, Reliability]) -> Figure:
    """What a model said against what came true, one panel for each model.

    Args:
        curves: Title -> reliability curve.

    Example:
        >>> from mathlm.reference import reliability_curve
        >>> curve = reliability_curve(np.array([0.6, 0.9, 0.9]), np.array([True, True, False]))
        >>> reliability({"GPT-2": curve}).axes[0].get_title()
        'GPT-2'
    """
    fig, axes = plt.subplots(1, len(curves), figsize=(6.4, 3.5), sharey=True, squeeze=False)
    for ax, (title, curve) in zip(axes[0], curves.items(), strict=True):
        ax.plot([0, 1], [0, 1], color=GRAY, ls=":", lw=1.2)
        size = 15 + 260 * curve.counts / curve.counts.sum()
        ax.plot(curve.confidence, curve.accuracy, color=BLUE)
        ax.scatter(curve.confidence, curve.accuracy, s=size, color=BLUE, zorder=3)
        ax.set_title(title, fontsize=11)
        ax.set(xlabel="confidence", xlim=(0, 1.03), ylim=(0, 1.03), aspect="equal")
    axes[0, 0].set_ylabel("share that was right")
    return fig


def token_axes(
    ax: Axes, rows: Sequence[str], columns: Sequence[str] | None, size: int = 10
) -> None:
    """Tokens along the axes of a matrix."""
    ax.set_yticks(range(len(rows)), rows, fontsize=size)
    ticks = range(len(columns)) if columns is not None else []
    ax.set_xticks(ticks, columns or [], rotation=90, fontsize=size)
    ax.grid(False)


def scale(ax: plt.Axes, logarithmic: str) -> None:
    """Make the named axes logarithmic."""
    if "x" in logarithmic:
        ax.set_xscale("log")
    if "y" in logarithmic:
        ax.set_yscale("log")
