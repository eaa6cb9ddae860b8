"""Figures of the chapter on tokenization: trainers, vocabularies, rare tokens, who pays."""

from collections.abc import Mapping, Sequence

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.colors import ListedColormap
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from numpy.typing import ArrayLike

from mathlm.errors import InputError
from mathlm.plot.style import BLUE, COLORS, GRAY, GREEN, MARKS, ORANGE, PURPLE, RED, SKY, YELLOW

CUTS = (BLUE, ORANGE, SKY, GREEN, RED, PURPLE, YELLOW, GRAY)


def trainer_growth(
    sizes: Sequence[int],
    by_size: Mapping[str, ArrayLike],
    merges: Sequence[int],
    by_merges: Mapping[str, ArrayLike],
) -> Figure:
    """Work of trainers by the size of the text, and by the number of merges.

    Args:
        sizes: Sizes of the text [bytes].
        by_size: Name of each trainer and the symbols that it reads, by size.
        merges: Numbers of merges.
        by_merges: Name of each trainer and the symbols that it reads, by number of merges.

    Raises:
        InputError: If a trainer lacks a number, or one is not positive.
    """
    fig, axes = plt.subplots(1, 2, figsize=(6.4, 3.4), sharey=True)
    for ax, x, work, label in (
        (axes[0], sizes, by_size, "text [bytes]"),
        (axes[1], merges, by_merges, "merges"),
    ):
        for (name, read), color, mark in zip(work.items(), COLORS, MARKS, strict=False):
            read = _finite(read, (len(x),), f"symbols of {name!r}", low=1e-12)
            slope = np.polyfit(np.log(x), np.log(read), 1)[0]
            shown = f"{name}, slope {slope:.2f}"
            ax.loglog(x, read, marker=mark, ms=5, color=color, label=shown)
        ax.set(xlabel=label)
        ax.legend(fontsize=9)
    for ax, x in zip(axes, (sizes, merges), strict=True):
        ax.set_xticks(list(x), [str(n) for n in x], fontsize=9)
        ax.set_xticks([], minor=True)
    axes[0].set_ylabel("symbols read")
    return fig


def compression_by_vocabulary(
    sizes: Sequence[int],
    curves: Mapping[str, ArrayLike],
    points: Mapping[str, tuple[int, float]],
) -> Figure:
    """Bytes per token by size of the vocabulary, with other tokenizers as points.

    Args:
        sizes: Sizes V of the vocabulary.
        curves: Name of each text and its bytes per token by size.
        points: Name of each other tokenizer, its size and its bytes per token; at most two.

    Raises:
        InputError: If a curve lacks a size, or there are more than two points.
    """
    if len(points) > 2:
        raise InputError(f"{len(points)} tokenizers as points, expected at most 2")
    fig, ax = plt.subplots(figsize=(6.4, 3.6))
    for (name, values), color, mark in zip(curves.items(), COLORS, MARKS, strict=False):
        values = _finite(values, (len(sizes),), f"bytes per token of {name!r}")
        ax.plot(sizes, values, marker=mark, ms=5, color=color, label=name)
    for i, ((name, (size, value)), mark) in enumerate(zip(points.items(), "*P", strict=False)):
        shown, color = f"{name}, held-out plays", (GREEN, RED)[i]
        ax.plot(size, value, mark, ms=(15, 7)[i], color=color, label=shown)
    ax.set_xscale("log", base=2)
    ax.set(xlabel="vocabulary V [tokens]", ylabel="bytes per token", ylim=(0, None))
    ax.legend(fontsize=9, loc="lower right")
    return fig


def token_frequencies(counts: ArrayLike, thresholds: Sequence[int] = (1, 10, 100)) -> Figure:
    """How often each token occurs by its rank, with the number of tokens below thresholds.

    Args:
        counts: Occurrences of each token; zeros are tokens that never occur.
        thresholds: Counts that are marked.

    Raises:
        InputError: If the counts are no vector, are negative, or are all zero.
    """
    counts = np.sort(_finite(counts, (None,), "counts"))[::-1]
    if not counts[0]:
        raise InputError(f"none of {counts.size} tokens occurs: there is nothing to draw")
    fig, ax = plt.subplots(figsize=(6.4, 3.6))
    ranks = np.arange(1, len(counts) + 1)
    seen = counts > 0
    ax.loglog(ranks[seen], counts[seen], color=BLUE, label="tokens of the vocabulary")
    zipf = counts[0] / ranks[seen]
    ax.loglog(ranks[seen], zipf, "--", color=GRAY, lw=1.2, label="largest count / rank")
    for threshold in thresholds:
        below = int((counts < threshold).sum())
        ax.axhline(threshold, color=ORANGE, lw=1)
        ax.text(1, threshold * 1.15, f"{below:,} below {threshold}", fontsize=9, color=RED)
    ax.set(xlabel="rank", ylabel="occurrences in the training text")
    ax.set_ylim(0.7, counts[0] * 2)
    ax.legend(fontsize=9)
    return fig


def vocabulary_size_bits(
    sizes: Sequence[int],
    bits: Mapping[str, ArrayLike],
    nats: Mapping[str, ArrayLike],
    frequencies: ArrayLike,
) -> Figure:
    """Loss per token on the left, bits per byte of the same models on the right.

    The lines are means over seeds, and each seed is a dot. A dashed line on the right is what
    no model is needed for.

    Args:
        sizes: Sizes V of the vocabulary.
        bits: Name of each group of runs and its costs [bits/byte], size by seed.
        nats: Name of each group of runs and its losses [nats/token], size by seed.
        frequencies: Cost of each vocabulary by the frequencies of its tokens alone
            [bits/byte].

    Raises:
        InputError: If a group is no table with a row for each size, or a cost is missing.
    """
    fig, axes = plt.subplots(1, 2, figsize=(6.4, 3.6))
    for ax, runs, label in (
        (axes[0], nats, "loss [nats/token]"),
        (axes[1], bits, "held-out cost [bits/byte]"),
    ):
        for (name, values), color in zip(runs.items(), COLORS, strict=False):
            table = _finite(values, (len(sizes), None), f"{label} of {name!r}")
            ax.plot(sizes, table.mean(1), color=color, label=name)
            ax.plot(sizes, table, "o", ms=4, color=color)
        ax.set_xscale("log", base=2)
        ax.set(xlabel="vocabulary V [tokens]", ylabel=label)
    alone = _finite(frequencies, (len(sizes),), "frequencies")
    axes[1].plot(sizes, alone, "--", color=GRAY, lw=1.2, label="frequencies alone")
    axes[1].legend(fontsize=9)
    return fig


def fertility_bars(table: Mapping[str, Mapping[str, float]], unit: str) -> Figure:
    """A number for each text and tokenizer, as groups of horizontal bars.

    Args:
        table: Name of each text, and for it the name and number of each tokenizer.
        unit: What the numbers are.

    Raises:
        InputError: If there is no text, or one lacks a tokenizer that another has.
    """
    if not table:
        raise InputError("table is empty: there is no text to compare")
    tokenizers = list(next(iter(table.values())))
    for text, row in table.items():
        if list(row) != tokenizers:
            raise InputError(f"{text!r} has {list(row)}, expected {tokenizers} in that order")
    fig, ax = plt.subplots(figsize=(6.4, 0.9 + 0.34 * len(table)))
    where, height = np.arange(len(table)), 0.8 / len(tokenizers)
    for i, (name, color) in enumerate(zip(tokenizers, COLORS, strict=False)):
        values = [row[name] for row in table.values()]
        ax.barh(where + i * height, values, height, color=color, label=name)
    ax.set_yticks(where + 0.4 - height / 2, list(table), fontsize=9)
    ax.invert_yaxis()
    ax.grid(visible=False, axis="y")
    ax.set_xlabel(unit)
    ax.legend(fontsize=9)
    return fig


def number_cuts(cuts: Sequence[tuple[int, ...]]) -> Figure:
    """How the numbers from 1000 to 9999 are cut, as a map: hundreds down, the rest across.

    Args:
        cuts: Digits in each token of the 9,000 numbers, in order.

    Raises:
        InputError: If there are not 9,000, or a cut does not add up to four digits.
    """
    if len(cuts) != 9000 or any(sum(cut) != 4 for cut in cuts):
        raise InputError(f"{len(cuts)} cuts, expected 9,000 of four digits each")
    kinds = sorted(set(cuts), key=cuts.count, reverse=True)
    image = np.array([kinds.index(cut) for cut in cuts]).reshape(90, 100)
    fig, ax = plt.subplots(figsize=(5.4, 5.9))
    colors = ListedColormap(CUTS[: len(kinds)])
    ax.imshow(image, cmap=colors, vmin=-0.5, vmax=len(kinds) - 0.5, extent=(0, 100, 100, 10))
    ax.set(xlabel="last two digits", ylabel="first two digits")
    ax.grid(visible=False)
    handles = [
        Patch(
            color=CUTS[i], label=f"{' + '.join(map(str, kind))}: {cuts.count(kind) / 9000:.1%}"
        )
        for i, kind in enumerate(kinds)
    ]
    ax.legend(
        handles=handles,
        title="digits in each token",
        fontsize=9,
        title_fontsize=9,
        ncols=3,
        loc="upper center",
        bbox_to_anchor=(0.5, -0.14),
    )
    return fig


def row_similarity(similarity: ArrayLike, unused: ArrayLike) -> Figure:
    """Cosine of every row of an embedding with a row that was never trained.

    Args:
        similarity: Cosine of each row.
        unused: Which rows belong to tokens that the training text cannot hold (bool).

    Raises:
        InputError: If there are no rows, a cosine is not finite, or the lengths differ.
    """
    similarity = _finite(similarity, (None,), "similarity", low=-np.inf)
    unused = _finite(unused, similarity.shape, "unused").astype(bool)
    bins = np.linspace(min(0.0, similarity.min()), 1, 61).tolist()
    fig, ax = plt.subplots(figsize=(6.4, 3.4))
    ax.hist(
        [similarity[unused], similarity[~unused]],
        bins,
        stacked=True,
        color=[RED, BLUE],
        label=["tokens that are never used", "other tokens"],
    )
    ax.set_yscale("log")
    ax.set(xlabel="cosine with the mean of the unused rows", ylabel="rows")
    ax.legend(fontsize=9, loc="upper left")
    return fig


def _finite(
    values: ArrayLike, shape: tuple[int | None, ...], name: str, low: float = 0.0
) -> np.ndarray:
    """An array of that shape (None: any length) whose entries are finite and at least low."""
    array = np.asarray(values, dtype=float)
    fits = len(shape) == array.ndim and all(
        n in (None, m) for n, m in zip(shape, array.shape, strict=True)
    )
    if not fits or not array.size:
        wanted = tuple("any" if n is None else n for n in shape)
        raise InputError(f"{name} has shape {array.shape}, expected {wanted}, not empty")
    bad = array[~(np.isfinite(array) & (array >= low))]
    if bad.size:
        raise InputError(f"{name} holds {bad[0]:g}, expected finite numbers from {low:g} on")
    return array


__all__ = [
    "compression_by_vocabulary",
    "fertility_bars",
    "number_cuts",
    "row_similarity",
    "token_frequencies",
    "trainer_growth",
    "vocabulary_size_bits",
]
