"""Figures of what power laws may come from, and of bills and the stock of text."""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator
from numpy.typing import ArrayLike

from mathlm.plot.style import BLUE, COLORS, GRAY, GREEN, MARKS, ORANGE, RED, WIDE
from mathlm.scaling import Span


def bill_ranges(
    bills: Mapping[str, Span], published: Mapping[str, float | int], quantity: str
) -> Figure:
    """Calculated ranges of some runs, with what was published about each.

    Args:
        bills: Name of the run -> calculated range.
        published: Name of the run -> published number.
        quantity: Of the axis, with its unit.
    """
    fig, ax = plt.subplots(figsize=WIDE)
    places = range(len(bills), 0, -1)
    for i, (y, (name, span)) in enumerate(zip(places, bills.items(), strict=True)):
        ax.plot(
            [span.low, span.high], [y, y], color=BLUE, lw=5, alpha=0.4, solid_capstyle="butt"
        )
        ax.plot(
            span.middle, y, "|", color=BLUE, ms=14, mew=2, label=None if i else "calculated"
        )
        ax.plot(published[name], y, "o", color=RED, label=None if i else "published")
    ax.set(xscale="log", xlabel=quantity, ylim=(0.5, len(bills) + 0.5))
    ax.set_yticks(list(places), list(bills))
    ax.grid(visible=False, axis="y")
    ax.legend(loc="best", fontsize=9)
    return fig


def data_wall(
    compute: ArrayLike,
    wanted: Mapping[str, ArrayLike],
    runs: Mapping[str, tuple[float | int, float | int]],
    stock: Span,
) -> Figure:
    """Tokens that budgets want, against the text that there is.

    Args:
        compute: Budgets [FLOP].
        wanted: Name of a rule -> tokens at each budget.
        runs: Name of a run -> its operations and tokens.
        stock: Text that there is [tokens].
    """
    fig, ax = plt.subplots(figsize=WIDE)
    ax.axhspan(stock.low, stock.high, color=RED, alpha=0.15, lw=0)
    ax.axhline(stock.middle, color=RED, lw=1.2, label="public text")
    for (name, tokens), color in zip(wanted.items(), COLORS, strict=False):
        ax.loglog(compute, tokens, color=color, label=name)
    for i, (name, point) in enumerate(runs.items()):
        ax.plot(*point, "o", color=GRAY)
        place: dict[str, Any] = (
            {"xytext": (6, -4)} if i % 2 else {"xytext": (-6, -4), "ha": "right"}
        )
        ax.annotate(name, point, textcoords="offset points", fontsize=8, **place)
    ax.set(xlabel="compute [FLOP]", ylabel="tokens")
    ax.legend(loc="upper left", fontsize=9)
    return fig


def falling_errors(
    panels: Mapping[str, Mapping[str, tuple[ArrayLike, ArrayLike, ArrayLike]]],
    xlabels: Sequence[str],
    ylabel: str,
) -> Figure:
    """Measured errors as points on logarithmic axes, and the lines that were foretold.

    Args:
        panels: Title -> label -> sizes, errors measured, errors foretold.
        xlabels: One for each panel, with its unit.
        ylabel: Of all panels, with its unit.
    """
    width, height = WIDE
    fig, axes = plt.subplots(
        1, len(panels), figsize=(width, height), sharey=True, squeeze=False
    )
    for ax, (title, rows), xlabel in zip(axes[0], panels.items(), xlabels, strict=True):
        for (label, (x, seen, foretold)), color, mark in zip(
            rows.items(), COLORS, MARKS, strict=False
        ):
            ax.plot(x, foretold, color=color, lw=1.2)
            ax.plot(x, seen, mark, color=color, ms=5, label=label)
        ax.set(xscale="log", yscale="log", xlabel=xlabel, title=title)
        ax.title.set_fontsize(11)
        plain_ticks(ax.xaxis)
    plain_ticks(axes[0, 0].yaxis)
    axes[0, 0].set_ylabel(ylabel)
    handles, labels = axes[0, 0].get_legend_handles_labels()
    fig.legend(handles, labels, loc="outside lower center", ncol=min(len(labels), 4))
    return fig


def plain_ticks(axis: Axis) -> None:
    """Plain numbers at 1, 2 and 5 on a logarithmic axis of little more than a decade."""
    low, high = axis.get_view_interval()
    if high < 30 * low:
        axis.set_minor_locator(LogLocator(subs=(2, 5)))
        axis.set_minor_formatter("{x:g}")
        axis.set_major_formatter("{x:g}")


def exponents_foretold(rows: Mapping[str, tuple[ArrayLike, ArrayLike]]) -> Figure:
    """Exponents as measured over exponents as foretold; the line is where both are equal.

    Args:
        rows: Label -> exponents foretold, exponents measured.
    """
    fig, ax = plt.subplots(figsize=WIDE)
    top = 1.1 * max(float(np.max(column)) for row in rows.values() for column in row)
    ax.plot([0, top], [0, top], color=GRAY, ls=":")
    for (label, (foretold, seen)), color, mark in zip(
        rows.items(), COLORS * 2, MARKS[:5] * 2, strict=False
    ):
        ax.plot(foretold, seen, mark, color=color, ms=6, mfc="none", mew=1.8, label=label)
    ax.set(
        xlabel="exponent predicted", ylabel="exponent measured", xlim=(0, top), ylim=(0, top)
    )
    fig.legend(loc="outside right upper", fontsize=9)
    return fig


def known_by_rank(margins: Mapping[int, ArrayLike]) -> Figure:
    """Share of right answers by rank of the fact, for memories of several sizes.

    Ranks are put together between powers of 2, so that a point is the mean of many facts.

    Args:
        margins: Number of weights -> margin of each fact, the most frequent first.
    """
    fig, ax = plt.subplots(figsize=WIDE)
    for (width, row), color, mark in zip(margins.items(), COLORS, MARKS, strict=False):
        right = np.asarray(row) > 0
        edges = 2 ** np.arange(int(np.log2(len(right))) + 1)
        shares = [right[a - 1 : b - 1].mean() for a, b in pairwise(edges)]
        ax.plot(edges[:-1] * 1.5, shares, color=color, marker=mark, ms=4, label=f"{width}")
        ax.axvline(2 * width, color=color, ls=":", lw=1)
    ax.axhline(0.5, color=GRAY, lw=1)
    ax.set(xscale="log", xlabel="rank of the fact", ylabel="share answered rightly")
    ax.legend(title="weights")
    return fig


def two_accuracies(
    runs: Mapping[str, Mapping[str, ArrayLike]], curves: Sequence[str] = ("train", "test")
) -> Figure:
    """Accuracy on pairs that were shown and on others, by step, one panel for each run.

    Args:
        runs: Title -> curves by name, ``step`` among them.
        curves: Which to draw.
    """
    fig, axes = plt.subplots(1, len(runs), figsize=WIDE, sharey=True, squeeze=False)
    for ax, (title, run) in zip(axes[0], runs.items(), strict=True):
        for name, color in zip(curves, COLORS, strict=False):
            ax.plot(run["step"], run[name], color=color, label=name)
        ax.set(xlabel="step", title=title)
        ax.title.set_fontsize(11)
    axes[0, 0].set_ylabel("share or accuracy")
    handles, labels = axes[0, 0].get_legend_handles_labels()
    fig.legend(handles, labels, loc="outside lower center", ncol=len(labels))
    return fig


def frequency_maps(tables: Mapping[str, ArrayLike]) -> Figure:
    """Share of each frequency in each unit, units in the order of their strongest one.

    Args:
        tables: Title -> shares (frequencies, units).
    """
    fig, axes = plt.subplots(1, len(tables), figsize=WIDE, sharey=True, squeeze=False)
    for ax, (title, table) in zip(axes[0], tables.items(), strict=True):
        shares = np.asarray(table)
        order = np.argsort(shares.argmax(0), kind="stable")
        image = ax.imshow(
            shares[:, order],
            aspect="auto",
            origin="lower",
            vmin=0,
            vmax=1,
            extent=(0.5, shares.shape[1] + 0.5, 0.5, len(shares) + 0.5),
        )
        ax.set(xlabel="unit", title=title)
        ax.title.set_fontsize(11)
        ax.grid(False)
    axes[0, 0].set_ylabel("frequency k")
    fig.colorbar(image, ax=axes[0].tolist(), label="share of the variance")
    return fig


def metrics_of_runs(
    x: ArrayLike, scores: Mapping[str, ArrayLike], xlabel: str, label: str = "answer"
) -> Figure:
    """The same runs under sharp metrics (left) and under smooth ones (right).

    Args:
        x: Steps or sizes.
        scores: ``token``, ``exact``, ``independent`` and ``loss``, one number for each x.
        xlabel: Of both panels.
        label: What must be whole for the sharp metric.
    """
    fig, (sharp, smooth) = plt.subplots(1, 2, figsize=WIDE)
    sharp.plot(x, scores["token"], "s-", color=ORANGE, ms=4, label="digit right")
    sharp.plot(x, scores["exact"], "o-", color=BLUE, ms=4, label=f"{label} right")
    sharp.plot(x, scores["independent"], color=GRAY, ls=":", label="product over digits")
    smooth.plot(x, scores["loss"], "^-", color=GREEN, ms=4, label="loss")
    sharp.set(xscale="log", xlabel=xlabel, ylabel="share", ylim=(-0.03, 1.05))
    smooth.set(xscale="log", yscale="log", xlabel=xlabel, ylabel="loss [nats/digit]")
    fig.legend(loc="outside lower center", ncol=2)
    return fig


def interpolation_peak(
    features: ArrayLike,
    runs: Mapping[str, ArrayLike],
    foretold: tuple[ArrayLike, ArrayLike],
    samples: int,
) -> Figure:
    """Error by number of features at one number of samples: the peak where both are equal.

    Args:
        features: Numbers of features that were tried.
        runs: Label -> errors, a row for each draw; the middle one is drawn.
        foretold: Numbers of features and errors of the theory, drawn as a line.
        samples: Where the peak is.
    """
    fig, ax = plt.subplots(figsize=WIDE)
    x, y = (np.asarray(column, float) for column in foretold)
    peak = np.searchsorted(x, samples)  # no line leads over it
    ax.plot(
        np.insert(x, peak, np.nan), np.insert(y, peak, np.nan), color=GRAY, label="predicted"
    )
    for (label, errors), color, mark in zip(runs.items(), COLORS, MARKS, strict=False):
        ax.plot(
            features,
            np.median(np.asarray(errors, float), axis=0),
            mark,
            color=color,
            ms=5,
            label=label,
        )
    ax.axvline(samples, color=RED, ls=":", lw=1)
    ax.set(xscale="log", yscale="log", xlabel="features N", ylabel="squared error")
    ax.legend()
    return fig


def stuck_by_width(widths: ArrayLike, stuck: Mapping[str, ArrayLike]) -> Figure:
    """Share of starts that do not reach the bottom, by width: straight if exponential.

    Args:
        widths: Hidden units.
        stuck: Label -> share at each width; shares of 0 and 1 are left out.
    """
    fig, (half, log) = plt.subplots(1, 2, figsize=WIDE, sharey=True)
    for (label, row), color, mark in zip(stuck.items(), COLORS, MARKS, strict=False):
        share = np.where((s := np.asarray(row, float)) % 1 > 0, s, np.nan)
        for ax in (half, log):
            ax.plot(widths, share, marker=mark, color=color, ms=5, label=label)
    half.set(yscale="log", xlabel="hidden units", ylabel="share of starts that fail")
    log.set(xscale="log", xlabel="hidden units, log scale")
    log.set_xticks(ticks := [2**k for k in range(8) if 2**k <= np.max(widths)], ticks)
    log.minorticks_off()
    half.legend()
    return fig
