"""Self-attention: its steps, who depends on whom, planted bugs, cost, and real heads."""

from collections.abc import Mapping, Sequence

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure
from numpy.typing import ArrayLike

from mathlm.plot.figures import mark_caught, token_axes
from mathlm.plot.style import BLUE, COLORS, GRAY, MARKS, ORANGE, RED, SEQUENTIAL


def attention_steps(matrices: Mapping[str, ArrayLike]) -> Figure:
    """Small matrices side by side with their numbers written in.

    Args:
        matrices: Title and matrix; each row belongs to one token.
    """
    tables = [np.asarray(matrix, dtype=float) for matrix in matrices.values()]
    widths = [table.shape[1] / len(table) for table in tables]  # rows of equal height
    fig, axes = plt.subplots(
        1, len(tables), figsize=(6.4, 2.5), squeeze=False, width_ratios=widths
    )
    for ax, title, table in zip(axes.flat, matrices, tables, strict=True):
        ax.imshow(table, cmap="Blues", vmin=0, vmax=1.6 * max(table.max(), 1e-9))
        for (i, j), entry in np.ndenumerate(table):
            ax.text(j, i, f"{entry:.2f}", ha="center", va="center", fontsize=10, color="black")
        ax.set_title(title, fontsize=11)
        token_axes(ax, [str(i + 1) for i in range(len(table))], None)
    axes[0, 0].set_ylabel("token")
    return fig


def peeking_runs(
    steps: ArrayLike, training: Mapping[str, ArrayLike], hidden: Mapping
) -> Figure:
    """Training loss of two models, and what each loses when the future is hidden.

    Args:
        steps: Training steps.
        training: Name and loss at each step [nats].
        hidden: Name and loss with the future hidden [nats].
    """
    fig, ax = plt.subplots(figsize=(6.4, 3.4))
    last = float(np.asarray(steps)[-1])
    for (name, losses), color, mark in zip(training.items(), (BLUE, RED), MARKS, strict=False):
        ax.plot(steps, losses, color=color, label=f"{name}, in training")
        ax.plot(last * 1.04, hidden[name], mark, ms=10, color=color)
        ax.text(last * 1.04, hidden[name] + 0.15, "future hidden", ha="right", color=color)
    ax.set(xlabel="step", ylabel="loss [nats/letter]", ylim=(0, 1.15 * max(hidden.values())))
    ax.legend(loc="center right", bbox_to_anchor=(1.0, 0.27))
    return fig


def caught_bugs(bugs: Sequence[str], checks: Sequence[str], caught: ArrayLike) -> Figure:
    """Which check fails under which bug.

    Args:
        bugs: Names of the bugs, one row each.
        checks: Names of the checks, one column each.
        caught: True where the check fails.
    """
    fig, ax = plt.subplots(figsize=(6.4, 5.2))
    mark_caught(ax, bugs, checks, caught, square=13)
    ax.tick_params(axis="x", labelrotation=45)
    ax.tick_params(labelsize=10)
    return fig


def cost_by_length(
    lengths: ArrayLike, seconds: Mapping[str, ArrayLike], megabytes: Mapping[str, ArrayLike]
) -> Figure:
    """Measured time and memory of attention by length of the sequence.

    Args:
        lengths: Tokens.
        seconds: Name and time of each length [s].
        megabytes: Name and what is kept for the backward pass of each length [MB].
    """
    fig, axes = plt.subplots(1, 2, figsize=(6.4, 3.4))
    for ax, curves, label in zip(
        axes, (seconds, megabytes), ("time [s]", "kept for the gradient [MB]"), strict=True
    ):
        for (name, values), color, mark in zip(curves.items(), COLORS, MARKS, strict=False):
            ax.loglog(lengths, values, marker=mark, ms=5, color=color, label=name)
        ax.set(xlabel="length n [tokens]", ylabel=label)
    axes[0].legend(fontsize=9)
    return fig


def reach_by_distance(curves: Mapping[str, ArrayLike]) -> Figure:
    """How much the last output depends on inputs further and further back.

    Args:
        curves: Name and size of the dependence at distances 0, 1, 2 and so on.
    """
    fig, ax = plt.subplots(figsize=(6.4, 3.4))
    for (name, sizes), color, mark in zip(curves.items(), COLORS, MARKS, strict=False):
        values = np.asarray(sizes, dtype=float)
        ax.semilogy(values, marker=mark, ms=3, color=color, label=name)
    ax.set(xlabel="distance back [positions]", ylabel="size of ∂y/∂x", ylim=(1e-16, 30))
    ax.legend(fontsize=9)
    return fig


def head_grid(scores: Mapping[str, ArrayLike]) -> Figure:
    """One number for each head of a model, several kinds of number side by side.

    Args:
        scores: Title and table (layers, heads) of shares between 0 and 1.
    """
    fig, axes = plt.subplots(1, len(scores), figsize=(6.4, 5.4), sharey=True, squeeze=False)
    for ax, (title, table) in zip(axes.flat, scores.items(), strict=True):
        image = ax.imshow(np.asarray(table, dtype=float), cmap=SEQUENTIAL, vmin=0, vmax=1,
                          aspect="auto")  # fmt: skip
        ax.set_title(title, fontsize=10)
        ax.set(xlabel="head")
        ax.grid(False)
    axes[0, 0].set_ylabel("layer")
    fig.colorbar(image, ax=axes, orientation="horizontal", label="share of attention",
                 shrink=0.6, aspect=30)  # fmt: skip
    return fig


def sink_by_layer(weight: ArrayLike, size: ArrayLike) -> Figure:
    """Weight that a layer gives to the first token, and how large that token's vector is.

    Args:
        weight: Mean weight on the first token, by layer.
        size: Norm of its vector over the median norm of the others, by layer.
    """
    fig, (top, bottom) = plt.subplots(2, 1, figsize=(6.4, 4.6), sharex=True)
    top.bar(range(len(np.asarray(weight))), 100 * np.asarray(weight), color=BLUE)
    top.set(ylabel="weight on the\nfirst token [%]", ylim=(0, 100))
    bottom.semilogy(size, "o-", color=RED, ms=4)
    bottom.axhline(1, color=GRAY, lw=1)
    bottom.set(xlabel="layer", ylabel="its norm,\ntimes the median")
    return fig


def loss_bars(losses: Mapping[str, float]) -> Figure:
    """One horizontal bar for each condition; the first is what the others are held against.

    Args:
        losses: Name and loss [nats/token].
    """
    fig, ax = plt.subplots(figsize=(6.4, 3.4))
    names, values = list(losses), list(losses.values())
    ax.barh(names, values, color=[BLUE] + [ORANGE] * (len(names) - 1))
    for i, value in enumerate(values):
        ax.text(value, i, f" {value:.2f}", va="center")
    ax.invert_yaxis()
    ax.set(xlabel="loss [nats/token]", xlim=(0, 1.12 * max(values)))
    ax.grid(False)
    return fig
