"""Conventions as pictures: who agrees, where masks lie, which features pair, what shifts do."""

from collections.abc import Mapping, Sequence

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import ListedColormap
from matplotlib.figure import Figure
from matplotlib.patches import Arc, Patch
from numpy import ndarray

from mathlm.plot.style import BLUE, COLORS, GRAY, ORANGE, RED, WIDE

KINDS = {"same": BLUE, "both": "#9DB7D5", "other": ORANGE, None: "#E9EDF1"}


def agreement(rows: Mapping[str, Sequence[str | None]], columns: Sequence[str]) -> Figure:
    """Who agrees with the first column, convention by convention.

    Args:
        rows: Name of a convention to one of "same", "both", "other" and None for each column.
        columns: Names of libraries.
    """
    fig, ax = plt.subplots(figsize=(6.4, 0.24 * len(rows) + 1.0))
    names = list(KINDS)
    grid = [[names.index(kind) for kind in kinds] for kinds in rows.values()]
    ax.imshow(grid, cmap=ListedColormap(list(KINDS.values())), vmin=0, vmax=3, aspect="auto")
    ax.set_xticks(range(len(columns)), [name.replace(" and ", "\nand ") for name in columns])
    ax.xaxis.tick_top()
    ax.set_yticks(range(len(rows)), rows)
    ax.set_xticks(np.arange(0.5, len(columns) - 1), minor=True)
    ax.set_yticks(np.arange(0.5, len(rows) - 1), minor=True)
    ax.grid(which="major", visible=False)
    ax.grid(which="minor", color="white", lw=2)
    ax.tick_params(which="both", length=0)
    labels = ("as mathlm", "both ways", "another way", "no rule of its own")
    handles = [Patch(color=c, label=n) for c, n in zip(KINDS.values(), labels, strict=True)]
    ax.legend(handles=handles, ncols=4, loc="upper center", bbox_to_anchor=(0.4, -0.02))
    return fig


def mask_alignment(masks: Mapping[str, ndarray]) -> Figure:
    """Masks side by side: which key each query sees.

    Args:
        masks: Title to a boolean array (T, S), True = may attend.
    """
    fig, axes = plt.subplots(1, len(masks), figsize=(6.4, 2.2), squeeze=False)
    for ax, (title, mask) in zip(axes[0], masks.items(), strict=True):
        T, S = mask.shape
        ax.imshow(mask, cmap=ListedColormap(["#E9EDF1", BLUE]), vmin=0, vmax=1)
        ax.set_xticks(np.arange(-0.5, S), minor=True)
        ax.set_yticks(np.arange(-0.5, T), minor=True)
        ax.grid(which="major", visible=False)
        ax.grid(which="minor", color="white", lw=2)
        ax.tick_params(which="minor", length=0)
        ax.set_xticks(range(S))
        ax.set_yticks(range(T))
        ax.set(title=title, xlabel="key s", ylabel="query t")
    return fig


def rotary_pairs(width: int) -> Figure:
    """Which features are turned together, by each of the two pairings.

    Args:
        width: K, the width of a head.
    """
    half = width // 2
    fig, axes = plt.subplots(2, 1, figsize=(6.4, 3.0))
    pairs = {
        "half-split: i with i + K/2": [(i, i + half) for i in range(half)],
        "interleaved: 2i with 2i + 1": [(2 * i, 2 * i + 1) for i in range(half)],
    }
    for ax, (title, edges) in zip(axes, pairs.items(), strict=True):
        _arcs(ax, edges, width)
        ax.set_title(title, loc="left")
    return fig


def _arcs(ax: Axes, edges: Sequence[tuple[int, int]], width: int) -> None:
    for color, (a, b) in zip(COLORS, edges, strict=False):
        height = 1.1 if b - a == 1 else 1.5
        ax.add_patch(Arc(((a + b) / 2, 0.32), b - a, height, theta2=180, color=color, lw=2))
        for i in (a, b):
            ax.plot(i, 0.1, "o", color=color, ms=11)
            ax.text(i, -0.2, str(i), ha="center", va="top", fontsize=10)
    ax.set(xlim=(-0.6, width - 0.4), ylim=(-0.55, 1.2))
    ax.axis("off")


def shift_curves(losses: Mapping[int, Sequence | ndarray], smooth: int = 10) -> Figure:
    """Loss of runs that differ in the shift of their labels alone.

    Args:
        losses: Shift to the loss of each step [nats].
        smooth: Steps that are averaged.
    """
    fig, ax = plt.subplots(figsize=WIDE)
    names = {0: "shift 0: the label is the input", 1: "shift 1: the next byte"}
    for (shift, values), color in zip(losses.items(), (RED, BLUE, ORANGE), strict=False):
        mean = np.convolve(np.asarray(values), np.ones(smooth) / smooth, "valid")
        steps = np.arange(len(mean)) + smooth
        name = names.get(shift, f"shift {shift}: {shift} bytes ahead")
        ax.plot(steps, mean, color=color, label=name)
    ax.set(xlabel="step", ylabel="training loss [nats]", ylim=(0, None))
    ax.legend()
    return fig


def asymptotics(T: ndarray, parts: Mapping[str, ndarray], crossing: float | int) -> Figure:
    """Multiply-adds of the parts of a program as the input grows.

    Args:
        T: Sizes of the input.
        parts: Name to counts, one for each size.
        crossing: Size at which the first two parts are equal.
    """
    fig, ax = plt.subplots(figsize=WIDE)
    for (name, counts), color in zip(parts.items(), COLORS, strict=False):
        ax.loglog(T, counts, "o-", ms=4, color=color, label=name)
    ax.axvline(crossing, color=GRAY, ls=":")
    ax.text(crossing * 0.92, ax.get_ylim()[0] * 1.6, f"T = {crossing:,.0f}", ha="right")
    ax.set(xlabel="tokens T", ylabel="multiply-adds in one block")
    ax.legend()
    return fig


__all__ = ["agreement", "asymptotics", "mask_alignment", "rotary_pairs", "shift_curves"]
