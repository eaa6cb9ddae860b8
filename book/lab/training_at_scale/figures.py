"""Figures on training at scale: what 16 bits lose, what is kept, and what is sent."""

from collections.abc import Mapping, Sequence

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure
from numpy.typing import ArrayLike

from mathlm.plot.style import BLUE, COLORS, GRAY, GREEN, MARKS, ORANGE, RED, WIDE

from .pipeline_schedule import Task

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


def memory_against_time(points: Mapping[str, tuple[float, float]]) -> Figure:
    """What a way to compute one gradient keeps, and how long it takes.

    Args:
        points: Name -> memory [MB] and time over that of the plain way.
    """
    fig, ax = plt.subplots(figsize=WIDE)
    for i, (name, (memory, time)) in enumerate(points.items()):
        ax.plot(time, memory, MARKS[i % len(MARKS)], color=COLORS[i % len(COLORS)], ms=8)
        ax.annotate(name, (time, memory), (7, 5), textcoords="offset points", fontsize=9)
    ax.set(xlabel="time over that of one plain pass", ylabel="kept for backward [MB]")
    ax.set_yscale("log", base=2)
    ax.yaxis.set_major_formatter("{x:g}")
    ax.margins(x=0.3, y=0.15)
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


def spread_of_runs(results: Mapping[str, Sequence[float]], baseline: str) -> Figure:
    """Held-out loss of each way to round, one point for each seed.

    Args:
        results: Name -> losses [nats].
        baseline: Name whose mean is drawn as a line.
    """
    fig, ax = plt.subplots(figsize=WIDE)
    for i, (name, losses) in enumerate(results.items()):
        color = GREEN if name == baseline else BLUE
        ax.plot(losses, [i] * len(losses), "o", color=color, ms=6, alpha=0.8)
    ax.axvline(float(np.mean(results[baseline])), color=GRAY, ls=":", lw=1.2)
    ax.set_yticks(range(len(results)), list(results))
    ax.invert_yaxis()
    ax.set(xlabel="held-out loss [nats/byte]")
    return fig
