"""The transformer backward: routes of the gradient, its sizes, its checks, training by it."""

from collections.abc import Mapping, Sequence

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch
from numpy.typing import ArrayLike

from mathlm.plot.figures import mark_caught
from mathlm.plot.style import BLUE, COLORS, GRAY, GREEN, MARKS, ORANGE, RED

LEFT, RIGHT, SUM = 0.2, 0.72, 0.46  # centers of encoder, decoder and the memory's sum


def gradient_routes(encoder_blocks: int = 2, decoder_blocks: int = 2) -> Figure:
    """The machine with every way that a gradient takes from the loss to the tables.

    Args:
        encoder_blocks: Blocks in the left column.
        decoder_blocks: Blocks in the right column.
    """
    fig, ax = plt.subplots(figsize=(6.4, 5.0))
    left = ["rows of E"] + [f"encoder {i}" for i in range(encoder_blocks)]
    right = ["rows of E"] + [f"decoder {i}" for i in range(decoder_blocks)]
    right += ["head: E", "loss"]
    heights = np.linspace(0.08, 0.95, len(right))
    left_heights = heights[: len(left)]
    for x, names, where in ((LEFT, left, left_heights), (RIGHT, right, heights)):
        for name, y in zip(names, where, strict=True):
            _box(ax, name, x, y)
        for above, below in zip(where[1:], where[:-1], strict=True):
            _arrow(ax, (x, above - 0.045), (x, below + 0.045), BLUE)
    middle = heights[1 : 1 + decoder_blocks]
    memory = middle.mean() if decoder_blocks > 1 else middle[0] + 0.06
    ax.text(SUM, memory, "Σ", ha="center", va="center", fontsize=15, color=RED,
            bbox={"boxstyle": "circle", "fc": "white", "ec": RED})  # fmt: skip
    for y in middle:
        _arrow(ax, (RIGHT - 0.14, y), (SUM + 0.045, memory), RED)
    _arrow(ax, (SUM - 0.045, memory), (LEFT + 0.14, left_heights[-1]), RED)
    ax.text(SUM, memory + 0.09, "memory", ha="center", color=RED)
    ax.set(xlim=(0, 0.92), ylim=(0, 1.02))
    ax.axis("off")
    return fig


def tied_contributions(parts: Mapping[str, ArrayLike]) -> Figure:
    """Size of what each use of one matrix gives to each of its rows.

    Args:
        parts: Use and norm of its contribution to row 0, 1, 2 and so on.
    """
    fig, ax = plt.subplots(figsize=(6.4, 3.4))
    width = 0.8 / len(parts)
    for i, (name, sizes) in enumerate(parts.items()):
        rows = np.arange(len(np.asarray(sizes))) + (i - (len(parts) - 1) / 2) * width
        ax.bar(rows, sizes, width, color=COLORS[i], label=name)
    ax.set_xticks(range(len(np.asarray(sizes))))
    ax.set(xlabel="row of the table (token)", ylabel="norm of the contribution")
    ax.grid(axis="x", visible=False)
    ax.legend()
    return fig


def error_by_step(steps: ArrayLike, errors: Mapping[str, ArrayLike], limit: float) -> Figure:
    """Relative error of numerical derivatives against the step, one line a parameter.

    Args:
        steps: h.
        errors: Name of the parameter and relative error at each h; the color tells the first
            part of the name.
        limit: What the checks ask for, a horizontal line.
    """
    fig, ax = plt.subplots(figsize=(6.4, 3.8))
    groups = list(dict.fromkeys(name.split(".")[0] for name in errors))
    for name, values in errors.items():
        group = groups.index(name.split(".")[0])
        first = next(n for n in errors if n.split(".")[0] == groups[group]) == name
        ax.loglog(steps, values, color=COLORS[group], lw=1, alpha=0.6, marker=MARKS[group],
                  ms=3, label=groups[group] if first else None)  # fmt: skip
    ax.axhline(limit, color=GRAY, ls="--", lw=1)
    ax.set(xlabel="step h", ylabel="relative error")
    ax.legend(fontsize=9)
    return fig


def error_by_parameter(
    names: Sequence[str], errors: Mapping[str, ArrayLike], limits: Mapping[str, float]
) -> Figure:
    """Relative error of each parameter's gradient, by the witness that it is held against.

    Args:
        names: Parameters, in order.
        errors: Witness and one relative error a parameter.
        limits: Witness and the largest error that is accepted.
    """
    fig, ax = plt.subplots(figsize=(6.4, 3.6))
    for i, (witness, values) in enumerate(errors.items()):
        ax.semilogy(values, MARKS[i], ms=4, color=COLORS[i], label=witness)
        ax.axhline(limits[witness], color=COLORS[i], ls="--", lw=1)
    parts = [".".join(name.split(".")[:2]) for name in names]
    starts = [i for i in range(len(parts)) if i == 0 or parts[i] != parts[i - 1]]
    ends = [*starts[1:], len(parts)]
    wide = [(a, b) for a, b in zip(starts, ends, strict=True) if b - a > 1]
    ax.set_xticks([(a + b - 1) / 2 for a, b in wide], [parts[a] for a, _ in wide])
    for start in starts[1:]:
        ax.axvline(start - 0.5, color=GRAY, lw=0.5)
    ax.grid(axis="x", visible=False)
    ax.set(ylabel="relative error")
    ax.legend(loc="upper center", bbox_to_anchor=(0.5, 1.16), ncols=len(errors), fontsize=10)
    return fig


def faults_caught(faults: Sequence[str], checks: Sequence[str], caught: ArrayLike) -> Figure:
    """Which check fails under which planted fault; the height grows with the faults.

    Args:
        faults: Names of the faults, one row each.
        checks: Names of the checks, one column each.
        caught: True where the check fails.
    """
    fig, ax = plt.subplots(figsize=(6.4, 1.4 + 0.23 * len(faults)))
    mark_caught(ax, faults, checks, caught, square=9)
    return fig


def gradient_sizes(norms: Mapping[str, Mapping[str, ArrayLike]]) -> Figure:
    """Size of the gradient by block, one panel a stack, one line a kind of matrix.

    Args:
        norms: Name of the stack -> kind of parameter -> norm in each block, from the first.
    """
    fig, axes = plt.subplots(1, len(norms), figsize=(6.4, 3.8), sharey=True, squeeze=False)
    kinds = list(dict.fromkeys(kind for panel in norms.values() for kind in panel))
    for ax, (stack, panel) in zip(axes.flat, norms.items(), strict=True):
        for kind, sizes in panel.items():
            i = kinds.index(kind)
            ax.semilogy(range(1, len(np.asarray(sizes)) + 1), sizes, marker=MARKS[i], ms=5,
                        color=COLORS[i], label=kind)  # fmt: skip
        ax.set_title(stack, fontsize=11)
        ax.set(xlabel="block")
        ax.xaxis.get_major_locator().set_params(integer=True)
    axes[0, 0].set_ylabel("root mean square\nof the gradient")
    handles = {label: h for ax in axes.flat for h, label in zip(*ax.get_legend_handles_labels(),
                                                                strict=True)}  # fmt: skip
    fig.legend(handles.values(), handles, loc="outside lower center", ncols=3, fontsize=9)
    return fig


def training_by_hand(losses: ArrayLike, rates: ArrayLike, floor: float) -> Figure:
    """Loss of each step and the step size behind it.

    Args:
        losses: Training loss of each step [nats/token].
        rates: Step size of each step.
        floor: Loss below which no model can come [nats/token].
    """
    fig, (top, bottom) = plt.subplots(
        2, 1, figsize=(6.4, 4.2), sharex=True, height_ratios=(2, 1)
    )
    top.plot(losses, color=BLUE, lw=1)
    top.axhline(floor, color=GRAY, ls="--", lw=1)
    top.set(ylabel="loss [nats/token]", ylim=(0, None))
    bottom.plot(rates, color=ORANGE)
    bottom.set(xlabel="step", ylabel="step size", ylim=(0, None))
    return fig


def two_machines(
    steps: ArrayLike, losses: Mapping[str, ArrayLike], difference: ArrayLike
) -> Figure:
    """The same training in two programs: their losses above, their difference below.

    Args:
        steps: Steps, from 1.
        losses: Program and its loss at each step [nats/token].
        difference: Largest relative distance of two weights after each step.
    """
    fig, (top, bottom) = plt.subplots(2, 1, figsize=(6.4, 4.2), sharex=True)
    styles = ((BLUE, "-", 3.5), (ORANGE, "--", 1.5))
    for (name, values), (color, line, width) in zip(losses.items(), styles, strict=False):
        top.plot(steps, values, color=color, ls=line, lw=width, label=name)
    top.set(ylabel="loss [nats/token]")
    top.legend()
    bottom.semilogy(steps, difference, color=RED, marker="o", ms=3)
    sizes = np.asarray(difference, dtype=float)
    bottom.set(xlabel="step", ylabel="distance\nof the weights")
    bottom.set_ylim(sizes.min() / 10, sizes.max() * 10)
    return fig


def losses_with_faults(curves: Mapping[str, ArrayLike], log: bool = False) -> Figure:
    """Training curves of a right gradient and of faulty ones.

    Args:
        curves: Name and mean loss of every ten steps [nats/token]; the right one first.
        log: Whether losses are drawn on a logarithmic axis.
    """
    fig, ax = plt.subplots(figsize=(6.4, 3.6))
    colors = (BLUE, RED, GREEN, ORANGE, GRAY, "#CC79A7")
    for i, (name, values) in enumerate(curves.items()):
        middles = 10 * np.arange(len(np.asarray(values))) + 5
        ax.plot(
            middles,
            values,
            color=colors[i % len(colors)],
            lw=2.4 if i == 0 else 1.2,
            label=name,
        )
    ax.set(xlabel="step", ylabel="loss [nats/token]")
    if log:
        ax.set_yscale("log")
    ax.legend(fontsize=9)
    return fig


def _box(ax: Axes, name: str, x: float, y: float) -> None:
    """A named part of the machine."""
    ax.add_patch(
        FancyBboxPatch(
            (x - 0.13, y - 0.035), 0.26, 0.07, boxstyle="round,pad=0.008", fc="#F2F4F7", ec=GRAY
        )
    )
    ax.text(x, y, name, ha="center", va="center")


def _arrow(ax: Axes, start: tuple[float, float], end: tuple[float, float], color: str) -> None:
    """A way of the gradient."""
    ax.annotate("", end, start, arrowprops={"arrowstyle": "-|>", "color": color, "lw": 1.8})
