"""Estimation: divergence fits, strength of a prior, entropy of English."""

from collections.abc import Mapping, Sequence

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure
from numpy import ndarray

from mathlm.plot.style import BLUE, COLORS, GRAY, GREEN, ORANGE, RED, WIDE
from mathlm.reference import normal_log_density

MARKERS = "osv^Dph"


def kl_fits(
    x: ndarray | Sequence, density: ndarray | Sequence, fits: Mapping[str, tuple[float, float]]
) -> Figure:
    """A truth with two modes and the normal curves fitted to it.

    Args:
        x: Grid.
        density: Density of the truth on it.
        fits: Legend entry -> mean and standard deviation.
    """
    fig, ax = plt.subplots(figsize=WIDE)
    ax.fill_between(x, density, color=GRAY, alpha=0.35, lw=0, label="truth p")
    for (name, (mean, std)), color, style in zip(
        fits.items(), (BLUE, RED, ORANGE), ("-", "--", "-."), strict=False
    ):
        curve = np.exp(normal_log_density(np.asarray(x), mean, std))
        ax.plot(x, curve, color=color, ls=style, label=name)
    ax.set(xlabel="x", ylabel="density", ylim=(0, None))
    ax.legend(fontsize=10)
    return fig


def entropy_by_order(
    orders: Sequence[int],
    counted: Mapping[int, ndarray | Sequence],
    held_out: ndarray | Sequence,
    bounds: tuple[float, float],
) -> Figure:
    """Bits a letter by length of the history: counted on a text, and paid on another.

    Args:
        orders: Letters of the blocks, 1 to n.
        counted: Length of the text [letters] -> growth of the block entropy at each order.
        held_out: Cost of a held-out text by a model of each order.
        bounds: Shannon's lower and upper bound [bits/letter].
    """
    fig, ax = plt.subplots(figsize=(6.4, 4.0))
    ax.axhspan(*bounds, color=GREEN, alpha=0.2, lw=0, label="Shannon's bounds, people")
    for (n, bits), color, mark in zip(
        counted.items(), (COLORS[5], ORANGE, RED), MARKERS, strict=False
    ):
        ax.plot(orders, bits, mark + "--", color=color, ms=5, label=f"counted, {n:,} letters")
    ax.plot(orders, held_out, "D-", color=BLUE, ms=5, label="paid on held-out plays")
    ax.set(xlabel="letters of a block", ylabel="bits per letter", ylim=(0, 4.4))
    ax.set_xticks(list(orders))
    ax.legend(fontsize=9.5)
    return fig


def prior_strength(
    strengths: ndarray | Sequence, bits: Mapping[str, ndarray | Sequence]
) -> Figure:
    """Cost of held-out text by the pseudo-count of the prior.

    Args:
        strengths: Pseudo-count of each outcome.
        bits: Legend entry -> cost at each strength [bits/letter].
    """
    fig, ax = plt.subplots(figsize=WIDE)
    for (name, y), color, mark in zip(bits.items(), (RED, ORANGE, BLUE), MARKERS, strict=False):
        ax.semilogx(strengths, y, mark + "-", color=color, ms=5, label=name)
    ax.set(xlabel="pseudo-count of each letter", ylabel="bits per letter")
    ax.legend(title="training letters", fontsize=10)
    return fig
