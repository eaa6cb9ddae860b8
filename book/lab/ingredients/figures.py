"""Figures of the page: what ingredients cost, and slices of a loss landscape."""

from collections.abc import Mapping, Sequence

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure
from numpy.typing import ArrayLike

from mathlm.plot.style import BLUE, GREEN, ORANGE, RED


def ingredient_costs(changes: Mapping[str, Sequence[float]], spread: float) -> Figure:
    """What each change of a recipe costs, next to what another seed changes.

    Args:
        changes: Name of the change and what it costs more than the unchanged run of the same
            seed [bits/byte], one for each seed.
        spread: Standard deviation of the unchanged runs over seeds [bits/byte].
    """
    means = {name: float(np.mean(bits)) for name, bits in changes.items()}
    names = sorted(means, key=lambda name: -means[name])
    fig, ax = plt.subplots(figsize=(6.4, 1.2 + 0.27 * len(names)))
    ax.axvspan(-2 * spread, 2 * spread, color=GREEN, alpha=0.3, lw=0)
    ax.axvline(0, color=GREEN, lw=1.2, label="baseline, ± 2 standard deviations over seeds")
    for row, name in enumerate(names):
        color = RED if means[name] > 2 * spread else BLUE
        ax.plot([0, means[name]], [row, row], color=color, lw=1)
        ax.plot(changes[name], [row] * len(changes[name]), "o", ms=5, color=color, alpha=0.8)
    ax.set_yticks(range(len(names)), names)
    ax.set(xlabel="cost above the baseline of the same seed [bits/byte]")
    ax.legend(loc="center right", fontsize=9)
    return fig


def costs_by_step_size(arms: Mapping[str, Mapping[float, Sequence[float]]]) -> Figure:
    """Cost of a held-out byte by step size, mean and seeds, for several arms.

    Args:
        arms: Name, then step size and the cost of each seed [bits/byte].
    """
    fig, ax = plt.subplots()
    for (name, costs), color in zip(arms.items(), (GREEN, BLUE, RED), strict=False):
        rates = sorted(costs)
        ax.semilogx(rates, [np.mean(costs[lr]) for lr in rates], "-", color=color, label=name)
        for lr in rates:
            ax.semilogx([lr] * len(costs[lr]), costs[lr], "o", ms=4, color=color, alpha=0.7)
    every = sorted({lr for costs in arms.values() for lr in costs})
    ax.set_xticks(every, [f"{lr:g}" for lr in every])
    ax.minorticks_off()
    ax.set(xlabel="largest step size", ylabel="cost of a held-out byte [bits]")
    ax.legend()
    return fig


def loss_slices(
    curves: Mapping[str, tuple[ArrayLike, ArrayLike]], xlabel: str, ylabel: str
) -> Figure:
    """Loss along lines through the space of weights.

    Args:
        curves: Name of the line, and position and loss along it.
        xlabel: What a position is.
        ylabel: What a loss is, with its unit.
    """
    fig, ax = plt.subplots()
    for (name, (x, y)), color in zip(curves.items(), (BLUE, RED, ORANGE), strict=False):
        ax.plot(x, y, ".-", color=color, label=name)
    ax.set(xlabel=xlabel, ylabel=ylabel)
    ax.legend()
    return fig


def loss_surface(a: ArrayLike, b: ArrayLike, loss: ArrayLike, unit: str = "bits") -> Figure:
    """Loss over a plane through the trained weights, which lie at the origin.

    Args:
        a: Positions along the first direction.
        b: Positions along the second.
        loss: Loss at each, (len(b), len(a)).
        unit: Unit of the loss.
    """
    fig, ax = plt.subplots(figsize=(5.4, 4.2))
    filled = ax.contourf(a, b, loss, levels=14, cmap="viridis")
    ax.contour(a, b, loss, levels=14, colors="white", linewidths=0.4)
    ax.plot(0, 0, "o", color="white", mec="black", ms=7)
    fig.colorbar(filled, ax=ax, label=f"loss [{unit}]")
    ax.set(xlabel="step along the first direction", ylabel="along the second")
    ax.grid(False)
    return fig


__all__ = [
    "costs_by_step_size",
    "ingredient_costs",
    "loss_slices",
    "loss_surface",
]
