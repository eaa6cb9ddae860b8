"""Figures of the chapter on what to draw from a language model."""

from collections.abc import Mapping, Sequence

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure
from numpy.typing import ArrayLike

from mathlm.plot.style import COLORS, GRAY, MARKS, WIDE

CUTS = ("s", "o", "D", "^")


def ranked_cuts(
    curves: Mapping[str, ArrayLike], cuts: Mapping[str, Sequence[int]], ranks: int = 20_000
) -> Figure:
    """Probabilities by rank on logarithmic axes, with a mark where each rule cuts.

    Args:
        curves: Name of the distribution -> its probabilities, largest first.
        cuts: Name of the rule -> how many tokens it keeps of each distribution.
        ranks: Largest rank shown.
    """
    fig, ax = plt.subplots(figsize=(6.4, 4.0))
    for i, (name, p) in enumerate(curves.items()):
        shown = np.asarray(p)[:ranks]
        ax.plot(np.arange(1, len(shown) + 1), shown, color=COLORS[i], label=name)
        for mark, kept in zip(CUTS, cuts.values(), strict=False):
            n = kept[i]
            ax.plot(n, shown[n - 1], mark, color=COLORS[i], ms=8, mfc="white", mew=1.8)
    for mark, name in zip(CUTS, cuts, strict=False):
        ax.plot([], [], mark, color=GRAY, ms=8, mfc="white", mew=1.8, label=name)
    ax.set(xscale="log", yscale="log", xlabel="rank of the token", ylabel="probability")
    fig.legend(loc="outside lower center", ncols=2, fontsize=9)
    return fig


def surprise_lines(
    lines: Mapping[str, ArrayLike],
    xlabel: str = "token",
    ylabel: str = "probability of the token",
) -> Figure:
    """Probability of each token of some texts, one line for each text.

    Args:
        lines: Name of the text -> probabilities of its tokens, in order.
        xlabel: Label of the horizontal axis.
        ylabel: Label of the vertical axis.
    """
    fig, ax = plt.subplots(figsize=WIDE)
    for i, (name, p) in enumerate(lines.items()):
        ax.plot(np.arange(1, np.size(p) + 1), p, color=COLORS[i], label=name, lw=1.4)
    ax.set(xlabel=xlabel, ylabel=ylabel, ylim=(-0.03, 1.03))
    fig.legend(loc="outside lower center", ncols=len(lines), fontsize=9)
    return fig


Points = Sequence[tuple[str, float, float, float]]


def settings_planes(
    panels: Mapping[str, tuple[Mapping[str, Points], tuple[float, float]]],
    labels: tuple[str, str],
) -> Figure:
    """Each setting of a family of rules as a point in a plane, joined in order.

    Args:
        panels: Title -> (name of the rule -> (setting, x, y, standard error of y) for each
            setting; where text written by people lies).
        labels: Of the two axes.
    """
    fig, axes = plt.subplots(1, len(panels), figsize=(6.4, 4.0), squeeze=False)
    for ax, (title, (families, human)) in zip(axes[0], panels.items(), strict=True):
        for i, (name, points) in enumerate(families.items()):
            _, x, y, error = zip(*points, strict=True)
            ax.errorbar(
                x, y, error, fmt=MARKS[i] + "-", color=COLORS[i], ms=4, lw=1.2, label=name
            )  # fmt: skip
            if i == 0:
                _name_settings(ax, points, COLORS[i])
        ax.plot(*human, "*", color="#F0C000", ms=17, mec="black", label="people")
        ax.set_title(title, fontsize=11)
        ax.set_xlabel(labels[0])
    axes[0][0].set_ylabel(labels[1])
    handles, names = axes[0][0].get_legend_handles_labels()
    fig.legend(handles, names, loc="outside lower center", ncols=3, fontsize=9)
    return fig


def _name_settings(ax: plt.Axes, points: Points, color: str) -> None:
    for setting, x, y, _ in points:
        ax.annotate(
            setting, (x, y), fontsize=9, color=color, ha="right", xytext=(-5, 3),
            textcoords="offset points",
        )  # fmt: skip


def vote_curves(
    numbers: Sequence[int], curves: Mapping[str, Sequence[Sequence[float]]]
) -> Figure:
    """Share of right answers against the number of samples: mean and range over seeds.

    Args:
        numbers: Samples of each question.
        curves: Rule -> for each number a share for each seed.
    """
    fig, ax = plt.subplots(figsize=WIDE)
    for i, (name, values) in enumerate(curves.items()):
        table = np.array(values)
        ax.plot(numbers, table.mean(1), marker=MARKS[i], ms=4, color=COLORS[i], label=name)
        ax.fill_between(numbers, table.min(1), table.max(1), color=COLORS[i], alpha=0.2, lw=0)
    ax.set_xscale("log", base=2)
    ax.set_xticks(numbers, [str(n) for n in numbers])
    ax.minorticks_off()
    ax.set(xlabel="samples of each question", ylabel="answered rightly")
    ax.legend(fontsize=9)
    return fig
