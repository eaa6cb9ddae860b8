"""Figures on the limits of scaling: bills against published ones, and the stock of text."""

from collections.abc import Mapping
from typing import Any

import matplotlib.pyplot as plt
from matplotlib.figure import Figure
from numpy.typing import ArrayLike

from mathlm.plot.style import BLUE, COLORS, GRAY, RED, WIDE
from mathlm.scaling import Span


def bill_ranges(
    bills: Mapping[str, Span], published: Mapping[str, float | int], quantity: str
) -> Figure:
    """Calculated ranges of some runs, with what was published about each.

    Args:
        bills: Name of the run -> calculated range.
        published: Name of the run -> published number.
        quantity: Of the axis, with its unit.
    """
    fig, ax = plt.subplots(figsize=WIDE)
    places = range(len(bills), 0, -1)
    for i, (y, (name, span)) in enumerate(zip(places, bills.items(), strict=True)):
        ax.plot(
            [span.low, span.high], [y, y], color=BLUE, lw=5, alpha=0.4, solid_capstyle="butt"
        )
        ax.plot(
            span.middle, y, "|", color=BLUE, ms=14, mew=2, label=None if i else "calculated"
        )
        ax.plot(published[name], y, "o", color=RED, label=None if i else "published")
    ax.set(xscale="log", xlabel=quantity, ylim=(0.5, len(bills) + 0.5))
    ax.set_yticks(list(places), list(bills))
    ax.grid(visible=False, axis="y")
    ax.legend(loc="best", fontsize=9)
    return fig


def data_wall(
    compute: ArrayLike,
    wanted: Mapping[str, ArrayLike],
    runs: Mapping[str, tuple[float | int, float | int]],
    stock: Span,
) -> Figure:
    """Tokens that budgets want, against the text that there is.

    Args:
        compute: Budgets [FLOP].
        wanted: Name of a rule -> tokens at each budget.
        runs: Name of a run -> its operations and tokens.
        stock: Text that there is [tokens].
    """
    fig, ax = plt.subplots(figsize=WIDE)
    ax.axhspan(stock.low, stock.high, color=RED, alpha=0.15, lw=0)
    ax.axhline(stock.middle, color=RED, lw=1.2, label="public text")
    for (name, tokens), color in zip(wanted.items(), COLORS, strict=False):
        ax.loglog(compute, tokens, color=color, label=name)
    for i, (name, point) in enumerate(runs.items()):
        ax.plot(*point, "o", color=GRAY)
        place: dict[str, Any] = (
            {"xytext": (6, -4)} if i % 2 else {"xytext": (-6, -4), "ha": "right"}
        )
        ax.annotate(name, point, textcoords="offset points", fontsize=8, **place)
    ax.set(xlabel="compute [FLOP]", ylabel="tokens")
    ax.legend(loc="upper left", fontsize=9)
    return fig
