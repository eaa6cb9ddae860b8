"""Figures of the chapter on reward models: judgments, lengths, and what is optimized away."""

from collections.abc import Mapping, Sequence

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure
from numpy.typing import ArrayLike

from mathlm.plot.style import BLUE, COLORS, GRAY, GREEN, MARKS, ORANGE, PURPLE, RED


def rating_counts(
    counts: Mapping[str, ArrayLike], edges: ArrayLike, mean: ArrayLike, unrated: ArrayLike
) -> Figure:
    """How often each rating was given, and how ratings go with length.

    Args:
        counts: Name of a question, and how often it was answered 1, 2, ..., 10.
        edges: Lengths between parts of the conversations, both ends included [characters].
        mean: Mean rating of each part.
        unrated: Share of each part in which every rating is 5.
    """
    fig, (left, right) = plt.subplots(1, 2, figsize=(6.4, 3.4))
    for i, (name, values) in enumerate(counts.items()):
        places = np.arange(1, 11) + 0.28 * (i - (len(counts) - 1) / 2)
        left.bar(places, values, 0.26, color=COLORS[i % 7], label=name)
    left.set(xlabel="rating", ylabel="conversations", xticks=range(1, 11))
    left.legend(fontsize=9)
    middle = np.sqrt(np.asarray(edges)[1:] * np.asarray(edges)[:-1])
    right.semilogx(middle, mean, "o-", ms=5, color=BLUE, label="mean rating")
    right.semilogx(
        middle, 10 * np.asarray(unrated), "s--", ms=5, color=ORANGE, label="10 × share 5 5 5"
    )
    right.set(xlabel="length [characters]", ylabel="rating", ylim=(0, 10))
    right.legend(fontsize=9)
    return fig


def accuracies(
    rows: Mapping[str, Mapping[str, tuple[float, tuple[float, float]]]],
) -> Figure:
    """Share of held-out pairs that each reward orders correctly, with intervals.

    Args:
        rows: Name of a reward, and for each kind of pairs the share and its interval.
    """
    fig, ax = plt.subplots(figsize=(6.4, 0.9 + 0.5 * len(rows)))
    kinds = list(next(iter(rows.values())))
    for k, kind in enumerate(kinds):
        share = np.array([row[kind][0] for row in rows.values()])
        ends = np.array([row[kind][1] for row in rows.values()])
        error = np.abs(ends.T - share)
        place = np.arange(len(rows)) + 0.22 * (k - (len(kinds) - 1) / 2)
        color, marker = (BLUE, ORANGE, GREEN)[k % 3], MARKS[k % 7]
        ax.errorbar(share, place, xerr=error, fmt=marker, ms=6, color=color, label=kind)
    ax.axvline(0.5, color=GRAY, lw=1, ls=":")
    ax.set_yticks(range(len(rows)), list(rows))
    ax.invert_yaxis()
    ax.set(xlabel="share of held-out pairs ordered correctly", xlim=(0.42, 0.88))
    ax.legend(fontsize=9, loc="lower right")
    return fig


def score_by_length(length: ArrayLike, scores: Mapping[str, ArrayLike]) -> Figure:
    """Rewards of conversations against their length, one panel for each reward.

    Args:
        length: Of each conversation [characters].
        scores: Name of a reward, and its scores; each panel is standardized.
    """
    fig, axes = plt.subplots(1, len(scores), figsize=(6.4, 3.2), sharey=True, squeeze=False)
    for i, (ax, (name, values)) in enumerate(zip(axes[0], scores.items(), strict=True)):
        v = np.asarray(values, dtype=float)
        ax.semilogx(
            length, (v - v.mean()) / v.std(), ".", ms=3, alpha=0.35, color=COLORS[i % 7]
        )
        ax.set(xlabel="length [characters]", title=name)
        ax.title.set_fontsize(11)
        ax.set_ylim(-4, 4)
    axes[0][0].set_ylabel("reward [standard deviations]")
    return fig


def error_by_comparisons(
    numbers: Sequence[int], predicted: Mapping[str, ArrayLike], seen: Mapping[str, ArrayLike]
) -> Figure:
    """Standard error of a strength difference against the number of comparisons.

    Args:
        numbers: Comparisons.
        predicted: Name of a case, and what the Fisher information says [nats].
        seen: The same cases, as repeated experiments show.
    """
    fig, ax = plt.subplots(figsize=(6.4, 3.4))
    for i, name in enumerate(predicted):
        ax.loglog(numbers, predicted[name], color=COLORS[i % 7], label=f"{name}, predicted")
        ax.loglog(numbers, seen[name], MARKS[i % 7], ms=6, color=COLORS[i % 7])
    ax.set(xlabel="comparisons", ylabel="standard error [nats]")
    ax.legend(fontsize=9)
    return fig


def divergence_of_best(
    numbers: Sequence[int], exact: Mapping[str, ArrayLike], bound: ArrayLike
) -> Figure:
    """Divergence of the best of n, exactly, below the formula for rewards without ties.

    Args:
        numbers: n.
        exact: Name of a case and its divergences [nats].
        bound: log n - (n - 1)/n [nats].
    """
    fig, ax = plt.subplots(figsize=(6.4, 3.4))
    ax.semilogx(numbers, bound, "--", color=GRAY, label="log n − (n − 1)/n")
    for i, (name, values) in enumerate(exact.items()):
        ax.semilogx(numbers, values, marker=MARKS[i % 7], ms=4, color=COLORS[i % 7], label=name)
    ax.set(xlabel="n", ylabel="KL(best of n ‖ one draw) [nats]")
    ax.legend(fontsize=9)
    return fig


def proxy_and_gold(
    kl: ArrayLike,
    proxy: ArrayLike,
    gold: ArrayLike,
    seen: tuple[ArrayLike, ArrayLike] | None = None,
    others: Mapping[str, ArrayLike] | None = None,
) -> Figure:
    """Learned and true reward of the best of n, against what the selection costs.

    Args:
        kl: Divergence from the reference [nats].
        proxy: Mean learned reward, predicted.
        gold: Mean true reward, predicted.
        seen: Both as measured, at the same places.
        others: Name of another selection, and its mean true reward.
    """
    fig, ax = plt.subplots(figsize=(6.4, 3.6))
    ax.plot(kl, proxy, "--", color=ORANGE, label="learned reward, predicted")
    ax.plot(kl, gold, "-", color=BLUE, label="true reward, predicted")
    if seen is not None:
        ax.plot(kl, seen[0], "s", ms=6, color=ORANGE, label="learned, measured")
        ax.plot(kl, seen[1], "o", ms=6, color=BLUE, label="true, measured")
    for i, (name, values) in enumerate((others or {}).items()):
        color = (GREEN, PURPLE, RED)[i % 3]
        ax.plot(kl, values, marker=MARKS[(i + 2) % 7], ms=5, color=color, label=name)
    ax.axhline(0, color=GRAY, lw=0.8)
    ax.set(xlabel="KL(best of n ‖ reference) [nats]", ylabel="mean reward [nats]")
    ax.legend(fontsize=9)
    return fig


def known_and_unknown(distance: ArrayLike, curves: Mapping[str, ArrayLike]) -> Figure:
    """Error of a learned reward and what an ensemble suspects of it, away from the data.

    Args:
        distance: How far from the reference's mean [standard deviations].
        curves: Name and values there [nats].
    """
    fig, ax = plt.subplots(figsize=(6.4, 3.4))
    ax.axvspan(-2, 2, color=GRAY, alpha=0.12, lw=0)
    styles = ("-", "--", "-.", ":")
    for i, (name, values) in enumerate(curves.items()):
        ax.plot(
            distance, values, styles[i % 4], color=(RED, BLUE, GREEN, PURPLE)[i % 4], label=name
        )
    ax.set(xlabel="log length of the answer [standard deviations]", ylabel="size [nats]")
    ax.legend(fontsize=9)
    return fig
