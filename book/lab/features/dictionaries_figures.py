"""Figures on dictionaries of directions, and on vectors that steer a model."""

from collections.abc import Mapping, Sequence

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure
from numpy.typing import ArrayLike

from mathlm.plot.style import COLORS, GRAY, WIDE

MARKS = ("o", "s", "^", "D", "v", "P", "X")


def code_responses(amounts: ArrayLike, features: Mapping[str, ArrayLike]) -> Figure:
    """Feature that a code gives to one direction, by how much of it there is.

    Args:
        amounts: How much of the direction the vector has.
        features: Name of the code -> its feature at each amount.
    """
    fig, ax = plt.subplots(figsize=WIDE)
    ax.plot(amounts, amounts, color=GRAY, ls=":", label="as much as there is")
    for i, (name, values) in enumerate(features.items()):
        ax.plot(amounts, values, color=COLORS[i], ls=("-", "--", "-.")[i % 3], label=name)
    ax.set(xlabel="amount of the direction", ylabel="feature")
    ax.legend(fontsize=9)
    return fig


def matched_directions(cosines: Mapping[str, ArrayLike], level: float | int = 0.9) -> Figure:
    """Cosine of each true direction with the one paired with it, in falling order.

    Args:
        cosines: Name of the dictionary -> one cosine for each true direction.
        level: From which on a direction counts as found.
    """
    fig, ax = plt.subplots(figsize=WIDE)
    for i, (name, values) in enumerate(cosines.items()):
        v = np.sort(np.asarray(values))[::-1]
        ax.plot(np.arange(1, len(v) + 1), v, color=COLORS[i], marker=MARKS[i], ms=3, label=name)
    ax.axhline(level, color=GRAY, ls="--", lw=1)
    ax.set(xlabel="true directions, the best found first", ylabel="cosine with its partner")
    ax.set_ylim(top=1.04)
    ax.legend(fontsize=9)
    return fig


def found_by_share(shares: ArrayLike, found: Mapping[str, ArrayLike]) -> Figure:
    """Share of the true directions that are found, by how often each is active.

    Args:
        shares: Probability that a direction is active in a vector.
        found: Name of the dictionary -> share of true directions found at each.
    """
    fig, ax = plt.subplots(figsize=WIDE)
    for i, (name, values) in enumerate(found.items()):
        ax.plot(shares, values, color=COLORS[i], marker=MARKS[i], ms=5, label=name)
    ax.set_xscale("log")
    ticks = np.asarray(shares, dtype=float)
    ax.set_xticks(ticks, [f"{t:.0%}" for t in ticks])
    ax.minorticks_off()
    ax.set(xlabel="how often each direction is active", ylabel="share of them found")
    ax.set_ylim(-0.04, 1.04)
    ax.legend(fontsize=9)
    return fig


def unit_agreement(what: Sequence[str], kinds: Mapping[str, ArrayLike]) -> Figure:
    """How well the best single unit of each kind tells what is asked, a row for each question.

    Args:
        what: The questions.
        kinds: Kind of unit -> agreement of its best, from 0 to 1, one for each question.
    """
    fig, ax = plt.subplots(figsize=(WIDE[0], 0.8 + 0.42 * len(what)))
    y = np.arange(len(what))[::-1]
    for i, (name, values) in enumerate(kinds.items()):
        ax.plot(values, y, color=COLORS[i], marker=MARKS[i], ms=7, ls="", label=name)
    ax.set_yticks(y, what)
    ax.set(xlabel="share of the places that it names", xlim=(-0.03, 1.03))
    ax.legend(fontsize=9, loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=len(kinds))
    return fig


def steering_course(
    strengths: ArrayLike,
    effects: Mapping[str, ArrayLike],
    costs: Mapping[str, ArrayLike],
    labels: tuple[str, str],
) -> Figure:
    """What a vector does to a model, and what it costs, by how strongly it is added.

    Args:
        strengths: Factors of the vector.
        effects: Name of the vector -> the effect at each strength, on the left.
        costs: The same for the costs, on the right.
        labels: Of the two vertical axes.
    """
    fig, axes = plt.subplots(1, 2, figsize=(WIDE[0] * 1.15, WIDE[1]))
    for ax, curves, label in zip(axes, (effects, costs), labels, strict=True):
        for i, (name, values) in enumerate(curves.items()):
            style = ("-", "--", "-.")[i % 3]
            ax.plot(
                strengths, values, color=COLORS[i], marker=MARKS[i], ms=4, ls=style, label=name
            )
        ax.set(xlabel="strength", ylabel=label)
    axes[0].legend(fontsize=9)
    return fig
