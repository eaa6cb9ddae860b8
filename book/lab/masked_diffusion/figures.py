"""Figures of the page: bounds by steps, losses of parallel commits, judged texts."""

from collections.abc import Mapping, Sequence

import matplotlib.pyplot as plt
from matplotlib.figure import Figure

from mathlm.plot.style import COLORS, GRAY, MARKS, WIDE


def curves(
    x: Sequence[float],
    series: Mapping[str, Sequence[float]],
    axes: tuple[str, str],
    levels: Mapping[str, float] | None = None,
) -> Figure:
    """Curves over a logarithmic axis of steps, and horizontal lines to compare them with.

    Args:
        x: Steps or passes, shared by all curves.
        series: Name of each curve -> its values.
        axes: Labels of the two axes, with units.
        levels: Name of each horizontal line -> its value.
    """
    fig, ax = plt.subplots(figsize=WIDE)
    for (name, values), color, mark in zip(series.items(), COLORS, MARKS, strict=False):
        ax.plot(x, values, color=color, marker=mark, label=name)
    for (name, level), dashes in zip((levels or {}).items(), ("--", ":", "-."), strict=False):
        ax.axhline(level, color=GRAY, ls=dashes, label=name)
    ax.set_xscale("log", base=2)
    ax.set_xticks(x, [str(n) for n in x])
    ax.set(xlabel=axes[0], ylabel=axes[1])
    ax.legend()
    return fig
