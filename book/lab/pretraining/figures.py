"""Figures of the chapter on pretraining: what an unseen byte costs, and when it got cheap."""

from collections.abc import Mapping, Sequence

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.colors import ListedColormap
from matplotlib.figure import Figure
from numpy.typing import ArrayLike

from mathlm.plot.style import BLUE, GRAY, GREEN, ORANGE, PURPLE, RED, SKY


def bits_by_order(
    orders: Sequence[int], bits: Sequence[float], compressors: Mapping[str, float]
) -> Figure:
    """Cost of a held-out byte by the order of an n-gram, beside compressors.

    Args:
        orders: Orders of the n-grams [bytes].
        bits: What each pays for the held-out text [bits/byte].
        compressors: Name and cost [bits/byte] of each compressor.
    """
    fig, ax = plt.subplots()
    ax.plot(orders, bits, "o-", color=BLUE, label="Kneser-Ney n-gram")
    for (name, cost), color in zip(compressors.items(), (ORANGE, GREEN), strict=False):
        ax.axhline(cost, color=color, ls="--", label=name)
    ax.set(xlabel="order of the n-gram [bytes]", ylabel="cost of a held-out byte [bits]")
    ax.set_xticks(list(orders))
    ax.set_ylim(bottom=0)
    ax.legend()
    return fig


def schedule_and_loss(
    steps: ArrayLike, lr: ArrayLike, loss: ArrayLike, baselines: Mapping[str, float]
) -> Figure:
    """Step size above, loss of each training batch below.

    Args:
        steps: Step numbers.
        lr: Step size of each.
        loss: Cost of its batch [bits/byte].
        baselines: Name and cost [bits/byte] of what to beat.
    """
    fig, (top, bottom) = plt.subplots(
        2, 1, sharex=True, figsize=(6.4, 4.4), height_ratios=(1, 2.4)
    )
    top.plot(steps, lr, color=GRAY)
    top.set_ylabel("step size")
    bottom.plot(steps, loss, color=BLUE, lw=1.2, label="GPT, training batches")
    for (name, cost), color in zip(baselines.items(), (ORANGE, GREEN, RED), strict=False):
        bottom.axhline(cost, color=color, ls="--", label=name)
    bottom.set(xlabel="step", ylabel="cost of a byte [bits]")
    bottom.legend(ncols=2)
    return fig


def long_run(
    tokens: ArrayLike, training: ArrayLike, held_out: ArrayLike, baselines: Mapping[str, float]
) -> Figure:
    """Cost of a byte along a long run, training and held out, against the baselines.

    Args:
        tokens: Tokens seen at each evaluation.
        training: Mean cost of the training batches since the evaluation before [bits/byte].
        held_out: Cost of the held-out text [bits/byte].
        baselines: Name and cost [bits/byte] of what to beat.
    """
    fig, ax = plt.subplots(figsize=(6.4, 3.8))
    ax.semilogx(tokens, training, ".-", color=BLUE, label="GPT, training batches")
    ax.semilogx(tokens, held_out, "o-", ms=4, color=RED, label="GPT, held-out plays")
    for (name, cost), color in zip(baselines.items(), (ORANGE, GREEN, GRAY), strict=False):
        ax.axhline(cost, color=color, ls="--", label=name)
    ax.set(xlabel="bytes seen in training", ylabel="cost of a byte [bits]")
    ax.legend()
    return fig


def bits_in_context(curves: Mapping[str, ArrayLike]) -> Figure:
    """Cost of a byte by how many bytes the model sees before it, averaged over octaves.

    Args:
        curves: Name and mean cost [bits/byte] of the bytes predicted from 1, 2, 3, ... others.
    """
    fig, ax = plt.subplots()
    for (name, bits), color in zip(curves.items(), (BLUE, RED, ORANGE), strict=False):
        costs = np.asarray(bits)
        starts = 2 ** np.arange(int(np.log2(len(costs))) + 1)
        octaves = np.split(costs, starts[1:] - 1)
        means = [octave.mean() for octave in octaves]
        ax.semilogx(starts, means, "o-", color=color, base=2, label=name)
    ax.set(xlabel="bytes of context, from ... to twice as many", ylabel="cost of a byte [bits]")
    ax.legend()
    return fig


def bits_in_word(letters: Sequence[int], curves: Mapping[str, ArrayLike]) -> Figure:
    """Cost of a letter by its place in the word.

    Args:
        letters: Place of the letter, 1 for the first.
        curves: Name and mean cost [bits/byte] of the letters at each place.
    """
    fig, ax = plt.subplots()
    width = 0.8 / len(curves)
    for i, (name, bits) in enumerate(curves.items()):
        x = np.asarray(letters) + (i - (len(curves) - 1) / 2) * width
        ax.bar(x, bits, width=width, color=(BLUE, ORANGE, GREEN)[i], label=name)
    ax.set(xlabel="place of the letter in its word", ylabel="mean cost [bits]")
    ax.set_xticks(list(letters))
    ax.legend()
    return fig


def collision_curves(
    similarity: ArrayLike,
    curves: Mapping[str, ArrayLike],
    measured: Mapping[str, tuple[ArrayLike, ArrayLike]],
) -> Figure:
    """Chance that a pair of documents is found, by its similarity.

    Args:
        similarity: Jaccard similarities at which the curves are given.
        curves: Label and probability at each similarity.
        measured: Label of a curve, and the similarities and frequencies found for it.
    """
    fig, ax = plt.subplots()
    for (name, chance), color in zip(curves.items(), (BLUE, ORANGE, GREEN), strict=False):
        ax.plot(similarity, chance, color=color, label=name)
        if name in measured:
            ax.plot(*measured[name], "o", ms=5, color=color)
    ax.set(xlabel="similarity of the pair", ylabel="chance that it is found")
    ax.legend()
    return fig


def packed_mask(mask: ArrayLike, documents: ArrayLike) -> Figure:
    """Who may attend to whom in one packed window.

    Args:
        mask: True where query t may attend to key s, (T, T).
        documents: Number of the document at each position, (T,); -1 where nothing stands.
    """
    numbers = np.asarray(documents)
    shown = np.where(np.asarray(mask), numbers[:, None] + 1, np.nan)
    fig, ax = plt.subplots(figsize=(4.4, 4.0))
    colors = ListedColormap((BLUE, ORANGE, GREEN, PURPLE, SKY))
    ax.imshow(shown, cmap=colors, vmin=0.5, vmax=5.5, interpolation="nearest")
    for border in np.flatnonzero(np.diff(numbers)) + 0.5:
        ax.axhline(border, color=GRAY, lw=0.8)
        ax.axvline(border, color=GRAY, lw=0.8)
    ax.set(xlabel="key position s", ylabel="query position t")
    ax.grid(False)
    return fig


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
    "bits_by_order",
    "bits_in_context",
    "bits_in_word",
    "collision_curves",
    "ingredient_costs",
    "ingredient_sweeps",
    "long_run",
    "loss_slices",
    "loss_surface",
    "packed_mask",
    "schedule_and_loss",
]
