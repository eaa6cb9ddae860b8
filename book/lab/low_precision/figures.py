"""Figures of the page: what few bits lose, and what trains with them."""

from collections.abc import Mapping, Sequence

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator
from numpy.typing import ArrayLike

from mathlm.plot.style import BLUE, COLORS, GRAY, ORANGE, RED, WIDE

ZERO, NORMAL, LARGEST = -25, -14, 16  # exponents at which float16 begins and ends


def rounding_errors(exponents: ArrayLike, errors: Mapping[str, ArrayLike]) -> Figure:
    """Largest relative error of rounding a number, by its size.

    Args:
        exponents: Of two: the number lies from 2^e to 2^(e + 1).
        errors: Name of the format -> largest relative error at each exponent; NaN where the
            format has no numbers.
    """
    fig, ax = plt.subplots(figsize=WIDE)
    for (name, values), color in zip(errors.items(), (GRAY, BLUE, RED), strict=False):
        ax.plot(exponents, np.log2(values), color=color, label=name)
    ax.set(xlabel="size of the number [powers of 2]", ylabel="relative error\n[powers of 2]")
    ax.legend(loc="center right")
    return fig


def gradient_histogram(sizes: Mapping[str, ArrayLike], shift: int = 0) -> Figure:
    """Sizes of gradients on the axis of float16, with what it drops and what it blurs.

    Args:
        sizes: Name -> sizes above 0.
        shift: A second outline of the first histogram, moved by so many powers of two.
    """
    fig, ax = plt.subplots(figsize=WIDE)
    bins = np.arange(-48, 18)
    for i, ((name, values), color) in enumerate(
        zip(sizes.items(), (BLUE, ORANGE), strict=False)
    ):
        shares = np.histogram(np.log2(np.asarray(values)), bins)[0] / np.size(values)
        ax.stairs(shares, bins, color=color, fill=True, alpha=0.45, label=name)
        if shift and i == 0:
            label = f"{name}, times $2^{{{shift}}}$"
            ax.stairs(shares, bins + shift, color=color, ls="--", label=label)
    ax.axvspan(bins[0], ZERO, color=RED, alpha=0.12, lw=0)
    ax.axvspan(ZERO, NORMAL, color=ORANGE, alpha=0.12, lw=0)
    top = ax.get_ylim()[1]
    for x, word in (((bins[0] + ZERO) / 2, "becomes 0"), ((ZERO + NORMAL) / 2, "blurred")):
        ax.text(x, 1.08 * top, word, ha="center", va="top", fontsize=10)
    ax.axvline(LARGEST, color=RED, lw=1.2)
    ax.set(xlim=(bins[0], bins[-1]), ylim=(0, 1.1 * top), xlabel="size [powers of 2]")
    ax.set_ylabel("share")
    ax.legend(loc="upper right", fontsize=9)
    return fig


def running_sums(counts: ArrayLike, sums: Mapping[str, ArrayLike]) -> Figure:
    """Sums of ones, added one at a time, by how they are rounded.

    Args:
        counts: How many ones were added.
        sums: How it was rounded -> the sum after so many.
    """
    fig, ax = plt.subplots(figsize=WIDE)
    for i, (name, values) in enumerate(sums.items()):
        ax.loglog(counts, values, color=COLORS[i], lw=3 - 0.5 * i, label=name)
    ax.set(xlabel="ones added", ylabel="their sum")
    ax.legend()
    return fig


def sixteen_bit_runs(steps: ArrayLike, curves: Mapping[str, ArrayLike]) -> Figure:
    """Losses of runs in 16 bits.

    Args:
        steps: At which the losses stand.
        curves: What was held in 16 bits -> loss [nats].
    """
    fig, ax = plt.subplots(figsize=(6.4, 3.8))
    for i, (name, losses) in enumerate(curves.items()):
        ax.plot(steps, losses, color=COLORS[i], ls=("-", "--")[i % 2], label=name)
    ax.set(xlabel="step", ylabel="loss of the batches [nats]")
    ax.legend(fontsize=9)
    return fig


def block_errors(results: Mapping[str, Sequence[float]]) -> Figure:
    """Relative error of a product by how its operands were rounded, one dot for each draw.

    Args:
        results: Name of the way, and the error of each draw.
    """
    fig, ax = plt.subplots(figsize=(6.4, 0.8 + 0.42 * len(results)))
    for row, errors in enumerate(results.values()):
        ax.semilogx(errors, [row] * len(errors), "o", color=BLUE, alpha=0.7)
    ax.set_yticks(range(len(results)), list(results))
    ax.set_ylim(-0.6, len(results) - 0.4)
    ax.xaxis.set_minor_locator(LogLocator(subs=(2, 5)))
    ax.xaxis.set_minor_formatter("{x:g}")
    ax.xaxis.set_major_formatter("{x:g}")
    ax.set_xlabel("relative error of the product")
    return fig


__all__ = [
    "block_errors",
    "gradient_histogram",
    "rounding_errors",
    "running_sums",
    "sixteen_bit_runs",
]
