"""Figures of the page on mixtures of experts."""

from collections.abc import Mapping, Sequence

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure
from numpy.typing import ArrayLike

from mathlm.plot.style import COLORS, GRAY, MARKS, WIDE


def sorted_loads(loads: Mapping[str, ArrayLike]) -> Figure:
    """Share of the load of every expert over the mean share, largest first.

    Args:
        loads: Name of the arm -> shares of the experts of each layer and seed, (runs, E).
    """
    fig, axes = plt.subplots(1, len(loads), figsize=WIDE, sharey=True, squeeze=False)
    for ax, (name, rows), color in zip(axes[0], loads.items(), COLORS, strict=False):
        table = -np.sort(-np.asarray(rows, float), axis=1) * np.asarray(rows).shape[1]
        for row in table:
            ax.plot(range(1, len(row) + 1), row, color=color, marker="o", ms=3, lw=1)
        ax.axhline(1, color=GRAY, ls=":", lw=1.2)
        ax.set(title=name, xlabel="expert, by load")
    axes[0, 0].set_ylabel("load / mean load")
    return fig


def losses_of_arms(losses: Mapping[str, Sequence[float]]) -> Figure:
    """Held-out loss of each arm, one dot a seed.

    Args:
        losses: Name of the arm -> loss of each seed [nats per letter].
    """
    fig, ax = plt.subplots(figsize=WIDE)
    for i, values in enumerate(losses.values()):
        ax.plot(values, [i] * len(values), "o", color=COLORS[i % len(COLORS)])
        ax.plot([np.mean(values)], [i], "|", color=COLORS[i % len(COLORS)], ms=22)
    ax.set_yticks(range(len(losses)), [*losses])
    ax.invert_yaxis()
    ax.set_xlabel("held-out loss [nats per letter]")
    return fig


def experts_read(batches: ArrayLike, shares: Mapping[str, ArrayLike]) -> Figure:
    """Share of the experts that a decoding step reads, by batch.

    Args:
        batches: Tokens in a step.
        shares: Name of the model -> share of its experts at each batch.
    """
    fig, ax = plt.subplots(figsize=WIDE)
    for i, (name, values) in enumerate(shares.items()):
        ax.semilogx(batches, values, base=2, color=COLORS[i], marker=MARKS[i], ms=4, label=name)
    ax.set(xlabel="tokens in a step", ylabel="share of the experts read", ylim=(0, 1.03))
    ax.legend(fontsize=9)
    return fig
