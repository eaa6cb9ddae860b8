"""Figures of what power laws may come from, and of abilities that come at once."""

from collections.abc import Mapping, Sequence
from itertools import pairwise

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure
from numpy.typing import ArrayLike

from .style import COLORS, GRAY, WIDE

MARKS = ("o", "s", "^", "D", "v")


def falling_errors(
    panels: Mapping[str, Mapping[str, tuple[ArrayLike, ArrayLike, ArrayLike]]],
    xlabels: Sequence[str],
    ylabel: str,
) -> Figure:
    """Measured errors as points on logarithmic axes, and the lines that were foretold.

    Args:
        panels: Title -> label -> sizes, errors measured, errors foretold.
        xlabels: One for each panel, with its unit.
        ylabel: Of all panels, with its unit.
    """
    width, height = WIDE
    fig, axes = plt.subplots(
        1, len(panels), figsize=(width, height), sharey=True, squeeze=False
    )
    for ax, (title, rows), xlabel in zip(axes[0], panels.items(), xlabels, strict=True):
        for (label, (x, seen, foretold)), color, mark in zip(
            rows.items(), COLORS, MARKS, strict=False
        ):
            ax.plot(x, foretold, color=color, lw=1.2)
            ax.plot(x, seen, mark, color=color, ms=5, label=label)
        ax.set(xscale="log", yscale="log", xlabel=xlabel, title=title)
        ax.title.set_fontsize(11)
    axes[0, 0].set_ylabel(ylabel)
    handles, labels = axes[0, 0].get_legend_handles_labels()
    fig.legend(handles, labels, loc="outside lower center", ncol=min(len(labels), 4))
    return fig


def exponents_foretold(rows: Mapping[str, tuple[ArrayLike, ArrayLike]]) -> Figure:
    """Exponents as measured over exponents as foretold; the line is where both are equal.

    Args:
        rows: Label -> exponents foretold, exponents measured.
    """
    fig, ax = plt.subplots(figsize=WIDE)
    top = 1.1 * max(float(np.max(column)) for row in rows.values() for column in row)
    ax.plot([0, top], [0, top], color=GRAY, ls=":")
    for (label, (foretold, seen)), color, mark in zip(
        rows.items(), COLORS * 2, MARKS * 2, strict=False
    ):
        ax.plot(foretold, seen, mark, color=color, ms=6, mfc="none", mew=1.8, label=label)
    ax.set(xlabel="exponent foretold", ylabel="exponent measured", xlim=(0, top), ylim=(0, top))
    fig.legend(loc="outside right upper", fontsize=9)
    return fig


def known_by_rank(margins: Mapping[int, ArrayLike]) -> Figure:
    """Share of right answers by rank of the fact, for memories of several sizes.

    Ranks are put together between powers of 2, so that a point is the mean of many facts.

    Args:
        margins: Number of weights -> margin of each fact, the most frequent first.
    """
    fig, ax = plt.subplots(figsize=WIDE)
    for (width, row), color, mark in zip(margins.items(), COLORS, MARKS, strict=False):
        right = np.asarray(row) > 0
        edges = 2 ** np.arange(int(np.log2(len(right))) + 1)
        shares = [right[a - 1 : b - 1].mean() for a, b in pairwise(edges)]
        ax.plot(edges[:-1] * 1.5, shares, color=color, marker=mark, ms=4, label=f"{width}")
        ax.axvline(2 * width, color=color, ls=":", lw=1)
    ax.axhline(0.5, color=GRAY, lw=1)
    ax.set(xscale="log", xlabel="rank of the fact", ylabel="share answered rightly")
    ax.legend(title="weights")
    return fig
