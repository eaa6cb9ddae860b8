"""Figures of the page: what stages drop, which pairs are found, a packed row."""

from collections.abc import Mapping

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.colors import ListedColormap
from matplotlib.figure import Figure
from numpy.typing import ArrayLike

from mathlm.plot.style import BLUE, GRAY, GREEN, ORANGE, PURPLE, SKY


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


def pipeline_stages(left: Mapping[str, int], kinds: Mapping[str, str]) -> Figure:
    """The stages of a data pipeline as boxes, with what is left after each.

    Args:
        left: Stage and number of documents after it, in order; the first is what arrives.
        kinds: Stage and what it drops, in a few words.
    """
    fig, ax = plt.subplots(figsize=(6.4, 0.75 * len(left) + 0.2))
    most = max(left.values())
    before = None
    for row, (stage, count) in enumerate(left.items()):
        ax.barh(-row, count / most, height=0.56, color=BLUE if row else GRAY)
        if before is not None:
            dropped = (before - count) / most
            ax.barh(-row, dropped, left=count / most, height=0.56, color=ORANGE, alpha=0.6)
        words = f"{stage}: {count:,}" + (f" left, {before - count} dropped" if before else "")
        ax.text(0.01, -row, words, va="center", color="white", fontsize=9)
        ax.text(1.02, -row, kinds[stage], va="center", color=GRAY, fontsize=9)
        before = count
    ax.set_xlim(0, 1.75)
    ax.axis("off")
    return fig


__all__ = [
    "collision_curves",
    "packed_mask",
    "pipeline_stages",
]
