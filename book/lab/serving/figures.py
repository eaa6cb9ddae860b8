"""Figures of the page on serving: timelines of batches, latency against load, gaps."""

from collections.abc import Mapping, Sequence

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure
from numpy.typing import ArrayLike

from mathlm.plot.style import BLUE, COLORS, GRAY, MARKS, ORANGE, WIDE

from .scheduler import Trace


def batch_timelines(traces: Mapping[str, Trace], rows: int) -> Figure:
    """Which row of the batch serves which request, and when.

    Args:
        traces: Title -> what happened.
        rows: Rows of the batch.
    """
    fig, axes = plt.subplots(
        len(traces), 1, figsize=(6.4, 1.3 + 1.3 * len(traces)), sharex=True
    )
    for ax, (title, trace) in zip(np.atleast_1d(axes), traces.items(), strict=True):
        free = [0.0] * rows
        for job in sorted(trace.jobs, key=lambda j: (j.admitted, j.number)):
            row = min(range(rows), key=lambda i: (free[i] > job.admitted + 1e-9, i))
            end = job.times[-1]
            free[row] = end
            color = COLORS[job.number % len(COLORS)]
            ax.barh(row, end - job.admitted, 0.8, job.admitted, color=color)
        ax.set(title=title, ylabel="row", yticks=range(rows))
        ax.invert_yaxis()
        ax.grid(False)
    np.atleast_1d(axes)[-1].set_xlabel("time [s]")
    return fig


def latency_by_load(
    loads: Sequence[float], curves: Mapping[str, Sequence[Sequence[float]]], ylabel: str
) -> Figure:
    """A time against the rate of arrivals: the mean over seeds, and the range.

    Args:
        loads: Requests per second.
        curves: Name -> for each load a value for each seed [s].
        ylabel: What is shown.
    """
    fig, ax = plt.subplots(figsize=WIDE)
    for i, (name, values) in enumerate(curves.items()):
        table = np.array(values)
        ax.plot(loads, table.mean(1), marker=MARKS[i], ms=4, color=COLORS[i], label=name)
        ax.fill_between(loads, table.min(1), table.max(1), color=COLORS[i], alpha=0.2, lw=0)
    ax.set_yscale("log")
    ax.set(xlabel="requests per second", ylabel=ylabel)
    ax.legend(fontsize=9)
    return fig


def gap_curves(gaps: Mapping[str, ArrayLike]) -> Figure:
    """Share of the gaps between tokens that are longer than a time.

    Args:
        gaps: Name -> seconds.
    """
    fig, ax = plt.subplots(figsize=WIDE)
    for color, (name, values) in zip((BLUE, ORANGE, GRAY), gaps.items(), strict=False):
        x = np.sort(np.asarray(values))
        ax.step(1000 * x, 1 - np.arange(len(x)) / len(x), color=color, label=name)
    ax.set_yscale("log")
    ax.set(xlabel="time between two tokens [ms]", ylabel="share that is longer")
    ax.legend(fontsize=9)
    return fig
