"""Figures of the page on state spaces: decay masks, the cost of chunks, recall by pairs."""

from collections.abc import Mapping, Sequence

import matplotlib.pyplot as plt
from matplotlib.figure import Figure
from numpy import ndarray

from mathlm.plot.style import BLUE, COLORS, GRAY, GREEN, MARKS, ORANGE, WIDE


def decay_masks(masks: Mapping[str, ndarray]) -> Figure:
    """What is left at each token of what each earlier one wrote.

    Args:
        masks: Title -> matrix (T, T) of numbers from 0 to 1.
    """
    fig, axes = plt.subplots(1, len(masks), figsize=(6.4, 2.9), squeeze=False)
    for ax, (title, mask) in zip(axes[0], masks.items(), strict=True):
        shown = ax.imshow(mask, vmin=0, vmax=1)
        ax.set(title=title, xlabel="written at")
        ax.grid(False)
    axes[0, 0].set_ylabel("read at")
    fig.colorbar(shown, ax=axes, shrink=0.75, label="share that is left")
    return fig


def chunk_work(chunks: Sequence[int], work: Mapping[str, Sequence[float]], best: int) -> Figure:
    """Work and memory per token against the length of a chunk.

    Args:
        chunks: Tokens in a chunk.
        work: Name -> numbers per token and head.
        best: The chunk to mark.
    """
    fig, ax = plt.subplots(figsize=WIDE)
    for i, (name, values) in enumerate(work.items()):
        ax.loglog(chunks, values, marker=MARKS[i], ms=4, label=name, color=COLORS[i])
    ax.axvline(best, color=GRAY, ls=":", lw=1.2)
    ax.set_xticks(chunks, [f"{c:,}" for c in chunks])
    ax.minorticks_off()
    ax.set(xlabel="tokens in a chunk", ylabel="per token and head")
    ax.legend(fontsize=9)
    return fig


def recall_by_pairs(
    curves: Mapping[tuple[str, int], Mapping[int, tuple[float, float]]], chance: float
) -> Figure:
    """Share of right answers against the number of pairs, mean and spread over seeds.

    Args:
        curves: (arm, N) -> pairs -> mean and standard deviation.
        chance: Share that guessing gets.
    """
    colors = {"decay": BLUE, "delta rule": ORANGE, "attention": GRAY, "hybrid": GREEN}
    fig, ax = plt.subplots(figsize=WIDE)
    for i, ((arm, N), curve) in enumerate(curves.items()):
        states = arm in ("decay", "delta rule")
        means, spread = zip(*curve.values(), strict=True)
        ax.errorbar(
            [*curve], means, spread, color=colors[arm], marker=MARKS[i], ms=5, capsize=2,
            ls="--" if states and N < 16 else "-", label=f"{arm}, N = {N}" if states else arm,
        )  # fmt: skip
    ax.axhline(chance, color=GRAY, ls=":", lw=1.2)
    ax.set_xscale("log", base=2)
    pairs = [*next(iter(curves.values()))]
    ax.set_xticks(pairs, [str(n) for n in pairs])
    ax.minorticks_off()
    ax.set(xlabel="pairs in the sequence", ylabel="answered rightly", ylim=(0, 1.05))
    fig.legend(loc="outside upper center", ncols=3, fontsize=9)
    return fig
