"""Figures of the page on evaluation."""

from collections.abc import Mapping, Sequence

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure
from numpy.typing import ArrayLike

from mathlm.plot.style import COLORS, GRAY, MARKS, WIDE

Interval = tuple[float, float, float]  # share, lower end, upper end


def interval_dots(
    groups: Mapping[str, Mapping[str, Interval]], label: str, chance: Mapping[str, float]
) -> Figure:
    """Shares with their intervals, one group for each set of questions.

    Args:
        groups: Name of the set -> name of the way -> (share, lower end, upper end).
        label: Of the axis.
        chance: Name of the set -> share of a blind choice, drawn as a dashed line.
    """
    fig, ax = plt.subplots(figsize=WIDE)
    names = [*dict.fromkeys(name for rows in groups.values() for name in rows)]
    for j, (group, rows) in enumerate(groups.items()):
        ax.plot([j - 0.4, j + 0.4], [chance[group]] * 2, color=GRAY, ls="--", lw=1.5)
        for name, (share, low, high) in rows.items():
            i = names.index(name)
            at = j + 0.7 * ((i + 0.5) / len(names) - 0.5)
            ax.errorbar(
                at,
                share,
                [[share - low], [high - share]],
                fmt=MARKS[i],
                color=COLORS[i],
                capsize=3,
                label=name if j == 0 else None,
            )
    ax.set_xticks(range(len(groups)), [*groups])
    ax.set_ylabel(label)
    ax.grid(axis="x", visible=False)
    fig.legend(loc="outside lower center", ncols=min(3, len(names)), fontsize=9)
    return fig


def letter_bars(shares: Mapping[str, Sequence[float]], right: str) -> Figure:
    """How often each letter is chosen, in bars; how often it is right, as a line across.

    Args:
        shares: Name of the way -> share of each letter.
        right: Name of the row that is drawn as lines.
    """
    fig, ax = plt.subplots(figsize=WIDE)
    bars = [name for name in shares if name != right]
    width = 0.8 / len(bars)
    for i, name in enumerate(bars):
        at = np.arange(len(shares[name])) + (i - (len(bars) - 1) / 2) * width
        ax.bar(at, shares[name], width, color=COLORS[i], label=name)
    for j, share in enumerate(shares[right]):
        ends = [j - 0.45, j + 0.45]
        ax.plot(ends, [share] * 2, color=GRAY, ls="--", label=None if j else right)
    ax.set_xticks(range(len(shares[right])), list("ABCD"[: len(shares[right])]))
    ax.set(xlabel="letter", ylabel="share of the questions")
    ax.grid(axis="x", visible=False)
    fig.legend(loc="outside lower center", ncols=3, fontsize=9)
    return fig


def coverage_curves(
    p: ArrayLike, curves: Mapping[str, ArrayLike], nominal: float = 0.95
) -> Figure:
    """Coverage of several intervals over the true share.

    Args:
        p: True shares.
        curves: Name of the interval -> coverage at each of them.
        nominal: What the intervals are called by, drawn as a dashed line.
    """
    fig, ax = plt.subplots(figsize=WIDE)
    for i, (name, values) in enumerate(curves.items()):
        ax.plot(p, values, color=COLORS[i], lw=1.2, label=name)
    ax.axhline(nominal, color=GRAY, ls="--", lw=1.5)
    ax.set(xlabel="true share p", ylabel="coverage", ylim=(0.5, 1.01))
    ax.legend(fontsize=9)
    return fig


def ratings(
    names: Sequence[str], true: ArrayLike, found: Mapping[str, tuple[ArrayLike, ArrayLike]]
) -> Figure:
    """Ratings of players with an interval each, next to the true ones.

    Args:
        names: Of the players.
        true: Their ratings [points].
        found: Name of the method -> (ratings, half widths of the intervals) [points].
    """
    fig, ax = plt.subplots(figsize=WIDE)
    at = np.arange(len(names))
    for j, value in enumerate(np.asarray(true).tolist()):
        ends = [j - 0.35, j + 0.35]
        ax.plot(ends, [value] * 2, color=GRAY, lw=2, label=None if j else "true")
    for i, (name, (values, half)) in enumerate(found.items()):
        place = at + 0.24 * (i - (len(found) - 1) / 2)
        ax.errorbar(
            place, values, half, fmt=MARKS[i], color=COLORS[i], capsize=3, ms=5, label=name
        )
    ax.set_xticks(at, names)
    ax.set_ylabel("rating [points]")
    ax.grid(axis="x", visible=False)
    fig.legend(loc="outside lower center", ncols=2, fontsize=9)
    return fig


def seen_and_fresh(
    copies: Sequence[int], shares: Mapping[str, ArrayLike], ceiling: float
) -> Figure:
    """Right answers by how often the test stood in the text: a dot for each seed.

    Args:
        copies: Of the test in the text.
        shares: Name of the questions -> share of right answers, (copies, seeds).
        ceiling: The best share without having seen a question, drawn as a dashed line.
    """
    fig, ax = plt.subplots(figsize=WIDE)
    at = np.arange(len(copies))
    for i, (name, values) in enumerate(shares.items()):
        rows = np.asarray(values, float)
        ax.plot(at, rows.mean(1), color=COLORS[i], label=name)
        for seed in rows.T:
            ax.plot(at, seed, MARKS[i], color=COLORS[i], ms=5, mfc="none")
    ax.axhline(ceiling, color=GRAY, ls="--", lw=1.5, label="best without having seen them")
    ax.set_xticks(at, [str(c) for c in copies])
    ax.set(xlabel="copies of the test in the text", ylabel="share of right answers")
    ax.legend(fontsize=9)
    return fig
