"""Figures on small updates: their size, their spectra, their step sizes, what merging loses."""

from collections.abc import Mapping, Sequence

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import ArrayLike

from mathlm.plot.style import COLORS, GRAY, MARKS, WIDE


def update_sizes(ranks: Sequence[int], sizes: Mapping[str, ArrayLike]) -> Figure:
    """How much one step changes an output, by rank, relative to the first rank.

    Args:
        ranks: Values of r.
        sizes: Name -> size of the change at each rank.
    """
    fig, ax = plt.subplots(figsize=WIDE)
    for i, (name, values) in enumerate(sizes.items()):
        v = np.asarray(values)
        ax.loglog(ranks, v / v[0], color=COLORS[i], marker=MARKS[i], ms=5, label=name)
    _rank_axis(ax, ranks)
    ax.set(xlabel="rank r", ylabel=f"change of the output,\nrank {ranks[0]} = 1")
    ax.legend(fontsize=9)
    return fig


def energy_by_rank(
    ranks: Sequence[int], groups: Mapping[str, ArrayLike], chance: ArrayLike
) -> Figure:
    """Share of an update's energy that its first directions hold, for groups of matrices.

    Args:
        ranks: Values of r.
        groups: Name -> shares (matrices, ranks); the band holds all, the line is their mean.
        chance: Shares of a random matrix, by rank.
    """
    fig, ax = plt.subplots(figsize=WIDE)
    for i, (name, shares) in enumerate(groups.items()):
        s = np.atleast_2d(shares)
        ax.fill_between(ranks, s.min(0), s.max(0), color=COLORS[i], alpha=0.15, lw=0)
        ax.plot(ranks, s.mean(0), color=COLORS[i], marker=MARKS[i], ms=5, label=name)
    ax.plot(ranks, chance, color=GRAY, ls="--", label="random matrix")
    ax.set_xscale("log", base=2)
    _rank_axis(ax, ranks)
    ax.set(xlabel="directions kept", ylabel="share of the energy", ylim=(0, 1.03))
    ax.legend(fontsize=9, loc="lower right")
    return fig


def rank_sweep(
    curves: Mapping[str, tuple[ArrayLike, ArrayLike]],
    level: tuple[str, float | int] | None = None,
) -> Figure:
    """Loss by step size, one curve for each rank, the least of each marked.

    Args:
        curves: Name -> step sizes and losses [nats/byte].
        level: Name and value of a loss to compare with.
    """
    fig, ax = plt.subplots(figsize=WIDE)
    colors = plt.get_cmap("viridis")(np.linspace(0.05, 0.85, max(2, len(curves))))
    for i, (name, (lr, loss)) in enumerate(curves.items()):
        x, y = np.asarray(lr), np.asarray(loss)
        ax.plot(x, y, color=colors[i], marker=MARKS[i % 7], ms=4, label=name)
        ax.plot(x[y.argmin()], y.min(), marker=MARKS[i % 7], ms=10, color=colors[i])
    if level is not None:
        ax.axhline(level[1], color=GRAY, ls="--", label=level[0])
    ax.set_xscale("log")
    steps = sorted({float(v) for lr, _ in curves.values() for v in np.asarray(lr)})
    ax.set_xticks(steps, [f"{v:.2g}" for v in steps])
    ax.minorticks_off()
    ax.set(xlabel="step size", ylabel="held-out loss [nats/byte]")
    ax.legend(fontsize=9, loc="center left", bbox_to_anchor=(1.0, 0.5))
    return fig


def best_step_sizes(
    ranks: Mapping[str, Sequence[int]], best: Mapping[str, Sequence[float | int]]
) -> Figure:
    """Best step size by rank, for each scale.

    Args:
        ranks: Scale -> ranks.
        best: Scale -> best step size of each.
    """
    fig, ax = plt.subplots(figsize=WIDE)
    for i, (name, values) in enumerate(best.items()):
        ax.loglog(ranks[name], values, color=COLORS[i], marker=MARKS[i], label=name)
    _rank_axis(ax, max(ranks.values(), key=len))
    low, high = ax.get_ylim()
    ticks = [m * 10.0**e for e in range(-8, 3) for m in (1, 2, 3, 5, 7)]
    shown = [t for t in ticks if low <= t <= high]
    ax.set_yticks(shown, [f"{t:.0e}" if t < 1e-3 else f"{t:g}" for t in shown])
    ax.set(xlabel="rank r", ylabel="best step size")
    ax.legend(fontsize=9)
    return fig


def losses_by_count(
    arms: Mapping[str, tuple[Sequence[int], Sequence[float | int]]],
    levels: Mapping[str, float | int],
    ylabel: str = "held-out loss [bits/byte]",
) -> Figure:
    """Loss by how many numbers are trained.

    Args:
        arms: Name -> numbers trained, and losses.
        levels: Name -> loss that is drawn as a line.
        ylabel: What the losses are.
    """
    fig, ax = plt.subplots(figsize=WIDE)
    for i, (name, (counts, losses)) in enumerate(arms.items()):
        ax.plot(counts, losses, color=COLORS[i], marker=MARKS[i], label=name)
    for (name, loss), ls in zip(levels.items(), ("--", ":", "-."), strict=False):
        ax.axhline(loss, color=GRAY, ls=ls, label=name)
    ax.set_xscale("log")
    ax.set(xlabel="numbers trained", ylabel=ylabel)
    ax.legend(fontsize=9)
    return fig


def lost_in_merging(
    factors: Sequence[float | int], arrived: Mapping[str, Sequence[float | int]]
) -> Figure:
    """Which part of an update arrives when it is added to rounded weights.

    Args:
        factors: Size of the update, relative to the trained one.
        arrived: Name -> share of the update at each size.
    """
    fig, ax = plt.subplots(figsize=WIDE)
    for i, (name, shares) in enumerate(arrived.items()):
        ax.plot(factors, shares, color=COLORS[i], marker=MARKS[i], label=name)
    ax.axhline(1, color=GRAY, lw=1)
    ax.set_xscale("log", base=2)
    ax.set_xticks(factors, [f"1/{round(1 / f)}" if f < 1 else f"{f:g}" for f in factors])
    ax.set(xlabel="size of the update, trained one = 1", ylabel="share that arrives")
    ax.set_ylim(bottom=min(0.0, *(min(s) for s in arrived.values())))
    ax.legend(fontsize=9, loc="lower right")
    return fig


def forgotten_at_gain(
    gains: Sequence[float | int], arms: Mapping[str, Sequence[tuple[float, float] | None]]
) -> Figure:
    """What several ways of tuning forget when they have gained the same.

    Args:
        gains: On new answers [nats/token].
        arms: Way -> mean and standard deviation of what is forgotten at each gain [bits/byte];
            None where some seed never gained so much.
    """
    fig, ax = plt.subplots(figsize=WIDE)
    for i, (name, points) in enumerate(arms.items()):
        known = [(g, *p) for g, p in zip(gains, points, strict=True) if p is not None]
        g, lost, sd = (np.array(column) for column in zip(*known, strict=True))
        ax.errorbar(g, lost, sd, color=COLORS[i], marker=MARKS[i], ms=5, capsize=3, label=name)
    ax.set(xlabel="gained on new answers [nats per token]", ylabel="forgotten [bits per byte]")
    ax.set_ylim(bottom=0)
    ax.legend(fontsize=9)
    return fig


def prefix_mixture(scores: ArrayLike, weights: ArrayLike, share: ArrayLike) -> Figure:
    """How the attention of one query to its text changes as a prefix takes more of it.

    Args:
        scores: Of the prefix, from small to large.
        weights: Attention to each token of the text (scores, tokens).
        share: λ, attention to the prefix, by score.
    """
    fig, axes = plt.subplots(1, 2, figsize=(6.4, 3.2), sharex=True)
    w = np.asarray(weights)
    for i in range(w.shape[1]):
        axes[0].plot(scores, w[:, i], color=COLORS[i], label=f"token {i + 1}")
        axes[1].plot(scores, w[:, i] / w.sum(1), color=COLORS[i])
    axes[0].plot(scores, share, color=GRAY, ls="--", label="prefix, λ")
    axes[0].set(xlabel="score of the prefix", ylabel="attention", ylim=(0, 1))
    axes[1].set(xlabel="score of the prefix", ylabel="share among the tokens", ylim=(0, 1))
    axes[0].legend(fontsize=9)
    return fig


def _rank_axis(ax: Axes, ranks: Sequence[int]) -> None:
    ax.set_xticks(ranks, [str(r) for r in ranks])
    ax.minorticks_off()
