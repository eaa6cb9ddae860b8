"""Figures of the page on features: probes, superposition, dictionaries, steering."""

from collections.abc import Mapping, Sequence

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure
from numpy.typing import ArrayLike

from mathlm.plot.style import BLUE, COLORS, GRAY, GREEN, MARKS, ORANGE, RED, WIDE


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


def probe_layers(
    panels: Mapping[str, Mapping[str, Mapping[int, tuple[float, float, float]]]],
    floors: Mapping[str, Mapping[str, float]],
) -> Figure:
    """Held-out accuracy of probes behind each block, and what needs no states.

    Args:
        panels: Title -> label -> depth -> accuracy with the ends of its interval.
        floors: Title -> label -> accuracy, drawn as a level line.
    """
    fig, axes = plt.subplots(1, len(panels), figsize=WIDE, sharey=True, squeeze=False)
    for ax, (title, lines) in zip(axes[0], panels.items(), strict=True):
        for (label, depths), color, mark in zip(lines.items(), COLORS, MARKS, strict=False):
            middle, low, high = np.array([*depths.values()]).T
            ends = [middle - low, high - middle]
            ax.errorbar(
                [*depths], middle, ends, color=color, marker=mark, ms=5, capsize=2, label=label
            )
        for (label, level), style in zip(floors[title].items(), (":", "--"), strict=False):
            ax.axhline(level, color=GRAY, ls=style, label=label)
        ax.set(xlabel="after so many blocks", title=title)
        ax.title.set_fontsize(11)
    axes[0, 0].set_ylabel("share of held-out words right")
    handles, labels = axes[0, 0].get_legend_handles_labels()
    fig.legend(handles, labels, loc="outside lower center", ncol=2)
    return fig


def sharing_losses(
    density: ArrayLike, trained: ArrayLike, curves: Mapping[str, ArrayLike], threshold: float
) -> Figure:
    """Loss of two features in one dimension: trained, and with known weights.

    Args:
        density: Probability that a feature is there.
        trained: Loss of the best trained model at each density.
        curves: Label -> loss at each density of weights that are written down.
        threshold: Density at which the curves cross.
    """
    fig, ax = plt.subplots(figsize=WIDE)
    for (label, losses), color in zip(curves.items(), (ORANGE, BLUE), strict=False):
        ax.plot(density, losses, color=color, label=label)
    ax.plot(density, trained, "o", color="black", ms=4.5, label="trained")
    ax.axvline(threshold, color=GRAY, ls=":", label=f"p = {threshold:.2f}")
    ax.set(xlabel="density p", ylabel="loss", xlim=(0, None), ylim=(0, None))
    ax.legend()
    return fig


def feature_arrows(planes: Mapping[str, ArrayLike], importance: ArrayLike) -> Figure:
    """Directions of features in the plane, one panel for each model.

    Args:
        planes: Title -> columns (2, m).
        importance: Of each feature; the more, the darker.
    """
    importance = np.asarray(importance, float)
    shades = plt.get_cmap("viridis_r")(0.15 + 0.8 * importance / importance.max())
    fig, axes = plt.subplots(1, len(planes), figsize=(6.4, 2.1), squeeze=False, sharey=True)
    for ax, (title, weight) in zip(axes[0], planes.items(), strict=True):
        for (x, y), shade in zip(np.asarray(weight).T, shades, strict=True):
            ax.plot([0, x], [0, y], color=shade, lw=2)
            ax.plot(x, y, "o", color=shade, ms=6)
        ax.set(xlim=(-1.45, 1.45), ylim=(-1.45, 1.45), aspect="equal", title=title)
        ax.set(xlabel="h₁", xticks=[-1, 0, 1], yticks=[-1, 0, 1])
        ax.title.set_fontsize(10)
    axes[0, 0].set_ylabel("h₂")
    return fig


def features_held(density: ArrayLike, held: Mapping[int, ArrayLike], n_features: int) -> Figure:
    """How many features have a direction, by density, for several widths.

    Args:
        density: Probability that a feature is there.
        held: Width -> number of features at each density.
        n_features: How many there are.
    """
    fig, ax = plt.subplots(figsize=WIDE)
    for (width, counts), color, mark in zip(held.items(), COLORS, MARKS, strict=False):
        ax.plot(density, counts, color=color, marker=mark, label=f"{width} dimensions")
        ax.axhline(width, color=color, ls=":", lw=1)
    ax.set(xscale="log", xlabel="density p", ylabel=f"features held, of {n_features}")
    ax.invert_xaxis()
    ax.set_ylim(0, n_features * 1.05)
    ax.legend()
    return fig


def readout_curves(
    active: Sequence[int],
    measured: Mapping[str, ArrayLike],
    foretold: tuple[ArrayLike, ArrayLike],
    rule: float,
) -> Figure:
    """How often all features are read right, by how many are there at once.

    Args:
        active: Numbers of features that were tried.
        measured: Way of reading -> share of trials at each number.
        foretold: Numbers of features, and the probability of a threshold's success.
        rule: The number that the rule gives, drawn as a line.
    """
    fig, ax = plt.subplots(figsize=WIDE)
    ax.plot(*foretold, color=GRAY, label="threshold, predicted")
    for (label, shares), color, size in zip(
        measured.items(), (BLUE, GREEN), (6, 10), strict=False
    ):
        ax.plot(active, shares, "o", color=color, ms=size, mfc="none", mew=2, label=label)
    ax.axvline(rule, color=RED, ls=":", label=f"rule: {rule:.0f}")
    ax.set(xlabel="features there at once, k", ylabel="share of trials all right")
    ax.set_ylim(-0.05, 1.08)
    fig.legend(loc="outside lower center", ncol=2)
    return fig
