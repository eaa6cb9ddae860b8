"""Figures of the page on costs: parts of a model, work by length and by batch."""

from collections.abc import Mapping

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure
from numpy.typing import ArrayLike

from mathlm.plot.style import BLUE, COLORS, GRAY, MARKS, ORANGE, RED, SKY, WIDE


def stacked_parts(
    parts: Mapping[str, Mapping[str, float]], xlabel: str, *, shares: bool = False
) -> Figure:
    """One bar for each model, cut into its parts.

    Args:
        parts: Name of the model -> name of the part -> size.
        xlabel: What a bar measures.
        shares: Draw every bar with the same length, in percent.
    """
    names = list(dict.fromkeys(part for sizes in parts.values() for part in sizes))
    table = np.array([[sizes.get(n, 0.0) for n in names] for sizes in parts.values()], float)
    if shares:
        table = 100 * table / table.sum(1, keepdims=True)
    fig, ax = plt.subplots(figsize=(6.4, 1.5 + 0.34 * len(parts)))
    left = np.zeros(len(parts))
    for i, name in enumerate(names):
        ax.barh(
            range(len(parts)), table[:, i], 0.7, left, color=COLORS[i % len(COLORS)], label=name
        )
        left += table[:, i]
    ax.set_yticks(range(len(parts)), [*parts])
    ax.invert_yaxis()
    ax.set_xlabel(xlabel)
    fig.legend(loc="outside upper center", ncols=min(4, len(names)), fontsize=9)
    return fig


def rule_of_six(lengths: ArrayLike, ratios: Mapping[str, ArrayLike]) -> Figure:
    """Counted work of training over 6 N for each token, by length of the context.

    Args:
        lengths: Tokens in a sequence.
        ratios: Name of the model -> ratio at each length.
    """
    fig, ax = plt.subplots(figsize=WIDE)
    for i, (name, values) in enumerate(ratios.items()):
        style = {"color": COLORS[i % len(COLORS)], "marker": MARKS[i % len(MARKS)], "ms": 4}
        ax.loglog(lengths, values, label=name, **style)
    ax.axhline(1, color=GRAY, ls=":", lw=1.2)
    ticks = [0.5, 1, 2, 5, 10]
    ax.set_yticks(ticks, [f"{t:g}" for t in ticks])
    ax.set_xticks(lengths, [f"{int(n):,}" for n in np.asarray(lengths)])
    ax.minorticks_off()
    ax.set(xlabel="tokens in a sequence", ylabel="FLOP per token / 6 N")
    ax.legend(fontsize=9)
    return fig


def intensity_lines(
    batches: ArrayLike, lines: Mapping[str, ArrayLike], ridges: Mapping[str, float]
) -> Figure:
    """Operations for each byte that is moved, by the number of sequences read together.

    Args:
        batches: Sequences in a batch.
        lines: What is done -> intensity at each batch [FLOP/byte].
        ridges: Device -> intensity from which on its arithmetic is the limit.
    """
    fig, ax = plt.subplots(figsize=(6.4, 3.8))
    for i, (name, values) in enumerate(lines.items()):
        style = {"color": (BLUE, ORANGE, RED, SKY)[i % 4], "marker": MARKS[i % len(MARKS)]}
        ax.loglog(batches, values, label=name, ms=4, **style)
    for name, ridge in ridges.items():
        ax.axhline(ridge, color=GRAY, ls="--", lw=1.1)
        ax.annotate(name, (0.01, ridge), (0, 3), xycoords=("axes fraction", "data"),
                    textcoords="offset points", fontsize=9)  # fmt: skip
    ax.set_xticks(batches, [f"{int(n):,}" for n in np.asarray(batches)])
    ax.minorticks_off()
    ax.set(xlabel="sequences in a batch", ylabel="FLOP for each byte")
    fig.legend(loc="outside upper center", ncols=2, fontsize=9)
    return fig
