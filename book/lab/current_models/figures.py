"""Figures of the page on current models: who sees whom, caches, caps, and growing scores."""

from collections.abc import Mapping, Sequence

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.colors import ListedColormap
from matplotlib.figure import Figure
from numpy.typing import ArrayLike

from mathlm.plot.style import BLUE, COLORS, GRAY, MARKS, ORANGE, WIDE


def window_masks(masks: Mapping[str, ArrayLike]) -> Figure:
    """Which keys each query sees, one panel for each kind of layer."""
    fig, axes = plt.subplots(1, len(masks), figsize=(6.8, 2.9), sharey=True)
    for ax, (title, mask) in zip(np.atleast_1d(axes), masks.items(), strict=True):
        ax.imshow(np.asarray(mask), cmap=ListedColormap(["#dddddd", BLUE]), vmin=0, vmax=1)
        ax.set(title=title, xlabel="key")
        ax.title.set_fontsize(10)
        ax.grid(False)
    np.atleast_1d(axes)[0].set_ylabel("query")
    return fig


def cache_growth(tokens: ArrayLike, megabytes: Mapping[str, ArrayLike]) -> Figure:
    """Size of the KV cache by tokens read, one line for each pattern of layers."""
    fig, ax = plt.subplots(figsize=WIDE)
    for (name, y), color, mark in zip(megabytes.items(), COLORS, MARKS, strict=False):
        ax.loglog(tokens, y, f"{mark}-", color=color, label=name, ms=4)
    ax.set(xlabel="tokens read", ylabel="KV cache (MiB)")
    ax.legend()
    return fig


def capped_scores(z: ArrayLike, curves: Mapping[str, ArrayLike]) -> Figure:
    """Capped scores over scores, beside the line that changes nothing."""
    fig, ax = plt.subplots(figsize=WIDE)
    ax.plot(z, z, "--", color=GRAY, label="no cap")
    for (name, y), color in zip(curves.items(), (BLUE, ORANGE), strict=False):
        ax.plot(z, y, color=color, label=name)
    ax.set(xlabel="score", ylabel="score after the cap")
    ax.legend()
    return fig


def growth_by_rate(
    panels: Mapping[str, Mapping[str, Mapping[float, Sequence[float]]]],
) -> Figure:
    """Mean and spread of several measures over step sizes, one line for each arm.

    Args:
        panels: Label of a measure -> arm -> step size -> mean and standard deviation.
    """
    fig, axes = plt.subplots(1, len(panels), figsize=(7.2, 3.4))
    for ax, (label, arms) in zip(np.atleast_1d(axes), panels.items(), strict=True):
        for (arm, rates), color, mark in zip(arms.items(), COLORS, MARKS, strict=False):
            mean, spread = np.array(list(rates.values())).T
            ax.errorbar(list(rates), mean, spread, fmt=f"{mark}-", color=color, label=arm, ms=4)
        ax.set(xscale="log", xlabel="step size", ylabel=label)
    np.atleast_1d(axes)[0].set_yscale("log")
    np.atleast_1d(axes)[0].legend(fontsize=8)
    return fig
