"""Figures of the chapter on heads: lookups, lenses, circuits, caches, tiles, pruning."""

from collections.abc import Mapping, Sequence

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import ListedColormap, TwoSlopeNorm
from matplotlib.figure import Figure
from numpy.typing import ArrayLike

from mathlm.plot.style import (
    BLUE,
    COLORS,
    DIVERGING,
    GRAY,
    GREEN,
    MARKS,
    ORANGE,
    RED,
    SEQUENTIAL,
    WIDE,
)


def lookups_by_heads(
    errors: Mapping[int, float], bounds: Mapping[int, float], wide: Mapping[str, float]
) -> Figure:
    """Error of a task of several lookups by number of heads, and what no head can undercut.

    Args:
        errors: Number of heads -> mean squared error after training.
        bounds: Number of heads -> least possible error.
        wide: Label -> error of one head of another width, drawn at one head.
    """
    fig, ax = plt.subplots(figsize=WIDE)
    x = np.arange(len(errors))
    ax.bar(x, list(errors.values()), width=0.6, color=BLUE, label="trained")
    for place, heads in enumerate(errors):
        ends = [place - 0.4, place + 0.4]
        label = "least possible" if place == 0 else None
        ax.plot(ends, [bounds[heads]] * 2, color=RED, lw=2.5, label=label)
    for (name, error), mark in zip(wide.items(), MARKS, strict=False):
        ax.plot([0], [error], mark, color=ORANGE, ms=9, mec="black", label=name)
    ax.set_xticks(x, [str(h) for h in errors])
    ax.set(xlabel="heads (total width 64)", ylabel="mean squared error", ylim=(0, 1))
    ax.legend()
    return fig


def head_reads(panels: Mapping[str, ArrayLike], roles: Sequence[str]) -> Figure:
    """Which token each head reads, as one image for each layer.

    Args:
        panels: Title -> mean weights (heads, tokens).
        roles: Names of the tokens.
    """
    tables = {title: np.asarray(table) for title, table in panels.items()}
    sizes = [len(table) for table in tables.values()]
    fig, axes = plt.subplots(
        len(tables), 1, figsize=(6.4, 1.6 + 0.3 * sum(sizes)), height_ratios=sizes, sharex=True
    )
    for ax, (title, table) in zip(np.atleast_1d(axes), tables.items(), strict=True):
        image = ax.imshow(table, cmap=SEQUENTIAL, vmin=0, vmax=1, aspect="auto")
        ax.set_yticks(range(len(table)), [str(h + 1) for h in range(len(table))])
        ax.set(ylabel="head", title=title)
        ax.title.set_fontsize(11)
        ax.grid(False)
        fig.colorbar(image, ax=ax, label="weight")
    np.atleast_1d(axes)[-1].set_xticks(range(len(roles)), roles)
    np.atleast_1d(axes)[-1].set_xlabel("token that is read")
    return fig


def lens_plane(
    words: Sequence[str], points: ArrayLike, axes: tuple[str, str], marked: Sequence[str] = ()
) -> Figure:
    """Words at the two numbers that two lenses read from their vectors.

    Args:
        words: The words.
        points: One row of two numbers for each.
        axes: Names of the two lenses.
        marked: Words to set off.
    """
    fig, ax = plt.subplots(figsize=(6.4, 3.8))
    for word, (x, y) in zip(words, np.asarray(points), strict=True):
        special = word in marked
        color = RED if special else BLUE
        ax.plot(x, y, "o", color=color, ms=8 if special else 5)
        weight = "bold" if special else "normal"
        ax.annotate(word, (x, y), (5, 4), textcoords="offset points", weight=weight)
    ax.axvline(0, color=GRAY, lw=1, ls=":")
    ax.set(xlabel=axes[0], ylabel=axes[1])
    ax.margins(0.14, 0.1)
    return fig


def circuit_spectra(spectra: Mapping[str, ArrayLike], rank: int) -> Figure:
    """Singular values of the circuits of real heads, one line for each head.

    Args:
        spectra: Title -> singular values (heads, D), descending.
        rank: Width of a head.
    """
    fig, axes = plt.subplots(1, len(spectra), figsize=(6.4, 3.6), sharey=True, squeeze=False)
    for ax, (title, values) in zip(axes[0], spectra.items(), strict=True):
        table = np.asarray(values)[:, : 2 * rank]
        for row in table:
            ax.semilogy(np.arange(1, table.shape[1] + 1), row / row[0], lw=1, color=BLUE)
        ax.axvline(rank, color=RED, ls="--", lw=1.2, label=f"$d_k$ = {rank}")
        ax.set(xlabel="number of the singular value", title=title, xlim=(0, 2 * rank))
        ax.title.set_fontsize(11)
        ax.legend(loc="center left", fontsize=9)
        ax.minorticks_off()
    axes[0][0].set(ylabel="singular value / largest", ylim=(1e-8, 3))
    return fig


def cache_sizes(tokens: ArrayLike, gibibytes: Mapping[str, ArrayLike]) -> Figure:
    """Memory of keys and values by length of the text.

    Args:
        tokens: Lengths.
        gibibytes: Name of the model -> size at each length [GiB].
    """
    fig, ax = plt.subplots(figsize=(6.4, 3.8))
    for i, (name, sizes) in enumerate(gibibytes.items()):
        ax.loglog(tokens, sizes, color=COLORS[i % len(COLORS)], label=name)
    smallest = min(float(np.min(sizes)) for sizes in gibibytes.values())
    ax.set(xlabel="tokens in the context", ylabel="keys and values [GiB]")
    ax.set_ylim(bottom=smallest / 60)  # room for the legend below the lines
    ax.minorticks_off()
    ax.legend(fontsize=9, loc="lower right", ncols=2)
    return fig


def tile_plan(length: int, block: int) -> Figure:
    """The tiles of causal attention: done whole, done with a mask, or left out.

    Args:
        length: Queries and keys.
        block: Queries and keys of a tile.
    """
    n = -(-length // block)
    kinds = np.tri(n, dtype=int) + np.eye(n, dtype=int)  # 0 left out, 1 whole, 2 diagonal
    fig, ax = plt.subplots(figsize=(4.6, 4.0))
    colors = ["#E9ECEF", BLUE, ORANGE]
    ax.imshow(kinds, cmap=ListedColormap(colors), vmin=0, vmax=2)
    ax.set_xticks(np.arange(n), [str(block * j) for j in range(n)])
    ax.set_yticks(np.arange(n), [str(block * j) for j in range(n)])
    ax.set_xticks(np.arange(n + 1) - 0.5, minor=True)
    ax.set_yticks(np.arange(n + 1) - 0.5, minor=True)
    ax.grid(False)
    ax.grid(which="minor", color="white", lw=2)
    ax.tick_params(which="minor", length=0)
    ax.set(xlabel="first key of the tile", ylabel="first query of the tile")
    names = zip(colors, ("left out", "whole", "masked"), strict=True)
    handles = [plt.Rectangle((0, 0), 1, 1, color=color) for color, _ in names]
    ax.legend(
        handles, ("left out", "whole", "masked"), loc="upper center", ncols=3,
        bbox_to_anchor=(0.5, 1.14), fontsize=9,
    )  # fmt: skip
    return fig


def attention_memory(lengths: ArrayLike, bytes_by_form: Mapping[str, ArrayLike]) -> Figure:
    """Peak memory of several forms of attention by length, with the fitted exponents.

    Args:
        lengths: Sequence lengths T.
        bytes_by_form: Name -> peak memory at each length [bytes].
    """
    fig, ax = plt.subplots(figsize=WIDE)
    x = np.asarray(lengths, dtype=float)
    for i, (name, sizes) in enumerate(bytes_by_form.items()):
        y = np.asarray(sizes, dtype=float)
        slope = np.polyfit(np.log(x), np.log(y), 1)[0]
        style = {"color": COLORS[i % len(COLORS)], "marker": MARKS[i % len(MARKS)]}
        ax.loglog(x, y / 2**20, label=f"{name}: grows like $T^{{{slope:.2f}}}$", **style)
    ax.set(xlabel="sequence length T", ylabel="peak memory [MiB]")
    ax.set_xticks(x, [f"{int(n):,}" for n in x])
    ax.minorticks_off()
    ax.legend(fontsize=9)
    return fig


def recall_capacity(
    pairs: Sequence[int], shares: Mapping[str, ArrayLike], width: int
) -> Figure:
    """Share of stored pairs that a lookup answers rightly, by number of pairs.

    Args:
        pairs: Numbers of keys and values.
        shares: Name of the form of attention -> share of right answers; the last is dotted.
        width: Width of the keys, marked by a line.
    """
    fig, ax = plt.subplots(figsize=(6.4, 3.8))
    last = list(shares)[-1]
    for (name, share), color, mark in zip(shares.items(), COLORS, MARKS, strict=False):
        style = ":" if name == last and len(shares) > 1 else "-"
        ax.semilogx(
            pairs, 100 * np.asarray(share), style, marker=mark, color=color, label=name, base=2
        )
    ax.axvline(width, color=GRAY, ls="--", lw=1.2, label=f"width of the keys: {width}")
    ax.set_xticks(list(pairs), [str(n) for n in pairs])
    ax.set(xlabel="pairs of key and value", ylabel="answered rightly [%]", ylim=(-3, 105))
    ax.legend(fontsize=9, loc="lower left")
    return fig


def sharing(heads: int = 8, groups: int = 2) -> Figure:
    """Which query heads share which keys and values, in four kinds of attention.

    Args:
        heads: Query heads.
        groups: Key/value heads of the grouped form.
    """
    kinds = {
        f"multi-head: {heads} key/value heads": heads,
        f"grouped-query: {groups}": groups,
        "multi-query: 1": 1,
        "latent: one short vector": 0,
    }
    fig, axes = plt.subplots(2, 2, figsize=(6.4, 4.6))
    for ax, (title, owners) in zip(axes.flat, kinds.items(), strict=True):
        places = np.arange(heads)
        owned = owners or heads
        centers = (places // (heads // owned)) * (heads // owned) + (heads / owned - 1) / 2
        for query, center in zip(places, centers, strict=True):
            _box(ax, float(query), 2, BLUE, 0.7)
            ax.plot([query, center], [1.7, 1.3], color=GRAY, lw=1)
        for center in np.unique(centers):
            _box(ax, center, 1, ORANGE if owners else "none", 0.7)
            if not owners:
                ax.plot([center, (heads - 1) / 2], [0.7, 0.3], color=GRAY, lw=1)
        if not owners:
            _box(ax, (heads - 1) / 2, 0, ORANGE, 2.6)
        ax.set(title=title, xlim=(-0.8, heads - 0.2), ylim=(-0.5, 2.6))
        ax.title.set_fontsize(10)
        ax.set_axis_off()
    axes[0][0].text(-0.6, 2.45, "query heads", fontsize=9)
    axes[0][0].text(-0.6, 0.35, "keys and values", fontsize=9)
    axes[1][1].text(-0.6, -0.4, "cached: c and kᴿ", fontsize=9)
    handles = [plt.Rectangle((0, 0), 1, 1, fc=c, ec=GRAY) for c in (ORANGE, "none")]
    fig.legend(handles, ("in the cache", "made when needed"), loc="outside lower center",
               ncols=2, fontsize=9)  # fmt: skip
    return fig


def _box(ax: Axes, center: float, level: float, color: str, width: float) -> None:
    corner = (center - width / 2, level - 0.3)
    ax.add_patch(plt.Rectangle(corner, width, 0.6, fc=color, ec=GRAY, lw=1))


def head_harm(harm: ArrayLike, unit: str = "added loss [nats/token]") -> Figure:
    """What the loss gains when one head alone is taken away, for every head of a model.

    Args:
        harm: Change of the loss, (layers, heads).
        unit: Label of the color bar.
    """
    table = np.asarray(harm, dtype=float)
    largest = float(np.abs(table).max())
    fig, ax = plt.subplots(figsize=(6.4, 3.4))
    image = ax.imshow(
        np.cbrt(table.T), cmap=DIVERGING, aspect="auto",
        norm=TwoSlopeNorm(0, -np.cbrt(largest), np.cbrt(largest)),
    )  # fmt: skip
    ticks = largest * np.array([-1, -0.1, -0.01, 0, 0.01, 0.1, 1])
    bar = fig.colorbar(image, ax=ax, label=unit)
    bar.set_ticks(np.cbrt(ticks).tolist(), labels=[f"{t:.2g}" for t in ticks])
    ax.set_yticks(range(table.shape[1]), [str(h) for h in range(table.shape[1])])
    ax.set(xlabel="layer", ylabel="head")
    ax.grid(False)
    return fig


def pruning_curves(
    runs: Mapping[str, tuple[ArrayLike, ArrayLike]], marks: Mapping[str, float] | None = None
) -> Figure:
    """Loss by number of heads that are gone, for several orders of taking them.

    Args:
        runs: Name of the order -> numbers of heads removed, and the loss of each.
        marks: Horizontal lines: name -> loss.
    """
    fig, ax = plt.subplots(figsize=(6.4, 3.8))
    for (name, (counts, losses)), color, mark in zip(
        runs.items(), (BLUE, ORANGE, RED, GREEN), MARKS, strict=False
    ):
        rows = np.atleast_2d(np.asarray(losses, dtype=float))
        ax.plot(counts, rows.mean(0), marker=mark, ms=4, color=color, label=name)
        if len(rows) > 1:
            ax.fill_between(
                np.asarray(counts), rows.min(0), rows.max(0), color=color, alpha=0.2
            )
    for name, loss in (marks or {}).items():
        ax.axhline(loss, color=GRAY, ls=":", lw=1.2)
        ax.annotate(name, (0.99, loss), (0, 3), xycoords=("axes fraction", "data"),
                    textcoords="offset points", ha="right", fontsize=9)  # fmt: skip
    ax.set(xlabel="heads removed", ylabel="loss [nats/token]")
    ax.legend(fontsize=9)
    return fig


def harm_by_pattern(scores: ArrayLike, harm: ArrayLike, name: str) -> Figure:
    """What a head's removal costs against what the head looks at.

    Args:
        scores: One score for each head.
        harm: Change of the loss [nats/token], in the same order.
        name: What the score measures.
    """
    fig, ax = plt.subplots(figsize=WIDE)
    y = np.asarray(harm, dtype=float).ravel()
    ax.plot(np.asarray(scores).ravel(), y, "o", color=BLUE, ms=4, alpha=0.7)
    ax.axhline(0, color=GRAY, lw=1, ls=":")
    ax.set_yscale("symlog", linthresh=0.01)
    ax.set(xlabel=name, ylabel="added loss [nats/token]", ylim=(2 * y.min(), 2 * y.max()))
    return fig
