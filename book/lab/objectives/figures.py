"""Figures of the chapter on training objectives."""

from collections.abc import Mapping, Sequence

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure
from numpy.typing import ArrayLike

from mathlm.plot.figures import scale
from mathlm.plot.style import COLORS, GRAY, MARKS, WIDE


def predicted_measured(
    x: ArrayLike,
    pairs: Mapping[str, tuple[ArrayLike, ArrayLike]],
    labels: tuple[str, str],
    logarithmic: str = "",
) -> Figure:
    """Predictions as lines, what was measured as dots of the same color.

    Args:
        x: Where both were taken.
        pairs: Name -> (predicted, measured).
        labels: Of the two axes.
        logarithmic: Which axes are, "", "x", "y" or "xy".
    """
    fig, ax = plt.subplots(figsize=WIDE)
    for i, (name, (predicted, measured)) in enumerate(pairs.items()):
        ax.plot(x, predicted, color=COLORS[i], label=f"{name}: predicted")
        ax.plot(x, measured, MARKS[i], color=COLORS[i], ms=6, mfc="none", label="measured")
    scale(ax, logarithmic)
    ax.set(xlabel=labels[0], ylabel=labels[1])
    ax.legend(fontsize=9)
    return fig


def score_bars(
    scores: Mapping[str, Mapping[str, ArrayLike]],
    label: str,
    reference: Mapping[str, float] | None = None,
) -> Figure:
    """One group of bars for each question, one bar for each model.

    Args:
        scores: Name of the model -> name of the question -> score, or one for each seed: the
            bar is their mean, the dots are they. NaN draws nothing.
        label: Label of the axis.
        reference: Name of the question -> score of a guess, drawn as a gray line.
    """
    questions = [*next(iter(scores.values()))]
    fig, ax = plt.subplots(figsize=WIDE)
    width = 0.8 / len(scores)
    for i, (name, row) in enumerate(scores.items()):
        at = np.arange(len(questions)) + (i - (len(scores) - 1) / 2) * width
        ax.bar(
            at,
            [np.asarray(row[q], float).mean() for q in questions],
            width,
            color=COLORS[i],
            label=name,
        )
        for place, q in zip(at, questions, strict=True):
            if (seeds := np.ravel(row[q])).size > 1:
                ax.plot(np.full(seeds.size, place), seeds, ".", color=GRAY, ms=5)
    for j, question in enumerate(questions):
        if reference and question in reference:
            ax.plot(
                [j - 0.45, j + 0.45], [reference[question]] * 2, color=GRAY, ls="--", lw=1.5
            )
    ax.set_xticks(range(len(questions)), [wrapped(q) for q in questions])
    ax.set_ylabel(label)
    ax.grid(axis="x", visible=False)
    fig.legend(loc="outside lower center", ncols=min(4, len(scores)), fontsize=9)
    return fig


def wrapped(name: str) -> str:
    """A name in two lines, where it has words enough."""
    words = name.split()
    half = (len(words) + 1) // 2
    return "\n".join(filter(None, (" ".join(words[:half]), " ".join(words[half:]))))


def pattern_of_targets(
    rows: Mapping[str, tuple[Sequence[str], Sequence[bool]]],
) -> Figure:
    """One text as each objective shows it, with the places that are asked for in color.

    Args:
        rows: Name of the objective -> (what the model reads, whether the place is asked for).
    """
    fig, ax = plt.subplots(figsize=(6.4, 0.6 + 0.42 * len(rows)))
    longest = max(len(words) for words, _ in rows.values())
    for i, (words, asked) in enumerate(rows.values()):
        for j, (word, target) in enumerate(zip(words, asked, strict=True)):
            color = "#CFE3F2" if target else "#EEF0F2"
            ax.add_patch(plt.Rectangle((j - 0.47, i - 0.42), 0.94, 0.84, color=color))
            ax.text(j, i, word, ha="center", va="center", fontsize=9, color="black")
    ax.set(xlim=(-0.5, longest - 0.5), ylim=(len(rows) - 0.5, -0.5), xticks=[])
    ax.set_yticks(range(len(rows)), [*rows])
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)
    ax.grid(False)
    return fig
