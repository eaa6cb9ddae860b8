"""Figures of the page on distillation."""

from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure
from numpy.typing import ArrayLike

from mathlm.plot.style import COLORS, GRAY, MARKS, WIDE

from .study import MORE, SIZES


def product_fits(
    a: ArrayLike, curves: Mapping[str, ArrayLike], ends: Mapping[str, Sequence[float]]
) -> Figure:
    """Divergences of a student with one number, and where each is smallest.

    Args:
        a: The student's number.
        curves: Name of the divergence -> its values [nats].
        ends: Name of the divergence -> where its minima lie.
    """
    fig, ax = plt.subplots(figsize=WIDE)
    at = np.asarray(a)
    for i, (name, values) in enumerate(curves.items()):
        ax.plot(at, values, color=COLORS[i], label=name)
        heights = np.interp(ends[name], at, np.asarray(values))
        ax.plot(ends[name], heights, MARKS[i], color=COLORS[i], ms=8)
    ax.set(xlabel="a, the student's probability of the token a", ylabel="divergence [nats]")
    ax.set_ylim(0, 3)
    ax.legend(fontsize=9)
    return fig


def step_divergences(groups: Mapping[str, Mapping[str, ArrayLike]]) -> Figure:
    """Divergence at each position, on two kinds of prefixes, one panel for each student.

    Args:
        groups: Name of the student -> name of the prefixes -> values by position [nats].
    """
    fig, axes = plt.subplots(1, len(groups), figsize=WIDE, sharey=True, squeeze=False)
    for ax, (student, rows) in zip(axes[0], groups.items(), strict=True):
        for i, (name, values) in enumerate(rows.items()):
            steps = np.arange(1, len(np.asarray(values)) + 1)
            ax.plot(steps, values, MARKS[i] + "-", color=COLORS[i], label=name)
        ax.set_title(student, fontsize=9)
        ax.set(xlabel="position [tokens]", xticks=steps)
    axes[0, 0].set_ylabel("divergence [nats]")
    handles, labels = axes[0, 0].get_legend_handles_labels()
    fig.legend(handles, labels, loc="outside lower center", ncols=2, fontsize=9)
    return fig


def gain_curves(ways: Mapping[str, tuple[Sequence[int], ArrayLike]], teacher: float) -> Figure:
    """Loss on held-out text by tokens of training text: a dot for each seed.

    Args:
        ways: Name -> (tokens, losses (sizes, seeds) [nats per token]).
        teacher: Loss of the teacher itself, drawn as a dashed line.
    """
    fig, ax = plt.subplots(figsize=WIDE)
    ticks = sorted({size for sizes, _ in ways.values() for size in sizes})
    for i, (name, (sizes, losses)) in enumerate(ways.items()):
        rows = np.asarray(losses, float)
        ax.plot(sizes, rows.mean(1), color=COLORS[i], label=name)
        for seed in rows.T:
            ax.plot(sizes, seed, MARKS[i], color=COLORS[i], ms=6, mfc="none")
    ax.axhline(teacher, color=GRAY, ls="--", lw=1.5, label="the teacher itself")
    ax.set_xscale("log")
    ax.set_xticks(ticks, [f"{size / 1024:.0f}" for size in ticks])
    ax.minorticks_off()
    ax.set(xlabel="text [1,024 tokens]", ylabel="held-out loss [nats per token]")
    ax.legend(fontsize=9)
    return fig


WAYS = {  # name of a way in the record -> what the page calls it, and its sizes [tokens]
    "plain": ("the text alone", SIZES + MORE),
    "kl": ("the teacher's logits on it", SIZES),
    "samples": ("the teacher's samples", SIZES[:1]),
    "greedy": ("its greedy answers", SIZES[:1]),
}


def gains(record: Mapping[str, Any]) -> Figure:
    """:func:`gain_curves` of the record of :mod:`lab.distillation.study`."""
    ways = {
        name: (sizes, [[row["test"] for row in record[f"{way} {n}"]] for n in sizes])
        for way, (name, sizes) in WAYS.items()
    }
    return gain_curves(ways, record["teacher"]["test"])
