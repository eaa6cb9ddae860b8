"""Attention: softmax and its temperature, saturation, the plane of values, patterns, cost."""

from collections.abc import Mapping, Sequence

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure
from numpy import ndarray

from mathlm.plot.style import BLUE, COLORS, GRAY, ORANGE, RED, SEQUENTIAL, WIDE


def bottleneck(lengths: Sequence[int], recovered: ndarray | Sequence, width: int) -> Figure:
    """Share of words that can be read back from one vector of fixed width.

    Args:
        lengths: Words per window.
        recovered: Share of the words that the nearest-neighbor reading gets right.
        width: Numbers in the one vector.
    """
    fig, ax = plt.subplots(figsize=WIDE)
    ax.plot(lengths, 100 * np.asarray(recovered), "o-", color=RED, label="one vector")
    ax.plot(lengths, np.full(len(lengths), 100.0), "s--", color=BLUE, label="all vectors kept")
    ax.set_xscale("log", base=2)
    ax.set_xticks(list(lengths), [str(n) for n in lengths])
    ax.set(xlabel=f"words squeezed into {width} numbers", ylabel="words recovered [%]")
    ax.set_ylim(-3, 106)
    ax.legend(loc="center left")
    return fig


def temperature_sweep(
    temperatures: ndarray | Sequence, weights: ndarray | Sequence, scores: ndarray | Sequence
) -> Figure:
    """Softmax weights of fixed scores as the temperature changes.

    Args:
        temperatures: T, ascending.
        weights: One row of weights for each T.
        scores: The scores, for the legend.
    """
    fig, ax = plt.subplots(figsize=WIDE)
    for score, weight, color in zip(
        np.asarray(scores), np.asarray(weights).T, COLORS, strict=False
    ):
        ax.semilogx(temperatures, weight, color=color, label=f"score {score:g}")
    ax.axhline(1 / len(np.asarray(scores)), color=GRAY, ls=":", lw=1)
    ax.set(xlabel="temperature T", ylabel="softmax weight", ylim=(-0.02, 1.02))
    ax.legend()
    return fig


def kernel_regression(
    x: ndarray | Sequence,
    y: ndarray | Sequence,
    grid: ndarray | Sequence,
    fits: Mapping,
    axes: tuple[str, str] = ("key, query", "value"),
) -> Figure:
    """Scattered values and their soft lookup at several bandwidths.

    Args:
        x: Keys, numbers.
        y: Values, numbers.
        grid: Queries.
        fits: Legend entry -> the looked-up values on the grid.
        axes: Names of the two axes.
    """
    fig, ax = plt.subplots(figsize=WIDE)
    ax.plot(x, y, ".", color=GRAY, ms=5, label="(key, value)")
    for (name, fit), color in zip(fits.items(), (RED, BLUE, ORANGE), strict=False):
        ax.plot(grid, fit, color=color, label=name)
    ax.set(xlabel=axes[0], ylabel=axes[1])
    ax.legend(ncols=2)
    return fig


def value_plane(
    values: ndarray | Sequence, weights: ndarray | Sequence, output: ndarray | Sequence
) -> Figure:
    """Values with two features, sized by their weight, and the mixture inside their hull.

    Args:
        values: Three rows of two numbers.
        weights: Attention weights.
        output: The mixture.
    """
    values, weights, output = map(np.asarray, (values, weights, output))
    mean = values.mean(0)
    fig, ax = plt.subplots(figsize=WIDE)
    ax.fill(*values.T, color=BLUE, alpha=0.12, label="all possible mixtures")
    ax.scatter(*values.T, s=1200 * weights, color=BLUE, alpha=0.8)
    for i, (value, weight) in enumerate(zip(values, weights, strict=True), start=1):
        ax.annotate(f"v{i}, weight {weight:.3f}", value, (12, -14), textcoords="offset points")
    ax.plot(*mean, "x", color=GRAY, ms=9, mew=2, label="plain mean")
    ax.plot(*output, "*", color=RED, ms=15, label="output")
    ax.set(xlabel="first feature", ylabel="second feature")
    ax.margins(0.3, 0.18)
    ax.legend(loc="upper left")
    return fig


def saturation(widths: Sequence[int], unscaled: Mapping, scaled: Mapping) -> Figure:
    """Entropy of the weights and size of the softmax Jacobian by width of the keys.

    Args:
        widths: Values of d_k.
        unscaled: "entropy", "mean" and "median" (of the Jacobian's norm), one number a width.
        scaled: The same, with scores divided by the root of the width.
    """
    fig, (left, right) = plt.subplots(2, 1, figsize=(6.4, 5.6), sharex=True)
    left.plot(widths, scaled["entropy"], "o-", color=BLUE, label="divided by √d")
    left.plot(widths, unscaled["entropy"], "s-", color=RED, label="not divided")
    left.set(ylabel="entropy of weights [nats]", ylim=(0, None))
    for stats, name, color in ((scaled, "divided", BLUE), (unscaled, "not divided", RED)):
        right.plot(widths, stats["mean"], "o-", color=color, label=f"{name}, mean")
        right.plot(widths, stats["median"], "v--", color=color, label=f"{name}, median")
    right.set(ylabel="norm of Jacobian", xlabel="width of keys $d_k$", ylim=(1e-6, 2))
    right.set_yscale("log")
    right.set_xscale("log", base=2)
    right.set_xticks(list(widths), [str(w) for w in widths])
    left.legend()
    right.legend(loc="lower left")
    return fig


def attention_patterns(maps: Mapping[str, ndarray | Sequence]) -> Figure:
    """Attention matrices side by side, one query in each row.

    Args:
        maps: Title -> attention matrix (queries, keys).
    """
    fig, axes = plt.subplots(2, 2, figsize=(6.4, 6.0))
    for ax, (title, weights) in zip(axes.flat, maps.items(), strict=True):
        image = ax.imshow(weights, cmap=SEQUENTIAL, vmin=0)
        ax.set_title(title, fontsize=11)
        ax.set(xlabel="key", ylabel="query", xticks=[], yticks=[])
        ax.grid(False)
        fig.colorbar(image, ax=ax, shrink=0.75)
    return fig


def attention_cost(
    lengths: ndarray | Sequence, projections: ndarray | Sequence, pairs: ndarray | Sequence
) -> Figure:
    """Multiply-adds of the two parts of an attention layer by length of the sequence.

    Args:
        lengths: Sequence lengths n.
        projections: Multiply-adds of the four projections.
        pairs: Multiply-adds of scores and mixtures.
    """
    fig, ax = plt.subplots(figsize=WIDE)
    ax.loglog(lengths, projections, color=BLUE, label="projections, 4 n d²")
    ax.loglog(lengths, pairs, color=RED, label="scores and mixtures, 2 n² d")
    ax.set(xlabel="sequence length n [tokens]", ylabel="multiply-adds")
    ax.legend()
    return fig


def recall_by_learning_rate(
    rates: Sequence[float],
    unscaled: Mapping[int, ndarray | Sequence],
    scaled: Mapping[int, ndarray | Sequence],
) -> Figure:
    """Held-out loss after training, by learning rate and width: mean and range over seeds.

    Args:
        rates: Learning rates.
        unscaled: Width -> loss for each rate, or for each seed and rate; scores not divided.
        scaled: Width -> loss for each rate, scores divided by the root of the width.
    """
    fig, axes = plt.subplots(1, 2, figsize=(6.4, 3.6), sharey=True)
    for ax, runs, title in zip(
        axes, (unscaled, scaled), ("not divided", "divided by √d"), strict=True
    ):
        for (width, losses), color in zip(runs.items(), COLORS, strict=False):
            seeds = np.atleast_2d(losses)
            label = f"$d_k$ = {width}"
            ax.semilogx(rates, seeds.mean(0), "o-", color=color, label=label)
            ax.fill_between(rates, seeds.min(0), seeds.max(0), color=color, alpha=0.2, lw=0)
        ax.set_title(title, fontsize=11)
        ax.set(xlabel="learning rate")
    axes[0].set(ylabel="held-out loss", ylim=(0, None))
    axes[1].legend(loc="upper left")
    return fig
