"""Figures of the whole transformer: its map, its masks, and a model that translates."""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import ListedColormap
from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch
from numpy import ndarray
from numpy.typing import ArrayLike

from mathlm.errors import InputError
from mathlm.plot.style import BLUE, COLORS, GRAY, GREEN, ORANGE, RED, SEQUENTIAL

FACES = {"attention": "#D6E8F5", "cross-attention": "#CDE9DE", "feed-forward": "#E9E3F0"}
FACES |= {"add & norm": "#FBE3C0", "table": "#EDEDED"}
ENCODER = ("attention", "add & norm", "feed-forward", "add & norm")
DECODER = ("attention", "add & norm", "cross-attention", *ENCODER[1:])
Real = float | int
DASHES = ("-", "--", "-.", ":", (0, (5, 1, 1, 1)))


def transformer_map(
    source: Sequence[str], given: Sequence[str], labels: Sequence[str], blocks: int
) -> Figure:
    """The encoder on the left, the decoder on the right, and what flows between them.

    Args:
        source: Words that are read.
        given: Words that the decoder is given, the begin mark first.
        labels: Word that each of its positions is to predict.
        blocks: Blocks in each stack.
    """
    if len(given) != len(labels):
        raise InputError(f"{len(given)} words given and {len(labels)} labels: one for each")
    fig, ax = plt.subplots(figsize=(6.4, 6.6))
    ax.set(xlim=(-3.2, 8.2), ylim=(-1.5, 10.0))
    ax.axis("off")
    S, T = len(source), len(given)
    left = _stack(ax, 0, source, ENCODER, blocks)
    right = _stack(ax, 5, given, DECODER, blocks)
    cross, above = right[2], left[-1] + 0.95
    ax.plot([0, 0, 2.5, 2.5], [above - 0.6, above, above, cross], color="black", lw=1.2)
    _arrow(ax, (2.5, cross), (5 - 1.62, cross))
    ax.text(0.1, above + 0.12, f"memory {S} × D", fontsize=9, color=GRAY)
    for x, y, rows, columns in ((5, cross, T, S), (5, right[0], T, T), (0, left[0], S, S)):
        side, align = (1, "left") if x else (-1, "right")
        note = f"weights\n{rows} × {columns}"
        ax.text(x + 1.9 * side, y, note, va="center", ha=align, fontsize=9, color=GRAY)
    _head(ax, right[-1], labels)
    return fig


def _stack(
    ax: Axes, x: int, words: Sequence[str], parts: Sequence[str], blocks: int
) -> ndarray:
    """Words, table and repeated parts from bottom to top; returns the heights of the parts."""
    ax.text(x, -1.2, " · ".join(words), ha="center", va="center", fontsize=11)
    _part(ax, x, 0, "√D × row of table\n+ position", FACES["table"], 0.9)
    heights = 1.6 + 1.05 * np.arange(len(parts))
    _frame(ax, x, heights, f"× {blocks}", side=1 if x else -1)
    for low, high in pairwise([-1.05, 0, *heights]):
        start, end = (0.3 if low else 0.47), (0.32 if high else 0.47)  # the table is taller
        _arrow(ax, (x, low + start), (x, high - end))
    for y, name in zip(heights, parts, strict=True):
        _part(ax, x, y, _shown(name, x), FACES[name], 0.6)
    ax.text(x + 0.15, 0.62, f"{len(words)} × D", fontsize=9, color=GRAY)
    return heights


def _head(ax: Axes, top: Real, labels: Sequence[str]) -> None:
    """What stands above the last block of the decoder."""
    _arrow(ax, (5, top + 0.3), (5, top + 0.95))
    _part(ax, 5, top + 1.3, "head, softmax", FACES["table"], 0.6)
    ax.text(5.12, top + 1.72, f"{len(labels)} × V", fontsize=9, color=GRAY)
    _arrow(ax, (5, top + 1.6), (5, top + 2.25))
    ax.text(5, top + 2.5, " · ".join(labels), ha="center", va="center", fontsize=11)


def _shown(name: str, x: int) -> str:
    return "self-attention" + (", causal" if x else "") if name == "attention" else name


def _part(ax: Axes, x: Real, y: Real, text: str, face: str, height: Real) -> None:
    style: dict[str, Any] = {"boxstyle": "round,pad=0.03", "fc": face, "ec": "black"}
    ax.add_patch(FancyBboxPatch((x - 1.55, y - height / 2), 3.1, height, zorder=2, **style))
    ax.text(x, y, text, ha="center", va="center", fontsize=10, zorder=3)


def _arrow(ax: Axes, start: tuple, end: tuple) -> None:
    ax.annotate("", end, start, arrowprops={"arrowstyle": "->", "color": "black"})


def _frame(ax: Axes, x: Real, heights: ArrayLike, text: str, side: int) -> None:
    """The dashed frame around what is repeated."""
    low, high = np.min(heights) - 0.5, np.max(heights) + 0.5
    style: dict[str, Any] = {"boxstyle": "round,pad=0.02", "fc": "none", "ec": GRAY, "ls": "--"}
    ax.add_patch(FancyBboxPatch((x - 1.75, low), 3.5, high - low, **style))
    ax.text(
        x + side * 2.3, high - 0.25, text, ha="center", va="center", fontsize=11, color=GRAY
    )


def word_share(widths: ArrayLike, shares: Mapping[str, ArrayLike]) -> Figure:
    """How much of the squared length of the input is the word's, by width of the model.

    Args:
        widths: D of each model.
        shares: Label -> share of the word for each width.
    """
    fig, ax = plt.subplots(figsize=(6.4, 3.0))
    for (label, share), dash in zip(shares.items(), DASHES, strict=False):
        ax.plot(np.asarray(widths), np.asarray(share), marker="o", ls=dash, label=label)
    ax.set_xscale("log", base=2)
    ax.set_xticks(np.asarray(widths), [str(w) for w in np.asarray(widths)])
    ax.set(xlabel="width D", ylabel="share of the word", ylim=(-0.03, 1))
    ax.legend()
    return fig


def batch_masks(
    panels: Mapping[str, ArrayLike], words: Mapping[str, tuple[Sequence[str], Sequence[str]]]
) -> Figure:
    """Who may read whom: one panel for each mask, rows ask, columns are read.

    Args:
        panels: Title -> mask, True where a query may attend.
        words: Title -> (words of the rows, words of the columns).
    """
    fig, axes = plt.subplots(1, len(panels), figsize=(6.6, 2.9), squeeze=False)
    for ax, (title, mask) in zip(axes[0], panels.items(), strict=True):
        mask, (rows, columns) = np.asarray(mask), words[title]
        if mask.shape != (len(rows), len(columns)):
            raise InputError(
                f"{title}: mask {mask.shape} for {len(rows)} rows and {len(columns)} columns"
            )
        ax.imshow(mask, cmap=ListedColormap(["#E4E4E4", BLUE]), vmin=0, vmax=1)
        ax.set_xticks(range(len(columns)), columns, rotation=60, ha="right", fontsize=9)
        ax.set_yticks(range(len(rows)), rows, fontsize=9)
        ax.set_xticks(np.arange(len(columns)) + 0.5, minor=True)
        ax.set_yticks(np.arange(len(rows)) + 0.5, minor=True)
        ax.grid(False)
        ax.grid(which="minor", color="white", lw=2)
        ax.tick_params(which="both", length=0)
        ax.set_title(title, fontsize=10)
    return fig


def cache_growth(source: Sequence[str], given: Sequence[str], said: Sequence[str]) -> Figure:
    """Keys and values that one block of the decoder holds, step by step.

    Args:
        source: Words of the source; their keys and values come from the memory.
        given: Word that each step reads, the begin mark first.
        said: Word that each step predicts.
    """
    if len(given) != len(said):
        raise InputError(f"{len(given)} words given and {len(said)} said: one for each step")
    S, T = len(source), len(given)
    fig, ax = plt.subplots(figsize=(6.6, 1.2 + 0.6 * T))
    ax.set(xlim=(-1.7, S + T + 2.6), ylim=(T - 0.3, -1.15))
    ax.axis("off")
    heads: list[tuple[Real, str]] = list(enumerate(source))
    heads += [(S + 0.6 + t, word) for t, word in enumerate(given)]
    for x, word in heads:
        ax.text(x, -0.55, word, ha="center", va="center", fontsize=10)
    for x, text in ((S / 2 - 0.5, "from the memory"), (S + T / 2 + 0.1, "from the target")):
        ax.text(x, -0.98, text, ha="center", va="center", fontsize=9, color=GRAY)
    for t, word in enumerate(said):
        ax.text(-0.75, t, f"step {t + 1}", ha="right", va="center", fontsize=10)
        for s in range(S):
            _key_value(ax, s, t, "new" if t == 0 else "kept")
        for u in range(T):
            _key_value(ax, S + 0.6 + u, t, "new" if u == t else "kept" if u < t else "none")
        ax.text(S + T + 0.6, t, f"→ {word}", ha="left", va="center", fontsize=10)
    for color, label in ((ORANGE, "computed in this step"), (BLUE, "kept")):
        ax.bar([0], [0], color=color, label=label)
    ax.legend(loc="upper center", bbox_to_anchor=(0.5, 0.03), ncols=2, frameon=False)
    return fig


def _key_value(ax: Axes, x: Real, y: Real, state: str) -> None:
    """A key and a value, as two bars."""
    style: dict[str, Any] = {"boxstyle": "square,pad=0", "lw": 1}
    for left, name in ((x - 0.4, "k"), (x + 0.04, "v")):
        face = {"new": ORANGE, "kept": BLUE, "none": "none"}[state]
        edge = "#BBBBBB" if state == "none" else face
        box = FancyBboxPatch((left, y - 0.3), 0.36, 0.6, fc=face, ec=edge, **style)
        box.set_linestyle(":" if state == "none" else "-")
        ax.add_patch(box)
        if state != "none":
            place: dict[str, Any] = {"ha": "center", "va": "center", "fontsize": 9}
            ax.text(left + 0.18, y, name, color="white", **place)


def smoothing_curves(gaps: ArrayLike, losses: Mapping[str, ArrayLike]) -> Figure:
    """Loss of one label by how far its logit stands above all others.

    Args:
        gaps: Logit of the label minus that of every other word.
        losses: Label of the curve -> loss at each gap [nats]; the least is marked, unless it is
            at an end.
    """
    fig, ax = plt.subplots(figsize=(6.4, 3.2))
    gaps = np.asarray(gaps)
    for (label, loss), color, dash in zip(losses.items(), COLORS, DASHES, strict=False):
        loss = np.asarray(loss)
        ax.plot(gaps, loss, color=color, ls=dash, label=label)
        if 0 < loss.argmin() < len(loss) - 1:
            ax.plot(gaps[loss.argmin()], loss.min(), "o", color=color, ms=8)
    ax.set(xlabel="logit of the label above the others", ylabel="loss [nats]", ylim=(0, None))
    ax.legend()
    return fig


def translation_training(
    losses: ArrayLike,
    exact: Sequence[Mapping[int, float]],
    baselines: Mapping[str, float],
) -> Figure:
    """Loss while a model learns to translate, and how many held-out texts come out exact.

    Args:
        losses: Training loss at each step [nats/word].
        exact: For each seed, step -> share of held-out texts that are translated exactly.
        baselines: Label -> share that another method reaches.
    """
    fig, (left, right) = plt.subplots(1, 2, figsize=(6.6, 3.1))
    losses = np.asarray(losses)
    left.semilogy(np.arange(1, len(losses) + 1), losses, color=BLUE, lw=1.2)
    left.set(xlabel="step", ylabel="training loss [nats/word]")
    for run in exact:
        right.plot(list(run), list(run.values()), "o-", color=GREEN, ms=4, lw=1, alpha=0.6)
    last = max(step for run in exact for step in run)
    for (label, share), color in zip(baselines.items(), (RED, ORANGE, GRAY), strict=False):
        right.axhline(share, color=color, ls="--", lw=1.4)
        right.text(last, share + 0.02, label, ha="right", fontsize=9, color=color)
    right.set(xlabel="step", ylabel="exact on held-out numbers", ylim=(-0.03, 1.05))
    return fig


def alignments(
    panels: Mapping[str, ArrayLike], source: Sequence[str], written: Sequence[str]
) -> Figure:
    """Tables of written words against words that are read, side by side.

    Args:
        panels: Title -> numbers (T, S), each panel drawn from 0 to its largest.
        source: Words that are read, S.
        written: Words that are written, T.
    """
    height = 1.9 + 0.28 * len(written)
    fig, axes = plt.subplots(1, len(panels), figsize=(6.6, height), squeeze=False, sharey=True)
    for ax, (title, table) in zip(axes[0], panels.items(), strict=True):
        table = np.asarray(table, dtype=float)
        if table.shape != (len(written), len(source)):
            raise InputError(
                f"{title}: table {table.shape} for {len(written)} words written and "
                f"{len(source)} read"
            )
        top = max(table.max(), 1e-9)
        ax.imshow(table, cmap=SEQUENTIAL, vmin=0, vmax=top, aspect="auto")
        ax.set_xticks(range(len(source)), source, rotation=60, ha="right", fontsize=9)
        ax.set_yticks(range(len(written)), written, fontsize=9)
        ax.tick_params(length=0)
        ax.grid(False)
        ax.set_title(f"{title}\n0 to {top:.2g}", fontsize=10)
    return fig


def letters_record(
    shares: Mapping[int, float], weights: ArrayLike, source: str, written: Sequence[str]
) -> Figure:
    """Exact translations by number of digits, and where a model of letters reads.

    Args:
        shares: Number of digits -> share of exact translations.
        weights: Shares of attention (T, S) while each letter is written.
        source: The S letters that are read.
        written: The T letters that are written, marks among them.
    """
    table = np.asarray(weights, dtype=float)
    if table.shape != (len(written), len(source)):
        raise InputError(
            f"weights {table.shape} for {len(written)} letters written, {len(source)} read"
        )
    fig, (left, right) = plt.subplots(
        1, 2, figsize=(6.8, 1.6 + 0.17 * len(written)), width_ratios=(1, 2.2)
    )
    left.bar(list(shares), list(shares.values()), color=BLUE)
    left.set(xlabel="digits", ylabel="exact on held-out numbers", ylim=(0, 1.02))
    left.set_xticks(list(shares))
    right.imshow(table, cmap=SEQUENTIAL, vmin=0, vmax=max(table.max(), 1e-9), aspect="auto")
    right.set_xticks(range(len(source)), source.replace(" ", "␣"), fontsize=9)
    right.set_yticks(range(len(written)), [w.replace(" ", "␣") for w in written], fontsize=9)
    right.tick_params(length=0)
    right.grid(False)
    return fig


def missing_pieces(
    runs: Mapping[str, Sequence[float]], predicted: Mapping[str, float]
) -> Figure:
    """Exact translations of held-out numbers by what the model lacks, and what was predicted.

    Args:
        runs: What is missing -> share of exact translations, one for each seed.
        predicted: What is missing -> share that was predicted before.
    """
    fig, ax = plt.subplots(figsize=(6.4, 2.9))
    for y, (name, shares) in enumerate(runs.items()):
        ax.barh(y, float(np.mean(shares)), color=BLUE, height=0.55, alpha=0.85)
        ax.plot(list(shares), [y] * len(shares), "o", color="black", ms=4)
        if name in predicted:
            ax.plot([predicted[name]] * 2, [y - 0.4, y + 0.4], color=RED, lw=2.5)
    ax.plot([], [], color=RED, lw=2.5, label="predicted")
    ax.set_yticks(range(len(runs)), list(runs))
    ax.set_ylabel("what is missing")
    ax.set(xlabel="exact on held-out numbers", xlim=(0, 1.02), ylim=(len(runs) - 0.4, -0.6))
    ax.legend(loc="lower right")
    return fig


__all__ = [
    "alignments",
    "batch_masks",
    "cache_growth",
    "letters_record",
    "missing_pieces",
    "smoothing_curves",
    "transformer_map",
    "translation_training",
    "word_share",
]
