"""Embeddings: cosines, analogies, human ratings, cones, rows that move, senses of a word."""

from collections.abc import Mapping, Sequence

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy import ndarray

from mathlm.errors import InputError
from mathlm.plot.style import BLUE, COLORS, DIVERGING, GRAY, GREEN, RED, SEQUENTIAL, WIDE


def cosine_tables(names: Sequence[str], tables: Mapping[str, ndarray | Sequence]) -> Figure:
    """Cosines of the same words under several representations.

    Args:
        names: The words.
        tables: Title -> cosines (words, words).
    """
    fig, axes = plt.subplots(1, len(tables), figsize=(6.4, 3.4), sharey=True, squeeze=False)
    for ax, (title, table) in zip(axes[0], tables.items(), strict=True):
        table = np.asarray(table)
        ax.imshow(table, cmap=DIVERGING, vmin=-1, vmax=1)
        for (i, j), x in np.ndenumerate(table):
            color = "white" if abs(x) > 0.6 else "black"
            ax.text(j, i, f"{x:.2f}", ha="center", va="center", fontsize=9, color=color)
        ax.set_title(title, fontsize=11)
        ax.set_xticks(range(len(names)), names, rotation=45, ha="right")
        ax.set_yticks(range(len(names)), names)
        ax.grid(False)
    return fig


def score_identity(target: ndarray, scores: Mapping[str, ndarray]) -> Figure:
    """Scores w·c of pairs against the score that theory predicts for each.

    Args:
        target: Predicted score of each pair [nats].
        scores: Title -> scores of the same pairs [nats].
    """
    fig, axes = plt.subplots(1, len(scores), figsize=(6.4, 3.5), sharey=True, squeeze=False)
    ends = np.percentile(target, [0.1, 99.9])
    for ax, (title, found) in zip(axes[0], scores.items(), strict=True):
        ax.hexbin(target, found, gridsize=45, bins="log", mincnt=1, cmap=SEQUENTIAL, lw=0)
        ax.plot(ends, ends, color=RED, lw=1.4, ls="--", label="equal")
        ax.set_title(title, fontsize=11)
        ax.set(xlabel="PMI − log k [nats]")
    axes[0, 0].set(ylabel="w · c [nats]")
    axes[0, 0].legend(loc="upper left")
    return fig


def scores_while_training(
    steps: Sequence[float | int], tests: Mapping[str, Sequence[float | int]], axis: str
) -> Figure:
    """Scores of word vectors on several tests while they are trained.

    Args:
        steps: Where the tests were taken.
        tests: Name -> score at each step.
        axis: What is counted along the horizontal axis.
    """
    fig, ax = plt.subplots(figsize=WIDE)
    for (name, values), color in zip(tests.items(), COLORS, strict=False):
        ax.plot(steps, values, "o-", ms=4, color=color, label=name)
    ax.set(xlabel=axis, ylabel="score", ylim=(0, 1.45 * np.max(list(tests.values()))))
    ax.legend(loc="upper right")
    return fig


def log_ratios(
    names: Sequence[str], panels: Mapping[tuple[str, str], tuple[ndarray, ndarray]]
) -> Figure:
    """Log ratios of two pairs of words, one point a context word, with some contexts named.

    Args:
        names: The context words.
        panels: Names of the two axes -> the two log ratios of each context [nats].
    """
    fig, axes = plt.subplots(1, len(panels), figsize=(6.4, 3.6), sharex=True, squeeze=False)
    for ax, ((horizontal, vertical), (x, y)) in zip(axes[0], panels.items(), strict=True):
        ax.axhline(0, color=GRAY, lw=0.8)
        ax.axvline(0, color=GRAY, lw=0.8)
        ax.plot(x, y, "o", ms=3.5, color=BLUE, alpha=0.6)
        for i in _outermost(x, y, 5):
            ax.annotate(names[i], (x[i], y[i]), (0, 4), textcoords="offset points", fontsize=9)
        title = f"correlation {np.corrcoef(x, y)[0, 1]:.2f}".replace("-", "−")
        ax.set_title(title, fontsize=11)
        ax.set(xlabel=f"log ratio {horizontal}", ylabel=f"log ratio {vertical}")
        ax.margins(0.12)
    return fig


def analogy_scores(
    sections: Mapping[str, int], scores: Mapping[str, Sequence[float | int]]
) -> Figure:
    """Share of analogy questions answered, by section and by rule.

    Args:
        sections: Section -> number of questions asked.
        scores: Rule -> share of right answers in each section.
    """
    fig, ax = plt.subplots(figsize=(6.4, 5.6))
    y = np.arange(len(sections))
    width = 0.8 / len(scores)
    for n, ((rule, values), color) in enumerate(zip(scores.items(), COLORS, strict=False)):
        place = y + (n - (len(scores) - 1) / 2) * width
        ax.barh(place, 100 * np.asarray(values), height=width, color=color, label=rule)
    ax.set_yticks(y, [f"{name} ({n})" for name, n in sections.items()], fontsize=9)
    ax.invert_yaxis()
    ax.grid(visible=False, axis="y")
    ax.set(xlabel="right answers [%]", ylabel="section (questions)", xlim=(0, 100))
    fig.legend(loc="outside upper center", ncols=len(scores))
    return fig


def human_ratings(panels: Mapping[str, tuple[ndarray, ndarray]]) -> Figure:
    """Cosines of word pairs against what people say of them.

    Args:
        panels: Title -> cosine and rating of each pair.
    """
    fig, axes = plt.subplots(1, len(panels), figsize=(6.4, 3.4), sharey=True, squeeze=False)
    for ax, (title, (cosines, ratings)) in zip(axes[0], panels.items(), strict=True):
        ax.plot(ratings, cosines, "o", ms=3, color=BLUE, alpha=0.45)
        ax.set_title(title, fontsize=11)
        ax.set(xlabel="mean rating by people (0 to 10)", xlim=(-0.3, 10.3))
    axes[0, 0].set(ylabel="cosine of the vectors")
    return fig


def cosine_spread(spreads: Mapping[str, ndarray]) -> Figure:
    """Histograms of the cosines of random pairs.

    Args:
        spreads: Name -> cosines.
    """
    fig, ax = plt.subplots(figsize=WIDE)
    bins = np.linspace(-1, 1, 81).tolist()
    for (name, values), color in zip(spreads.items(), (RED, BLUE, GREEN), strict=False):
        ax.hist(
            values,
            bins,
            density=True,
            histtype="stepfilled",
            color=color,
            alpha=0.35,
            label=name,
        )
        ax.axvline(float(np.mean(values)), color=color, ls="--", lw=1.4)
    ax.set(xlabel="cosine of two random words", ylabel="density")
    fig.legend(loc="outside upper center", ncols=2)
    return fig


def rows_touched(
    tokens: Sequence[int], curves: Mapping[str, Sequence[float | int] | ndarray]
) -> Figure:
    """How many rows of a table a batch looks up, by its size.

    Args:
        tokens: Sizes of the batch.
        curves: Name -> rows for each size; drawn as lines, and "measured" as dots.
    """
    fig, ax = plt.subplots(figsize=WIDE)
    for (name, rows), color in zip(curves.items(), (GRAY, BLUE, RED), strict=False):
        style = "o" if "measured" in name else "-"
        ax.loglog(tokens, rows, style, color=color, label=name)
    ax.minorticks_off()
    ax.set(xlabel="tokens in the batch", ylabel="different rows looked up")
    ax.legend()
    return fig


def row_motion(curves: Mapping[str, ndarray | Sequence], last: int) -> Figure:
    """Distance of one row of a table from its start, step by step, under several optimizers.

    Args:
        curves: Optimizer -> distance after each step; drawn as a share of that at ``last``.
        last: Step at which the row is looked up for the last time, from 1.

    Raises:
        InputError: If ``last`` is no step of a curve, or a row has not moved by then.
    """
    for name, distance in curves.items():
        if not 1 <= last <= len(distance) or not distance[last - 1] > 0:
            raise InputError(
                f"{name}: last={last} of {len(distance)} steps; expected a step at which the "
                "distance is positive"
            )
    fig, ax = plt.subplots(figsize=(6.4, 3.8))
    styles = ("-", "--", "-", "-.", ":")
    for (name, distance), color, style in zip(curves.items(), COLORS, styles, strict=False):
        share = np.asarray(distance) / distance[last - 1]
        ax.plot(np.arange(1, len(share) + 1), share, ls=style, color=color, label=name)
    ax.axvline(last, color=GRAY, lw=1, ls=":")
    ax.annotate("last lookup", (last, 0), (4, 2), textcoords="offset points", color=GRAY)
    ax.set(
        xlabel="step", ylabel="distance from the start\n(at the last lookup: 1)", ylim=(0, None)
    )
    ax.legend(loc="lower right")
    return fig


def senses_by_layer(within: Sequence, across: Sequence, right: Sequence) -> Figure:
    """How well two senses of a word separate, layer by layer.

    Args:
        within: Mean cosine of two uses in one sense, for each layer.
        across: Mean cosine of two uses in different senses, for each layer.
        right: Share of uses whose nearest other use has the same sense.
    """
    layers = np.arange(len(within))
    fig, (left, bottom) = plt.subplots(2, 1, figsize=(6.4, 5.0), sharex=True)
    left.plot(layers, within, "o-", color=BLUE, label="same sense")
    left.plot(layers, across, "s--", color=RED, label="different senses")
    left.set(ylabel="mean cosine", ylim=(None, 1.01))
    left.legend()
    bottom.plot(layers, 100 * np.asarray(right), "o-", color=GREEN)
    bottom.axhline(50, color=GRAY, ls=":", lw=1)
    bottom.set(xlabel="layer", ylabel="nearest use has\nthe same sense [%]", ylim=(-4, 104))
    return fig


def sense_maps(panels: Mapping[str, ndarray], senses: Mapping[str, Sequence[int]]) -> Figure:
    """Uses of a word on two principal axes, marked by sense.

    Args:
        panels: Title -> coordinates (uses, 2).
        senses: Sense -> numbers of its uses.
    """
    fig, axes = plt.subplots(1, len(panels), figsize=(6.4, 3.4), squeeze=False)
    for ax, (title, xy) in zip(axes[0], panels.items(), strict=True):
        for (sense, uses), color, mark, size in zip(
            senses.items(), (RED, BLUE), ("s", "o"), (12, 6), strict=False
        ):
            face = "none" if mark == "s" else color
            x, y = np.asarray(xy)[list(uses)].T
            ax.plot(x, y, mark, color=color, mfc=face, mew=1.5, ms=size, label=sense)
        ax.set_title(title, fontsize=11)
        ax.set(xlabel="first axis", xticks=[], yticks=[])
        ax.margins(0.12)
        _square(ax)
    axes[0, 0].set(ylabel="second axis")
    fig.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside upper center", ncols=2)
    return fig


def _square(ax: Axes) -> None:
    """The same scale on both axes."""
    ax.set_aspect("equal", adjustable="datalim")


def _outermost(x: ndarray, y: ndarray, n: int) -> ndarray:
    """The n points farthest from the center of a cloud, by rank along each axis."""
    far = np.abs(x - np.mean(x)) / np.std(x) + np.abs(y - np.mean(y)) / np.std(y)
    return np.argsort(-far)[:n]


__all__ = [
    "analogy_scores",
    "cosine_spread",
    "cosine_tables",
    "human_ratings",
    "log_ratios",
    "row_motion",
    "rows_touched",
    "score_identity",
    "sense_maps",
    "senses_by_layer",
    "scores_while_training",
]
