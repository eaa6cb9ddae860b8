"""Figures of the page on mechanisms: what each depth and part adds, how a circuit forms."""

from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure
from numpy.typing import ArrayLike

from mathlm.errors import InputError
from mathlm.plot.style import BLUE, COLORS, GRAY, GREEN, ORANGE, RED, WIDE


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
    ax.set(xlabel="depth: blocks after the embedding", ylabel=unit)
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


History = Sequence[Mapping[str, Any]]


def weights_and_writes(
    tokens: Sequence[str], weights: ArrayLike, shares: ArrayLike, query: str
) -> Figure:
    """What a query looks at, beside how much of what it is given comes from there.

    Args:
        tokens: The keys.
        weights: Of the query, one for each key.
        shares: Length of what is written because of a key, as a share of all lengths.
        query: Name of the token that asks.
    """
    fig, ax = plt.subplots(figsize=(6.4, 1.2 + 0.28 * len(tokens)))
    y = np.arange(len(tokens))
    ax.barh(y - 0.2, np.asarray(weights), 0.4, color=GRAY, label="weight")
    ax.barh(y + 0.2, np.asarray(shares), 0.4, color=BLUE, label="share of what is written")
    ax.set_yticks(y, list(tokens))
    ax.invert_yaxis()
    ax.set(xlabel=f"share, for the query {query!r}", ylabel="token that is read")
    ax.legend(loc="lower right")
    return fig


def induction_forming(history: History, others: Mapping[str, History], chance: float) -> Figure:
    """The loss of tokens that were told, and the scores of the heads, over training.

    Args:
        history: Of the model with two layers: ``step``, ``told``, ``new`` and the tables
            ``previous_token`` and ``induction``.
        others: Name -> history of another model, of which the loss is drawn.
        chance: Loss of equal chances [nats].
    """
    fig, (left, right) = plt.subplots(1, 2, figsize=WIDE)
    steps = [record["step"] for record in history]
    left.plot(steps, [record["told"] for record in history], color=BLUE, label="predictable")
    left.plot(steps, [record["new"] for record in history], color=ORANGE, label="new")
    for (name, other), color in zip(others.items(), (RED, *COLORS[4:]), strict=False):
        told = [record["told"] for record in other]
        left.plot([r["step"] for r in other], told, color=color, ls="--", label=name)
    left.axhline(chance, color=GRAY, lw=1, ls=":")
    left.set(xlabel="step", ylabel="loss [nats]", ylim=(0, None))
    left.legend(fontsize=9)
    marks = {"previous_token": (0, GREEN), "induction": (1, BLUE)}
    for name, (layer, color) in marks.items():
        score = [max(record[name][layer]) for record in history]
        label = f"{name.replace('_', ' ')}, layer {layer}"
        right.plot(steps, score, color=color, label=label)
    right.set(xlabel="step", ylabel="score of the best head", ylim=(0, 1))
    right.legend(fontsize=9)
    return fig


def estimates_of_swaps(measured: ArrayLike, estimated: ArrayLike, unit: str) -> Figure:
    """What a gradient foretells of each swap, against what the swap does.

    Args:
        measured: Change by patching.
        estimated: Change by the gradient, of the same shape.
        unit: Of both.
    """
    fig, ax = plt.subplots(figsize=(6.4, 3.8))
    x, y = np.ravel(measured), np.ravel(estimated)
    ends = [min(x.min(), y.min()), max(x.max(), y.max())]
    ax.plot(ends, ends, color=GRAY, lw=1, ls=":", label="equal")
    ax.plot(x, y, "o", color=BLUE, alpha=0.6, ms=5, label="one layer and position")
    ax.set(xlabel=f"change by patching [{unit}]", ylabel=f"by the gradient [{unit}]")
    ax.legend()
    return fig
