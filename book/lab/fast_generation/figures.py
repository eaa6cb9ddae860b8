"""Figures on the speed of writing: what a token costs, what is drafted, what is rounded."""

from collections.abc import Mapping, Sequence

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure
from numpy.typing import ArrayLike

from mathlm.plot.style import BLUE, COLORS, GRAY, MARKS, ORANGE, WIDE


def token_times(
    tokens: ArrayLike, seconds: Mapping[str, ArrayLike], slopes: Mapping[str, ArrayLike]
) -> Figure:
    """Time of one token by how many stand before it.

    Args:
        tokens: In front of the new one.
        seconds: Way of computing -> measured time of a token [s].
        slopes: Name -> what it is compared with [s], drawn dashed.
    """
    fig, ax = plt.subplots(figsize=WIDE)
    for i, (name, values) in enumerate(seconds.items()):
        ms = 1e3 * np.asarray(values)
        ax.loglog(tokens, ms, color=COLORS[i], marker=MARKS[i], ms=5, label=name)
    for name, values in slopes.items():
        ax.loglog(tokens, 1e3 * np.asarray(values), color=GRAY, ls="--", lw=1.3, label=name)
    _powers_of_two(ax, tokens)
    ax.set(xlabel="tokens in the text", ylabel="CPU time of one token [ms]")
    ax.legend(fontsize=9)
    return fig


def cache_answers(
    sizes: Mapping[str, float | int], printed: Mapping[str, float | int]
) -> Figure:
    """Caches of one model under several readings, with the sizes that are printed.

    Args:
        sizes: What is assumed -> size [GB].
        printed: Source -> the size that it prints [GB], drawn as a line.
    """
    fig, ax = plt.subplots(figsize=WIDE)
    places = np.arange(len(sizes))
    ax.barh(places, list(sizes.values()), color=BLUE, height=0.6)
    for y, x in enumerate(sizes.values()):
        ax.text(1.08 * x, y, f"{x:.3g} GB", va="center", fontsize=9)
    for (name, x), color in zip(printed.items(), (ORANGE, GRAY), strict=False):
        ax.axvline(x, color=color, ls="--", label=name)
    ax.set(xscale="log", xlabel="keys and values of one text [GB]")
    ax.set_xlim(min(sizes.values()) / 2, 4 * max(sizes.values()))
    ax.set_yticks(places, list(sizes))
    ax.invert_yaxis()
    ax.grid(axis="y", visible=False)
    ax.legend(loc="upper center", bbox_to_anchor=(0.4, 1.2), ncols=2, fontsize=9)
    return fig


def together_times(counts: ArrayLike, seconds: Mapping[str, ArrayLike]) -> Figure:
    """Time of a pass over several tokens at once, over that of one.

    Args:
        counts: Tokens that pass together; the first is 1.
        seconds: What they are -> time of a pass [s].
    """
    fig, ax = plt.subplots(figsize=WIDE)
    n = np.asarray(counts)
    for i, (name, values) in enumerate(seconds.items()):
        t = np.asarray(values)
        ax.loglog(n, t / t[0], color=COLORS[i], marker=MARKS[i], ms=5, label=name)
    ax.loglog(n, n, color=GRAY, ls="--", lw=1.3, label="one after the other")
    _powers_of_two(ax, n)
    ax.set(xlabel="tokens that pass together", ylabel="time of the pass,\none token = 1")
    ax.set_yticks(n, [f"{x:g}" for x in n])
    ax.legend(fontsize=9)
    return fig


def reading_rates(rates: Mapping[str, float | int], limit: float | int) -> Figure:
    """How fast memory is read by several ways of computing.

    Args:
        rates: Way -> [GB/s].
        limit: Rate at which a large array is read [GB/s].
    """
    fig, ax = plt.subplots(figsize=WIDE)
    places = np.arange(len(rates))
    ax.barh(places, list(rates.values()), color=BLUE, height=0.6)
    for y, x in enumerate(rates.values()):
        ax.text(x, y, f" {x:.1f}", va="center", fontsize=9)
    ax.axvline(limit, color=ORANGE, ls="--", label="a large array")
    ax.set(xlabel="weights read [GB/s]", xlim=(0, 1.15 * max(limit, *rates.values())))
    ax.set_yticks(places, list(rates))
    ax.invert_yaxis()
    ax.grid(axis="y", visible=False)
    ax.legend(loc="upper center", bbox_to_anchor=(0.4, 1.18), fontsize=9)
    return fig


def shared_mass(tokens: Sequence[str], p: ArrayLike, q: ArrayLike) -> Figure:
    """Two distributions over the same tokens: what they share, and what each has alone.

    Args:
        tokens: Names.
        p: Of the target.
        q: Of the draft.
    """
    fig, ax = plt.subplots(figsize=WIDE)
    p, q, x = np.asarray(p), np.asarray(q), np.arange(len(tokens))
    low = np.minimum(p, q)
    ax.bar(x, low, color=BLUE, width=0.6, label="min(p, q): accepted draft tokens")
    ax.bar(x, p - low, bottom=low, color=ORANGE, width=0.6, label="p beyond q: replacements")
    ax.bar(x, q - low, bottom=low, color="none", edgecolor=GRAY, hatch="///", width=0.6,
           label="q beyond p: refused draft tokens")  # fmt: skip
    ax.set(ylabel="probability", ylim=(0, 1.35 * float(np.maximum(p, q).max())))
    ax.set_xticks(x, list(tokens))
    ax.grid(axis="x", visible=False)
    ax.legend(fontsize=9, loc="upper right")
    return fig


def speedup_lines(draft_length: ArrayLike, speedups: Mapping[str, ArrayLike]) -> Figure:
    """Speed by the number of draft tokens, the best of each line marked.

    Args:
        draft_length: Draft tokens in a round.
        speedups: Name -> tokens per second over those without drafting.
    """
    fig, ax = plt.subplots(figsize=WIDE)
    n = np.asarray(draft_length)
    for i, (name, values) in enumerate(speedups.items()):
        s = np.asarray(values)
        ax.plot(n, s, color=COLORS[i], label=name)
        ax.plot(n[s.argmax()], s.max(), MARKS[i], color=COLORS[i], ms=8)
    ax.axhline(1, color=GRAY, lw=1)
    ax.set(xlabel="draft tokens in a round", ylabel="speed, without drafting = 1")
    ax.legend(fontsize=9, loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2)
    return fig


def rates_against_expected(expected: ArrayLike, found: ArrayLike, spread: ArrayLike) -> Figure:
    """How often draft tokens were accepted, against the probability that is predicted.

    Args:
        expected: Predicted probability of each group of draft tokens.
        found: Share of each group that was accepted.
        spread: Two standard errors of each share.
    """
    fig, ax = plt.subplots(figsize=(4.8, 4.2))
    ax.plot([0, 1], [0, 1], color=GRAY, ls="--", lw=1.3)
    ax.errorbar(expected, found, np.asarray(spread), fmt="o", color=BLUE, capsize=3)
    ax.set(xlabel="Σ min(p, q)", ylabel="share of draft tokens accepted")
    ax.set(xlim=(-0.03, 1.03), ylim=(-0.03, 1.03))
    return fig


def noise_by_bits(
    bits: ArrayLike, decibels: Mapping[str, ArrayLike], slope: tuple[str, ArrayLike]
) -> Figure:
    """How far the rounding noise lies below the weights.

    Args:
        bits: Of a weight.
        decibels: How they are rounded -> power of the weights over that of the error [dB].
        slope: Name and values of the line that is compared.
    """
    fig, ax = plt.subplots(figsize=WIDE)
    for i, (name, values) in enumerate(decibels.items()):
        ax.plot(bits, values, color=COLORS[i], marker=MARKS[i], ms=5, label=name)
    ax.plot(bits, slope[1], color=GRAY, ls="--", lw=1.3, label=slope[0])
    ax.set(xlabel="bits of a weight", ylabel="weights over error [dB]")
    ax.legend(fontsize=9)
    return fig


def divergence_by_bits(
    bits: Mapping[str, ArrayLike], divergence: Mapping[str, ArrayLike]
) -> Figure:
    """How far a model is from itself when its weights are rounded.

    Args:
        bits: Method -> bits of a weight, scales included.
        divergence: Method -> mean KL divergence of the next token [nats], above 0.
    """
    fig, ax = plt.subplots(figsize=WIDE)
    for i, (name, values) in enumerate(divergence.items()):
        ax.semilogy(bits[name], values, color=COLORS[i], marker=MARKS[i], ms=6, label=name)
    ax.set(xlabel="bits of a weight, scales included", ylabel="KL from float32 [nats]")
    ax.legend(fontsize=9)
    return fig


def _powers_of_two(ax: plt.Axes, values: ArrayLike) -> None:
    """Name the powers of two on the horizontal axis, every second one if they are many."""
    ticks = [int(x) for x in np.asarray(values)]
    ticks = ticks[:: 2 if len(ticks) > 6 else 1]
    ax.set_xticks(ticks, [f"{x:,}" for x in ticks])
    ax.minorticks_off()


def cache_steps(steps: int) -> Figure:
    """What each pass computes and reads, without a cache and with one.

    Args:
        steps: Passes; pass t writes the token after t tokens.
    """
    fig, axes = plt.subplots(1, 2, figsize=(6.4, 2.9), sharey=True)
    colors = {"computed": ORANGE, "read from the cache": BLUE}
    for ax, cached in zip(axes, (False, True), strict=True):
        for t in range(1, steps + 1):
            for s in range(1, t + 1):
                old = cached and s < t
                name = "read from the cache" if old else "computed"
                ax.add_patch(plt.Rectangle((s - 0.45, t - 0.45), 0.9, 0.9, color=colors[name]))
        ax.set(title="with a cache" if cached else "without", xlabel="key and value of token")
        ax.set(xlim=(0.4, steps + 0.6), ylim=(steps + 0.6, 0.4), aspect="equal")
        ax.grid(False)
    axes[0].set_ylabel("pass")
    patches = [plt.Rectangle((0, 0), 1, 1, color=c) for c in colors.values()]
    fig.legend(patches, [*colors], loc="outside upper center", ncols=2, fontsize=9)
    return fig
