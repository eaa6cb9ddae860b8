"""Figures of the page: what ingredients cost, and slices of a loss landscape."""

from collections.abc import Mapping, Sequence

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure
from numpy.typing import ArrayLike

from mathlm.plot.style import BLUE, GREEN, ORANGE, RED


def ingredient_costs(
    changes: Mapping[str, Sequence[float]],
    baseline: float,
    spread: float,
    baseline_name: str = "baseline",
) -> Figure:
    """What each change of a recipe costs, beside what another seed changes.

    Args:
        changes: Name of the change and bits per held-out byte after it, one for each seed.
        baseline: Mean of the unchanged runs [bits/byte].
        spread: Half the distance between the best and the worst of them [bits/byte].
        baseline_name: Label of the band.
    """
    means = {name: float(np.mean(bits)) for name, bits in changes.items()}
    names = sorted(means, key=lambda name: -means[name])
    fig, ax = plt.subplots(figsize=(6.4, 1.2 + 0.27 * len(names)))
    ax.axvspan(baseline - spread, baseline + spread, color=GREEN, alpha=0.3, lw=0)
    ax.axvline(baseline, color=GREEN, lw=1.2, label=baseline_name)
    for row, name in enumerate(names):
        color = RED if means[name] > baseline + spread else BLUE
        ax.plot([baseline, means[name]], [row, row], color=color, lw=1)
        ax.plot(changes[name], [row] * len(changes[name]), "o", ms=5, color=color, alpha=0.8)
    ax.set_yticks(range(len(names)), names)
    ax.set(xlabel="cost of a held-out byte [bits]")
    ax.legend(loc="upper right")
    return fig


def ingredient_sweeps(rates: Mapping[float, float], sizes: Mapping[int, float]) -> Figure:
    """Cost of a held-out byte by step size, and by batch size at equal tokens.

    Args:
        rates: Step size and cost [bits/byte].
        sizes: Windows in a batch and cost [bits/byte].
    """
    fig, axes = plt.subplots(1, 2, sharey=True, figsize=(6.4, 3.2))
    curves: tuple[tuple[str, list[tuple[float, float]]], ...] = (
        ("largest step size", sorted(rates.items())),
        ("windows in a batch", sorted(sizes.items())),
    )
    for ax, (label, points) in zip(axes, curves, strict=True):
        ax.semilogx(*zip(*points, strict=True), "o-", color=BLUE)
        ax.set_xlabel(label)
    axes[1].set_xticks(sorted(sizes), [f"{size}" for size in sorted(sizes)])
    axes[1].minorticks_off()
    axes[0].set_ylabel("cost of a held-out byte [bits]")
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
    "ingredient_costs",
    "ingredient_sweeps",
    "loss_slices",
    "loss_surface",
]
