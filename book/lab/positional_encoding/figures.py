"""Figures of the chapter on positions: encodings, overlaps, what a model makes of them."""

from collections.abc import Mapping, Sequence
from typing import Literal

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Wedge
from numpy.typing import ArrayLike

from mathlm.errors import InputError
from mathlm.plot.style import (
    BLUE,
    COLORS,
    DIVERGING,
    GRAY,
    GREEN,
    ORANGE,
    PURPLE,
    RED,
    SEQUENTIAL,
    SKY,
)

STYLES = ("-", "--", "-.", ":")
SCHEMES = {
    "none": GRAY,
    "learned": PURPLE,
    "sinusoidal": ORANGE,
    "rope": BLUE,
    "alibi": GREEN,
    "relative": RED,
    "rope, linear": SKY,
    "rope, ntk": ORANGE,
    "rope, yarn": GREEN,
}


def raw_index(
    positions: ArrayLike,
    wanted: ArrayLike,
    fitted: ArrayLike,
    places: ArrayLike,
    parts: Mapping,
) -> Figure:
    """A network that is exact on known indices and continues beyond; what the index leaves.

    Args:
        positions: Indices at which the network is drawn [tokens].
        wanted: Values that it should have.
        fitted: Values that it has.
        places: Indices at which ``parts`` were measured [tokens].
        parts: Name and values by place, on a logarithmic axis.
    """
    fig, (left, right) = plt.subplots(1, 2, figsize=(6.4, 3.4))
    left.plot(positions, wanted, color=GRAY, label="wanted")
    left.plot(positions, fitted, "--", color=RED, label="network")
    left.axvspan(1, 100, color=SKY, alpha=0.15, lw=0, label="known")
    left.set(xlabel="index", ylabel="value", ylim=(-6, 3))
    left.legend(fontsize=9, loc="lower left")
    for (name, values), color, mark in zip(
        parts.items(), (BLUE, ORANGE, GREEN), "os^", strict=False
    ):
        right.loglog(places, values, mark + "-", ms=5, color=color, label=name)
    right.set(xlabel="index", ylabel="after layer norm")
    right.legend(fontsize=9)
    return fig


def frequency_bands(table: ArrayLike) -> Figure:
    """Each pair of features of an encoding along the positions, fastest pair on top.

    Args:
        table: Encodings (positions, 2 × bands): sine and cosine alternate.
    """
    table = np.asarray(table)
    bands = table.shape[1] // 2
    fig, axes = plt.subplots(bands, 1, sharex=True, figsize=(6.4, 1.1 * bands + 0.6))
    for i, ax in enumerate(np.atleast_1d(axes)):
        ax.plot(table[:, 2 * i], color=BLUE, lw=1.3, label="sine")
        ax.plot(table[:, 2 * i + 1], color=ORANGE, lw=1.3, ls="--", label="cosine")
        ax.set(ylim=(-1.25, 1.25), yticks=(-1, 0, 1), ylabel=f"{2 * i}, {2 * i + 1}")
    np.atleast_1d(axes)[-1].set_xlabel("position [tokens]")
    fig.supylabel("features", fontsize=11)
    np.atleast_1d(axes)[0].legend(
        fontsize=9, ncol=2, loc="upper right", framealpha=1, frameon=True
    )
    return fig


def encoding_heatmap(table: ArrayLike) -> Figure:
    """Encodings as an image, one row for each position.

    Args:
        table: Encodings (positions, features), between -1 and 1.
    """
    fig, ax = plt.subplots(figsize=(6.0, 4.8))
    image = ax.imshow(
        table, aspect="auto", cmap=DIVERGING, vmin=-1, vmax=1, interpolation="nearest"
    )
    ax.set(xlabel="feature", ylabel="position [tokens]")
    ax.grid(False)
    fig.colorbar(image, ax=ax, shrink=0.8)
    return fig


def sine_and_cosine(degrees: Sequence[float] = (30.0, 150.0)) -> Figure:
    """Angles that share a sine, and that the cosine tells apart.

    Args:
        degrees: The angles.
    """
    fig, (left, right) = plt.subplots(1, 2, figsize=(6.4, 2.9), width_ratios=(1.1, 1))
    turn = np.linspace(0, 360, 361)
    left.plot(turn, np.sin(np.radians(turn)), color=BLUE)
    left.axhline(np.sin(np.radians(degrees[0])), color=GRAY, ls=":", lw=1)
    right.plot(np.cos(np.radians(turn)), np.sin(np.radians(turn)), color=BLUE)
    for angle, color in zip(degrees, (ORANGE, RED), strict=False):
        x, y = np.cos(np.radians(angle)), np.sin(np.radians(angle))
        left.plot(angle, y, "o", color=color)
        left.annotate(
            f"{angle:g}°",
            (angle, y),
            (-5 if angle < 90 else 5, 5),
            textcoords="offset points",
            ha="right" if angle < 90 else "left",
            fontsize=10,
        )
        right.plot([0, x], [0, y], "o-", color=color)
        right.annotate(
            f"{angle:g}°",
            (0.62 * x, 0.62 * y),
            (0, -12),
            textcoords="offset points",
            ha="center",
            fontsize=10,
        )
    left.set(
        xlabel="angle [degrees]",
        ylabel="sine",
        xticks=(0, 90, 180, 270, 360),
        ylim=(-1.15, 1.35),
    )
    right.set(
        xlabel="cosine", ylabel="sine", aspect="equal", xlim=(-1.2, 1.2), ylim=(-1.2, 1.2)
    )
    return fig


def by_token_distance(
    distances: ArrayLike,
    curves: Mapping[str, ArrayLike],
    ylabel: str,
    *,
    xscale: str = "log",
    yscale: str = "linear",
    seen: float | int | None = None,
    xlabel: str = "distance [tokens]",
    legend: Literal["upper right", "upper left", "lower left", "lower right"] = "upper right",
) -> Figure:
    """Curves over the distance of two tokens.

    Args:
        distances: In tokens.
        curves: Name and values.
        ylabel: What is drawn.
        xscale: "linear" or "log".
        yscale: "linear", "log" or "symlog".
        seen: Longest distance of training, shaded up to there.
        xlabel: What the distance is.
        legend: Its place.
    """
    fig, ax = plt.subplots(figsize=(6.4, 3.4))
    if seen is not None:
        ax.axvspan(np.min(distances), seen, color=SKY, alpha=0.15, lw=0)
    for i, (name, values) in enumerate(curves.items()):
        ax.plot(distances, values, STYLES[i % 4], color=COLORS[i % len(COLORS)], label=name)
    ax.set(xlabel=xlabel, ylabel=ylabel, xscale=xscale, yscale=yscale)
    ax.legend(fontsize=9, loc=legend)
    return fig


def learned_geometry(cosines: ArrayLike, by_distance: ArrayLike) -> Figure:
    """Cosines of learned position vectors, and their mean by distance.

    Args:
        cosines: (positions, positions).
        by_distance: Mean cosine at distance 1, 2, ….
    """
    fig, (left, right) = plt.subplots(1, 2, figsize=(6.4, 3.1))
    image = left.imshow(cosines, cmap=DIVERGING, vmin=-1, vmax=1, interpolation="nearest")
    left.grid(False)
    left.set(xlabel="position [tokens]", ylabel="position [tokens]")
    fig.colorbar(image, ax=left, shrink=0.75)
    right.plot(np.arange(1, len(np.asarray(by_distance)) + 1), by_distance, color=BLUE)
    right.axhline(0, color=GRAY, lw=1)
    right.set(xlabel="distance [tokens]", ylabel="mean cosine")
    return fig


def angle_arcs(frequencies: ArrayLike, trained: int, longest: int) -> Figure:
    """For each rotary pair, the angles met within the trained length, and those met beyond.

    Args:
        frequencies: Of the pairs [radians/token], at most eight of them.
        trained: Trained length [tokens].
        longest: Length that is read [tokens].
    """
    turns = np.asarray(frequencies, dtype=float)
    if not 1 <= len(turns) <= 8:
        raise InputError(f"{len(turns)} frequencies: one to eight circles can be drawn")
    fig, axes = plt.subplots(2, 4, figsize=(6.4, 3.5))
    for i, ax in enumerate(axes.flat):
        ax.set_axis_off()
        if i < len(turns):
            _arc(ax, turns[i], trained, longest)
            ax.set_title(f"pair {i}: λ = {2 * np.pi / turns[i]:,.0f}", fontsize=10)
    handles = [Wedge((0, 0), 1, 0, 1, color=c) for c in (BLUE, RED)]
    names = [f"met within {trained} tokens", f"met only beyond, up to {longest:,}"]
    fig.legend(handles, names, loc="outside lower center", ncol=2, fontsize=9)
    return fig


def frequency_scaling(
    wavelength: ArrayLike, ratios: Mapping[str, ArrayLike], trained: float | int
) -> Figure:
    """By how much each way to stretch a context slows each pair down.

    Args:
        wavelength: Of the pairs before [tokens].
        ratios: Name and new frequency over old frequency, by pair.
        trained: Trained length [tokens].
    """
    fig, ax = plt.subplots(figsize=(6.4, 3.4))
    marks = ("o", "s", "^", "D")
    for i, (name, ratio) in enumerate(ratios.items()):
        ax.semilogx(
            wavelength, ratio, marks[i % 4] + "-", ms=4, lw=1.3, color=COLORS[i], label=name
        )
    ax.axvline(trained, color=GRAY, ls="--", lw=1)
    ax.text(trained * 1.08, 1.02, "trained length", fontsize=9, color=GRAY)
    ax.set(
        xlabel="wavelength of the pair [tokens]",
        ylabel="new over old frequency",
        ylim=(0, 1.12),
    )
    ax.legend(fontsize=9, loc="upper right", bbox_to_anchor=(1, 0.92))
    return fig


def relative_terms(distances: ArrayLike, penalties: ArrayLike, buckets: ArrayLike) -> Figure:
    """What ALiBi adds for each head, and the bucket that T5 looks up, by distance.

    Args:
        distances: Tokens back from the query.
        penalties: Bias (heads, distances).
        buckets: Number of the bucket of each distance.
    """
    fig, (left, right) = plt.subplots(1, 2, figsize=(6.4, 3.4))
    shades = plt.get_cmap(SEQUENTIAL)(np.linspace(0, 0.85, len(np.asarray(penalties))))
    for h, (row, shade) in enumerate(zip(np.asarray(penalties), shades, strict=True), start=1):
        left.plot(distances, row, color=shade, lw=1.4, label=f"head {h}" if h % 2 else None)
    left.set(xlabel="distance [tokens]", ylabel="ALiBi: added to the score", ylim=(-12, 0.5))
    left.legend(fontsize=9, loc="lower right", framealpha=0.9, frameon=True)
    right.step(distances, buckets, where="post", color=RED)
    right.set(xlabel="distance [tokens]", ylabel="T5: bucket")
    return fig


def loss_by_position(
    centers: ArrayLike,
    losses: Mapping[str, ArrayLike],
    trained: int,
    unit: str = "bits/byte",
    ylim: tuple[float, float] | None = None,
) -> Figure:
    """Mean loss by position of every scheme, with a band from the best to the worst seed.

    Args:
        centers: Middle of each bin of positions [tokens].
        losses: Name and losses (seeds, bins); fewer bins for a scheme that ends earlier.
        trained: Trained length [tokens].
        unit: Of the losses.
        ylim: Range of the losses that is drawn.
    """
    fig, ax = plt.subplots(figsize=(6.4, 4.0))
    for i, (name, rows) in enumerate(losses.items()):
        table, color = (
            np.atleast_2d(np.asarray(rows)),
            SCHEMES.get(name, COLORS[i % len(COLORS)]),
        )
        x = np.asarray(centers)[: table.shape[1]]
        ax.plot(x, table.mean(0), STYLES[i % 4], color=color, label=name)
        ax.fill_between(x, table.min(0), table.max(0), color=color, alpha=0.2, lw=0)
    ax.axvline(trained, color=GRAY, ls="--", lw=1)
    ax.set_xscale("log", base=2)
    ticks = [trained * 2**n for n in range(-3, 4)]
    ax.set_xticks(ticks, [f"{t:g}" for t in ticks])
    ax.minorticks_off()
    ax.set(xlabel="position [tokens]", ylabel=f"loss [{unit}]", ylim=ylim)
    ax.legend(fontsize=9, ncol=2)
    return fig


def _arc(ax: Axes, frequency: float, trained: int, longest: int) -> None:
    """One circle: angles up to the trained length, and further ones."""
    met, further = (min(360.0, np.degrees(frequency * (n - 1))) for n in (trained, longest))
    ax.add_patch(Wedge((0, 0), 1, 0, 360, width=0.3, color="#E4E4E4"))
    ax.add_patch(Wedge((0, 0), 1, met, max(met, further), width=0.3, color=RED))
    ax.add_patch(Wedge((0, 0), 1, 0, met, width=0.3, color=BLUE))
    ax.set(xlim=(-1.1, 1.1), ylim=(-1.1, 1.1), aspect="equal")


__all__ = [
    "angle_arcs",
    "by_token_distance",
    "encoding_heatmap",
    "frequency_bands",
    "frequency_scaling",
    "learned_geometry",
    "loss_by_position",
    "raw_index",
    "relative_terms",
    "sine_and_cosine",
]
