"""Figures of the chapter on sequences: counts, states, and how far back either one reaches."""

from collections.abc import Mapping, Sequence

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch
from numpy.typing import ArrayLike

from mathlm.plot.style import BLUE, GRAY, GREEN, MARKS, ORANGE, PURPLE, RED, SKY

KINDS = {"rnn": RED, "gru": GREEN, "lstm": BLUE}


def smoothing_by_order(
    orders: Sequence[int], unseen: ArrayLike, bits: Mapping[str, ArrayLike]
) -> Figure:
    """Unseen n-grams by order on the left, what each smoothing pays on the right.

    Args:
        orders: Orders of the n-grams [bytes].
        unseen: Share of the held-out n-grams that the training text lacks, by order.
        bits: Name and cost [bits/byte] by order of each way of smoothing.
    """
    fig, (left, right) = plt.subplots(1, 2, figsize=(6.4, 3.6), width_ratios=(1, 1.7))
    left.bar(orders, 100 * np.asarray(unseen), color=GRAY)
    left.set(xlabel="order [bytes]", ylabel="held-out n-grams never seen [%]")
    for (name, costs), color, mark in zip(
        bits.items(), (ORANGE, GREEN, SKY, BLUE), MARKS, strict=False
    ):
        right.plot(orders, costs, marker=mark, ms=5, color=color, label=name)
    right.set(xlabel="order [bytes]", ylabel="cost of a held-out byte [bits]")
    for ax in (left, right):
        ax.set_xticks(list(orders))
    right.legend(fontsize=9)
    return fig


def unrolled_network(inputs: Sequence[float], states: ArrayLike) -> Figure:
    """One cell, drawn once for each step, with the states that pass between the copies.

    Args:
        inputs: x₁ … x_T, scalars.
        states: h₀ … h_T, one row each.
    """
    h, T = np.asarray(states), len(inputs)
    fig, ax = plt.subplots(figsize=(6.4, 2.7))
    arrow = {"arrowstyle": "-|>", "color": BLUE, "lw": 1.6}
    for t in range(1, T + 1):
        box = FancyBboxPatch((2 * t - 0.45, 0.7), 0.9, 0.6, boxstyle="round,pad=0.05")
        box.set(facecolor="#DCEAF5", edgecolor=BLUE)
        ax.add_patch(box)
        ax.text(2 * t, 1, "same W", ha="center", va="center", fontsize=9)
        ax.annotate("", (2 * t - 0.5, 1), (2 * t - 1.5, 1), arrowprops=arrow)
        ax.annotate("", (2 * t, 0.63), (2 * t, 0.15), arrowprops=arrow | {"color": ORANGE})
        ax.text(2 * t, 0, f"$x_{t}={inputs[t - 1]:g}$", ha="center", va="center", fontsize=11)
    ax.annotate("", (2 * T + 1.4, 1), (2 * T + 0.5, 1), arrowprops=arrow)
    for t, state in enumerate(h):
        vector = "\n".join(f"{x + 0.0:.3f}".replace("-", "−") for x in state)
        ax.text(2 * t + 1, 1.22, f"$h_{t}$\n{vector}", ha="center", va="bottom", fontsize=9)
    ax.set(xlim=(0.2, 2 * T + 1.6), ylim=(-0.2, 2.1))
    ax.set_axis_off()
    return fig


def weight_powers(steps: ArrayLike, curves: Mapping[str, ArrayLike]) -> Figure:
    """How powers of a recurrent weight grow, on a logarithmic axis.

    Args:
        steps: Exponents k.
        curves: Name and size of the k-th power.
    """
    fig, ax = plt.subplots()
    for (name, sizes), color in zip(curves.items(), (BLUE, RED, GREEN, ORANGE), strict=False):
        ax.semilogy(steps, sizes, color=color, label=name)
    ax.axhline(1, color=GRAY, lw=1)
    ax.set(xlabel="power k", ylabel="size of the k-th power")
    ax.legend(fontsize=9)
    return fig


def clipping_runs(
    losses: Mapping[str, ArrayLike], norms: Mapping[str, ArrayLike], threshold: float
) -> Figure:
    """Loss and gradient norm of each step, of runs that differ in clipping.

    Args:
        losses: Name and losses of each run [bits/byte].
        norms: Name and gradient norms before clipping.
        threshold: Norm at which one of them clips.
    """
    fig, (top, bottom) = plt.subplots(2, 1, sharex=True, figsize=(6.4, 4.4))
    for (name, loss), color in zip(losses.items(), (RED, BLUE), strict=False):
        top.plot(loss, color=color, lw=1.3, label=name)
        bottom.semilogy(norms[name], color=color, lw=1, label=name)
    bottom.axhline(threshold, color=GRAY, ls="--", lw=1)
    top.set_ylabel("loss [bits/byte]")
    bottom.set(xlabel="step", ylabel="norm of the gradient")
    top.legend(fontsize=9)
    return fig


def by_distance(
    panels: Mapping[str, Mapping[str, ArrayLike]],
    ylabel: str,
    xlabel: str = "steps between",
    floor: float = 1e-12,
    first: int = 1,
) -> Figure:
    """One panel for each state of training, one curve for each kind of network.

    Args:
        panels: Title, then kind ("rnn", "gru", "lstm") and its values by distance.
        ylabel: What is drawn, on a logarithmic axis.
        xlabel: What the distance is.
        floor: Smallest value shown.
        first: Distance of the first value.
    """
    fig, axes = plt.subplots(1, len(panels), sharey=True, figsize=(6.4, 3.6), squeeze=False)
    for ax, (title, curves) in zip(axes[0], panels.items(), strict=True):
        for kind, values in curves.items():
            shown = np.maximum(np.asarray(values), floor / 10)
            ax.semilogy(first + np.arange(len(shown)), shown, color=KINDS[kind], label=kind)
        ax.set_title(title, fontsize=11)
        ax.set(xlabel=xlabel, ylim=(floor, None))
    axes[0, 0].set_ylabel(ylabel)
    axes[0, -1].legend(fontsize=9)
    return fig


def memory_horizon(
    delays: Sequence[int], accuracy: Mapping[str, ArrayLike], chance: float
) -> Figure:
    """Share of right answers by delay: each seed a mark, their mean a line.

    Args:
        delays: Steps between symbol and question.
        accuracy: Name and accuracies (delays, seeds) of each network.
        chance: Share that guessing gets.
    """
    fig, ax = plt.subplots(figsize=(6.4, 3.8))
    colors = (RED, SKY, BLUE, PURPLE, GREEN)
    for i, (name, shares) in enumerate(accuracy.items()):
        table, color = np.asarray(shares), colors[i % len(colors)]
        x = np.asarray(delays) * 2 ** (0.05 * (i - len(accuracy) / 2))  # side by side
        ax.plot(x, table.mean(1), color=color, label=name)
        ax.plot(x, table, MARKS[i % len(MARKS)], color=color, ms=5, alpha=0.7)
    ax.axhline(chance, color=GRAY, ls="--", lw=1)
    ax.set_xscale("log", base=2)
    ax.set_xticks(list(delays), [str(d) for d in delays])
    ax.minorticks_off()
    ax.set(xlabel="delay [steps]", ylabel="share of right answers", ylim=(0, 1.05))
    ax.legend(fontsize=9)
    return fig


def recurrent_race(
    curves: Mapping[str, tuple[ArrayLike, ArrayLike]], baselines: Mapping[str, float]
) -> Figure:
    """Cost of a held-out byte against bytes read, for each kind of network.

    Args:
        curves: Kind, then bytes read and cost [bits/byte] at each evaluation.
        baselines: Name and cost [bits/byte] of what does not learn by gradient.
    """
    fig, ax = plt.subplots(figsize=(6.4, 3.8))
    for kind, (seen, bits) in curves.items():
        ax.plot(np.asarray(seen) / 1e6, bits, "o-", ms=4, color=KINDS[kind], label=kind)
    for (name, bits), style in zip(baselines.items(), ("--", ":", "-."), strict=False):
        ax.axhline(bits, color=GRAY, ls=style, label=name)
    ax.set(xlabel="bytes read in training [millions]", ylabel="cost of a held-out byte [bits]")
    ax.legend(fontsize=9)
    return fig


__all__ = [
    "by_distance",
    "clipping_runs",
    "memory_horizon",
    "recurrent_race",
    "smoothing_by_order",
    "unrolled_network",
    "weight_powers",
]
