"""Figures of the page: what is kept, who waits, and what is sent."""

from collections.abc import Mapping, Sequence

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure
from numpy.typing import ArrayLike

from mathlm.plot.style import BLUE, COLORS, GRAY, MARKS, ORANGE, RED, WIDE

from .pipeline_schedule import Task


def segment_memory(segments: ArrayLike, kept: Mapping[str, ArrayLike]) -> Figure:
    """Memory by the number of segments that are computed again.

    Args:
        segments: How many.
        kept: Name of the model -> memory over that without segments.
    """
    fig, ax = plt.subplots(figsize=WIDE)
    for (name, values), color, mark in zip(kept.items(), COLORS, MARKS, strict=False):
        ax.plot(segments, values, color=color, marker=mark, ms=3.5, label=name)
    ax.set(xlabel="segments", ylabel="activations, share of all", ylim=(0, None))
    ax.legend()
    return fig


def pipeline_rows(schedules: Mapping[str, Sequence[Task]]) -> Figure:
    """Schedules of a pipeline: one row for each stage, one box for each pass.

    Args:
        schedules: Name -> tasks, as ``pipeline_schedule.pipeline_tasks`` gives them.
    """
    fig, axes = plt.subplots(
        len(schedules), 1, sharex=True, figsize=(6.4, 1.9 * len(schedules)), squeeze=False
    )
    for ax, (name, tasks) in zip(axes[:, 0], schedules.items(), strict=True):
        for t in tasks:
            color = ORANGE if t.backward else BLUE
            ax.barh(t.stage, t.end - t.start, left=t.start, color=color, ec="white", lw=0.8)
            middle = (t.start + t.end) / 2
            ax.text(middle, t.stage, t.micro_batch + 1, ha="center", va="center", fontsize=9)
        ax.set_title(name, loc="left", fontsize=10)
        ax.set(ylabel="stage", yticks=range(1 + max(t.stage for t in tasks)))
        ax.invert_yaxis()
        ax.grid(False)
    axes[-1, 0].set_xlabel("time [forward passes of one micro-batch and stage]")
    return fig


def sent_bytes(measured: Mapping[str, float], expected: Mapping[str, float]) -> Figure:
    """Bytes that one rank sends in a step, counted and by the formula.

    Args:
        measured: What was divided -> bytes.
        expected: The same names -> bytes by the formula.
    """
    fig, ax = plt.subplots(figsize=WIDE)
    rows = np.arange(len(measured))
    kilobytes = [n / 1e3 for n in measured.values()]
    ax.barh(rows, kilobytes, color=BLUE, alpha=0.6, label="counted")
    marks = [expected[name] / 1e3 for name in measured]
    ax.plot(marks, rows, "|", color=RED, ms=24, mew=2.2, label="by the formula")
    ax.set_yticks(rows, list(measured))
    ax.invert_yaxis()
    ax.set(xlabel="sent by each rank in a step [kB]")
    ax.legend()
    return fig


def sending_shares(devices: ArrayLike, shares: Mapping[str, ArrayLike]) -> Figure:
    """Time of sending over time of computing when each matrix is cut, by devices.

    Args:
        devices: How many share a matrix.
        shares: Width and wire -> ratio.
    """
    fig, ax = plt.subplots(figsize=WIDE)
    for (name, values), color, mark in zip(shares.items(), COLORS, MARKS, strict=False):
        ax.loglog(devices, values, color=color, marker=mark, ms=4, label=name)
    ax.axhline(1, color=GRAY, ls=":", lw=1.2)
    ax.set_xticks(list(np.asarray(devices)), [str(n) for n in np.asarray(devices)])
    ax.minorticks_off()
    ax.set(xlabel="devices that share each matrix", ylabel="sending / computing")
    ax.legend(fontsize=9)
    return fig


__all__ = [
    "pipeline_rows",
    "segment_memory",
    "sending_shares",
    "sent_bytes",
]
