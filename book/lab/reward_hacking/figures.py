"""Figures on rewards that are not what is meant: what they bring, and runs on text."""

from collections.abc import Mapping, Sequence

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import ArrayLike

from mathlm.plot.style import COLORS, GRAY, MARKS, WIDE


def overoptimization(
    curves: Mapping[str, tuple[ArrayLike, ArrayLike, ArrayLike]],
    path: tuple[ArrayLike, ArrayLike] | None = None,
) -> Figure:
    """What a stand-in for the reward promises, and what it really brings, by divergence.

    Args:
        curves: Stand-in -> divergence [nats], its own mean, and the mean of the true reward.
        path: Divergence and true reward of a policy while it is trained.
    """
    fig, ax = plt.subplots(figsize=WIDE)
    for i, (name, (kl, promised, true)) in enumerate(curves.items()):
        x, y = np.asarray(kl), np.asarray(true)
        ax.plot(x, promised, color=COLORS[i], ls=":", lw=1.4)
        ax.plot(x, y, color=COLORS[i], label=name)
        ax.plot(x[y.argmax()], y.max(), MARKS[i], ms=7, color=COLORS[i])
    if path is not None:
        ax.plot(*path, "o", ms=4, color="black", alpha=0.6, label="while training")
    ax.plot([], [], color=GRAY, ls=":", label="what it promises")
    ax.set(xlabel="KL(policy ‖ reference) [nats]", ylabel="mean reward")
    ax.legend(fontsize=9)
    return fig


def steered_runs(runs: Mapping[str, Sequence[Mapping[str, float | int]]]) -> Figure:
    """Rewards and divergence of policies on text, iteration by iteration.

    Args:
        runs: Name -> records with ``iteration``, ``reward`` and ``kl`` [nats/text].
    """
    fig, axes = plt.subplots(1, 2, figsize=WIDE)
    for i, (name, records) in enumerate(runs.items()):
        for ax, key in zip(axes, ("reward", "kl"), strict=True):
            x = [r["iteration"] for r in records]
            ax.plot(x, [r[key] for r in records], color=COLORS[i % 7], lw=1.4, label=name)
    _named(axes[0], "mean reward")
    _named(axes[1], "KL to the reference [nats/text]")
    axes[0].legend(fontsize=8)
    return fig


def _named(ax: Axes, label: str) -> None:
    ax.set(xlabel="iteration", ylabel=label)
