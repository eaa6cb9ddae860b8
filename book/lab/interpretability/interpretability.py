"""Figures on what a model computes on the way: what each depth says, what each part adds."""

from collections.abc import Mapping

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure
from numpy.typing import ArrayLike

from mathlm.errors import InputError
from mathlm.plot.style import BLUE, COLORS, GRAY, RED, WIDE


def depth_curves(curves: Mapping[str, ArrayLike], unit: str) -> Figure:
    """A number of the logit lens by depth, one curve for each token or text.

    Args:
        curves: Name -> numbers by depth, the embedding first.
        unit: Label of the vertical axis.
    """
    fig, ax = plt.subplots(figsize=WIDE)
    for i, (name, curve) in enumerate(curves.items()):
        ax.plot(np.asarray(curve), "-o", ms=3, color=COLORS[i % len(COLORS)], label=name)
    ax.axhline(0, color=GRAY, lw=0.8)
    ax.set(xlabel="depth: blocks behind the embedding", ylabel=unit)
    ax.legend(fontsize=9)
    return fig


def largest_shares(shares: Mapping[str, float | int], unit: str, most: int = 12) -> Figure:
    """The parts of a model that add most to a logit, or take most away, and all the rest.

    Args:
        shares: Name of the part -> what it adds; their sum is the logit.
        unit: Label of the horizontal axis.
        most: Bars, the last of which sums up the parts that have none.
    """
    if not shares or most < 2:
        raise InputError(f"{len(shares)} shares and most={most}: expected some, and 2 bars")
    ordered = sorted(shares.items(), key=lambda item: -abs(item[1]))
    kept, rest = ordered[: most - 1], ordered[most - 1 :]
    names, values = [name for name, _ in kept], [float(x) for _, x in kept]
    if rest:
        names, values = [*names, f"{len(rest)} others"], [*values, sum(x for _, x in rest)]
    fig, ax = plt.subplots(figsize=(6.4, 0.9 + 0.26 * len(names)))
    ax.barh(names, values, color=[BLUE if x >= 0 else RED for x in values])
    ax.invert_yaxis()
    ax.axvline(0, color=GRAY, lw=0.8)
    ax.tick_params(axis="y", labelsize=9)
    ax.grid(axis="y", visible=False)
    ax.set(xlabel=unit, ylabel="part of the model")
    return fig
