"""Figures on scaling laws: straight lines, best sizes, budgets and rates."""

from collections.abc import Mapping, Sequence

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure
from numpy.typing import ArrayLike

from mathlm.plot.style import BLUE, COLORS, GRAY, MARKS, ORANGE, RED, SEQUENTIAL, WIDE
from mathlm.scaling import (
    ChinchillaLaw,
    Envelope,
    KaplanLaw,
    Parabolas,
    Points,
    PowerLaw,
    optimal_allocation,
)

BOTH = (6.4, 3.2)  # two panels side by side [inch]


def power_law_axes(
    x: ArrayLike,
    curves: Mapping[str, ArrayLike],
    xlabel: str = "parameters",
    ylabel: str = "loss [nats]",
) -> Figure:
    """The same curves on linear axes and on logarithmic ones.

    Args:
        x: Where the curves are known, above 0.
        curves: Name -> values above 0.
        xlabel: Of both panels.
        ylabel: Of the left one.
    """
    fig, axes = plt.subplots(1, 2, figsize=BOTH)
    for (name, y), color, style in zip(curves.items(), COLORS, ("-", "--", ":"), strict=False):
        for ax in axes:
            ax.plot(x, y, color=color, ls=style, label=name)
    axes[1].set(xscale="log", yscale="log")
    for ax, title in zip(axes, ("linear axes", "logarithmic axes"), strict=True):
        ax.set_title(title, fontsize=10)
        ax.set_xlabel(xlabel)
    plain_ticks(axes[1], [v for y in curves.values() for v in np.asarray(y, float)])
    axes[0].set_ylabel(ylabel)
    if len(curves) > 1:
        axes[0].legend(fontsize=9)
    return fig


def law_and_held_out(
    x: ArrayLike,
    y: ArrayLike,
    law: PowerLaw,
    held: int = 0,
    xlabel: str = "parameters",
    ylabel: str = "loss [nats]",
) -> Figure:
    """A fitted law with the interval of its exponent, and points that it did not see.

    Args:
        x: Sizes.
        y: What was measured there.
        law: Fitted to all but the largest sizes.
        held: How many of the largest sizes it did not see.
        xlabel: Of the axis of sizes.
        ylabel: Of the other.
    """
    order = np.argsort(x)
    sizes, values = np.asarray(x, float)[order], np.asarray(y, float)[order]
    seen = len(sizes) - held
    line = np.geomspace(sizes[0], sizes[-1], 80)
    middle = float(np.exp(np.log(sizes[:seen]).mean()))
    height = law.predict([middle])[0] - law.offset
    ends = [law.offset + height * (line / middle) ** slope for slope in law.interval]
    fig, ax = plt.subplots(figsize=WIDE)
    ax.fill_between(line, *ends, color=BLUE, alpha=0.18, lw=0, label="interval of the slope")
    ax.plot(line, law.predict(line), color=BLUE, label=f"exponent {law.exponent:.3f}")
    ax.plot(sizes[:seen], values[:seen], "o", color=BLUE, label="fitted")
    if held:
        ax.plot(sizes[seen:], values[seen:], "s", color=RED, label="held out")
    ax.set(xscale="log", yscale="log", xlabel=xlabel, ylabel=ylabel)
    plain_ticks(ax, [*values, *ends[0], *ends[1]])
    ax.legend(fontsize=9)
    return fig


def isoflop_parabolas(points: Points, found: Parabolas) -> Figure:
    """Losses along budgets by size, with the parabolas and their lowest points.

    Args:
        points: Losses at common budgets.
        found: What :func:`mathlm.scaling.isoflop_optimum` found in them.
    """
    fig, ax = plt.subplots(figsize=(6.4, 4.0))
    colors = plt.get_cmap(SEQUENTIAL)(np.linspace(0, 0.85, len(found.compute)))
    for c, n, loss, bend, color in zip(
        found.compute, found.n, found.loss, found.bend, colors, strict=True
    ):
        here = np.asarray(points.compute) == c
        sizes = np.asarray(points.n)[here]
        line = np.geomspace(sizes.min(), sizes.max(), 60)
        ax.plot(sizes, np.asarray(points.loss)[here], "o", ms=5, color=color)
        label = f"{scientific(c)} FLOP"
        ax.plot(line, loss + bend * np.log(line / n) ** 2, color=color, lw=1.4, label=label)
    ax.plot(found.n, found.loss, "*", ms=13, color=RED, mec="white", label="lowest points")
    ax.set(xscale="log", xlabel="parameters", ylabel="loss [nats]")
    ax.legend(fontsize=9)
    return fig


def training_envelope(
    compute: ArrayLike, n: ArrayLike, loss: ArrayLike, best: Envelope
) -> Figure:
    """Training curves of several sizes, and the best of them at each budget.

    Args:
        compute: Spent up to each point of each curve [FLOP].
        n: Parameters of the model at each point.
        loss: Measured there [nats].
        best: What :func:`mathlm.scaling.envelope` found; budgets at which the smallest or the
            largest size won are hollow.
    """
    spent, sizes, losses = (np.asarray(row, float) for row in (compute, n, loss))
    fig, ax = plt.subplots(figsize=(6.4, 4.0))
    every = np.unique(sizes)
    colors = plt.get_cmap(SEQUENTIAL)(np.linspace(0, 0.9, len(every)))
    for size, color in zip(every, colors, strict=True):
        order = np.argsort(spent[sizes == size])
        curve = spent[sizes == size][order], losses[sizes == size][order]
        ax.plot(*curve, color=color, lw=1.4, label=f"N = {scientific(size)}")
    for inside, face in ((True, RED), (False, "none")):
        there = best.inside == inside
        ax.plot(best.compute[there], best.loss[there], "o", color=RED, mfc=face, ms=5)
    ax.set(xscale="log", yscale="log", xlabel="compute [FLOP]", ylabel="loss [nats]")
    plain_ticks(ax, losses)
    ax.legend(fontsize=8, ncols=2)
    return fig


def allocation_map(
    fit: ChinchillaLaw | KaplanLaw,
    sizes: tuple[float, float],
    tokens: tuple[float, float],
    budgets: Sequence[float | int] = (),
    runs: Mapping[str, tuple[float, float]] | None = None,
) -> Figure:
    """Loss by parameters and tokens, budgets as lines, and the best division of each.

    Args:
        fit: The law.
        sizes: From and to how many parameters.
        tokens: From and to how many tokens.
        budgets: Those whose lines ``6 N D = C`` are drawn [FLOP].
        runs: Name -> parameters and tokens of a run.
    """
    n, d = np.geomspace(*sizes, 90), np.geomspace(*tokens, 90)
    loss = fit.loss(np.tile(n, len(d)), np.repeat(d, len(n))).reshape(len(d), len(n))
    fig, ax = plt.subplots(figsize=(6.4, 4.8))
    levels = np.geomspace(loss.min(), loss.max(), 12)[1:-1]
    lines = ax.contour(n, d, loss, levels=levels, cmap=SEQUENTIAL, linewidths=1.1)
    ax.set(xscale="log", yscale="log", xlim=sizes, ylim=tokens)
    ax.set(xlabel="parameters", ylabel="tokens")
    places = [on_contour(fit, float(v), sizes, tokens) for v in lines.levels]
    ax.clabel(lines, fontsize=8, fmt="%.2f", manual=[p for p in places if p is not None])
    for c in budgets:
        ax.plot(n, c / 6 / n, color=GRAY, ls=":", lw=1.2)
    every = np.geomspace(6 * sizes[0] * tokens[0], 6 * sizes[1] * tokens[1], 60)
    path = np.array([optimal_allocation(float(c), fit) for c in every]).T
    ax.plot(*path, color=RED, label="least loss of each budget")
    for (name, place), mark in zip((runs or {}).items(), MARKS, strict=False):
        ax.plot(*place, mark, color=ORANGE, mec="black", ms=8, ls="none", label=name)
    ax.legend(fontsize=9, loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=3)
    return fig


def on_contour(
    fit: ChinchillaLaw | KaplanLaw,
    level: float,
    sizes: tuple[float, float],
    tokens: tuple[float, float],
) -> tuple[float, float] | None:
    """Where a contour of the loss has its label: near the upper or the right edge of a map.

    Args:
        fit: The law.
        level: Of the contour [nats].
        sizes: From and to how many parameters.
        tokens: From and to how many tokens.

    Returns:
        Parameters and tokens, or None if the contour meets neither line.
    """
    high = tokens[0] * (tokens[1] / tokens[0]) ** 0.95
    right = sizes[0] * (sizes[1] / sizes[0]) ** 0.95
    across, up = np.geomspace(sizes[0], right, 400), np.geomspace(tokens[0], high, 400)
    above = fit.loss(across, np.full(400, high))
    if above[-1] <= level <= above[0]:
        return float(np.interp(-level, -above, across)), high
    beside = fit.loss(np.full(400, right), up)
    if beside[-1] <= level <= beside[0]:
        return right, float(np.interp(-level, -beside, up))
    return None


def rates_tried(
    tried: Mapping[int, tuple[ArrayLike, ArrayLike]], taken: Mapping[int, float]
) -> Figure:
    """Loss by learning rate for several sizes, and the rate that a rule gives each.

    Args:
        tried: Parameters -> learning rates, losses [nats].
        taken: Parameters -> learning rate of the rule.
    """
    fig, ax = plt.subplots(figsize=WIDE)
    for (n, (rates, losses)), color in zip(tried.items(), COLORS, strict=False):
        ax.plot(rates, losses, marker="o", ms=4, color=color, label=f"{n:,} parameters")
        ax.axvline(taken[n], color=color, ls=":", lw=1.2)
    ax.set(xscale="log", xlabel="learning rate (dotted: taken)", ylabel="loss [nats/byte]")
    every = sorted({rate for rates, _ in tried.values() for rate in np.asarray(rates)})
    ax.set_xticks(every, [f"{rate:g}" for rate in every])
    ax.minorticks_off()
    ax.legend(fontsize=9)
    return fig


def curves_of_a_law(
    d: ArrayLike,
    loss: ArrayLike,
    label: ArrayLike,
    seen: ArrayLike,
    lines: Mapping[int, tuple[ArrayLike, ArrayLike]],
) -> Figure:
    """Readings by tokens, those that were fitted filled, and a law's line for each model.

    Args:
        d: Tokens of each reading.
        loss: Its loss [nats].
        label: Width of its model.
        seen: Whether it was fitted.
        lines: Width -> tokens, losses by the law.
    """
    tokens, losses, widths = (np.asarray(row, float) for row in (d, loss, label))
    fitted = np.asarray(seen, bool)
    fig, ax = plt.subplots(figsize=(6.4, 4.0))
    colors = plt.get_cmap(SEQUENTIAL)(np.linspace(0, 0.85, len(lines)))
    for (width, line), color in zip(lines.items(), colors, strict=True):
        for of, face in ((fitted, color), (~fitted, "none")):
            here = of & (widths == width)
            ax.plot(tokens[here], losses[here], "o", ms=5, color=color, mfc=face)
        ax.plot(*line, color=color, lw=1.3, label=f"width {width}")
    ax.set(xscale="log", yscale="log", xlabel="bytes read", ylabel="loss [nats/byte]")
    plain_ticks(ax, losses)
    ax.legend(fontsize=8, ncols=2)
    return fig


def residuals_by_compute(
    compute: ArrayLike,
    panels: Mapping[str, ArrayLike],
    label: ArrayLike,
    limit: float | None = None,
    ylabel: str = "predicted over measured [%]",
) -> Figure:
    """What laws miss, by compute; a law of the right form misses without a pattern.

    Args:
        compute: Of each reading [FLOP].
        panels: Law -> predicted over measured, less one [percent].
        label: Width of each reading's model.
        limit: Largest compute of a reading that was fitted [FLOP]; None draws no line.
        ylabel: Of the left panel.
    """
    fig, axes = plt.subplots(1, len(panels), sharey=True, squeeze=False, figsize=(6.4, 3.2))
    spent, widths = np.asarray(compute, float), np.asarray(label)
    every = np.unique(widths)
    colors = plt.get_cmap(SEQUENTIAL)(np.linspace(0, 0.85, len(every)))
    for ax, (name, misses) in zip(axes[0], panels.items(), strict=True):
        for width, color in zip(every, colors, strict=True):
            here = widths == width
            ax.plot(spent[here], np.asarray(misses)[here], "o", ms=4, color=color)
        ax.axhline(0, color=GRAY, lw=1)
        if limit is not None:
            ax.axvline(limit, color=GRAY, ls=":", lw=1.2)
        ax.set(xscale="log", xlabel="compute [FLOP]")
        ax.set_title(name, fontsize=10)
    axes[0, 0].set_ylabel(ylabel)
    return fig


def left_out(exponents: Mapping[str, Mapping[str, float]], whole: float) -> Figure:
    """An exponent fitted without one group of readings after the other.

    Args:
        exponents: Kind of group -> group -> exponent without it.
        whole: Exponent of all readings.
    """
    fig, axes = plt.subplots(1, len(exponents), sharey=True, squeeze=False, figsize=(6.4, 3.2))
    for ax, (name, found) in zip(axes[0], exponents.items(), strict=True):
        ax.axhline(whole, color=GRAY, lw=1)
        ax.plot(range(len(found)), list(found.values()), "o", color=BLUE)
        ax.set_xticks(range(len(found)), list(found), rotation=60, fontsize=8)
        ax.set_title(name, fontsize=10)
    axes[0, 0].set_ylabel("exponent of N in C")
    return fig


def rates_across_widths(
    rates: ArrayLike, panels: Mapping[str, Mapping[int, ArrayLike]]
) -> Figure:
    """Loss by learning rate for several widths, one panel for each parametrization.

    Args:
        rates: Learning rates.
        panels: Parametrization -> width -> losses [nats]; NaN where a run was lost. The best
            rate of each width is marked.
    """
    fig, axes = plt.subplots(1, len(panels), sharey=True, squeeze=False, figsize=BOTH)
    x = np.asarray(rates, float)
    for ax, (name, curves) in zip(axes[0], panels.items(), strict=True):
        colors = plt.get_cmap(SEQUENTIAL)(np.linspace(0, 0.85, len(curves)))
        for (width, losses), color in zip(curves.items(), colors, strict=True):
            y = np.asarray(losses, float)
            ax.plot(x, y, color=color, marker="o", ms=3, lw=1.3, label=f"width {width}")
            least = int(np.nanargmin(y))
            ax.plot(x[least], y[least], "*", ms=12, color=color, mec=RED)
        ax.set(xscale="log", xlabel="learning rate")
        ax.set_xticks(x[::2], [f"{rate:g}" for rate in x[::2]])
        ax.minorticks_off()
        ax.set_title(name, fontsize=10)
    axes[0, 0].set_ylabel("loss [nats]")
    axes[0, 0].legend(fontsize=8)
    return fig


def lifetime_sizes(served: ArrayLike, n: ArrayLike, d: ArrayLike) -> Figure:
    """Best size and tokens per parameter by the tokens that a model will serve.

    Args:
        served: Tokens of its life.
        n: Parameters of the cheapest model that reaches the loss.
        d: Tokens of its training.
    """
    fig, axes = plt.subplots(1, 2, figsize=BOTH)
    axes[0].plot(served, n, color=BLUE)
    axes[1].plot(served, np.asarray(d, float) / np.asarray(n, float), color=ORANGE)
    for ax, label in zip(axes, ("parameters", "tokens per parameter"), strict=True):
        ax.set(xscale="log", yscale="log", xlabel="tokens served", ylabel=label)
    return fig


def repeated_epochs(
    epochs: ArrayLike, measured: ArrayLike, lines: Mapping[str, ArrayLike]
) -> Figure:
    """Loss by how often the same text was read.

    Args:
        epochs: Times.
        measured: Losses [nats].
        lines: Name -> what a law foretells there [nats].
    """
    fig, ax = plt.subplots(figsize=WIDE)
    for (name, y), color, style in zip(lines.items(), COLORS, ("-", "--", ":"), strict=False):
        ax.plot(epochs, y, color=color, ls=style, label=name)
    ax.plot(epochs, measured, "o", color=RED, label="measured")
    ax.set_xscale("log", base=2)
    ax.xaxis.set_major_formatter("{x:g}")
    ax.set(xlabel="times that the text is read", ylabel="held-out loss [nats]")
    ax.legend(fontsize=9)
    return fig


def loss_to_accuracy(
    loss: ArrayLike, curves: Mapping[str, ArrayLike], step: tuple[float, float] | None = None
) -> Figure:
    """Accuracy of tasks by the loss of the model.

    Args:
        loss: Of the model [nats].
        curves: Task -> accuracy, from 0 to 1.
        step: Loss before and after an improvement, shown as a band.
    """
    fig, ax = plt.subplots(figsize=WIDE)
    for (name, y), color, style in zip(curves.items(), COLORS, ("-", "--", ":"), strict=False):
        ax.plot(loss, y, color=color, ls=style, label=name)
    if step is not None:
        ax.axvspan(*sorted(step), color=GRAY, alpha=0.2, lw=0)
    ax.invert_xaxis()
    ax.set(ylim=(-0.02, 1.02), xlabel="loss [nats], better to the right", ylabel="accuracy")
    ax.legend(fontsize=9)
    return fig


def scientific(x: float) -> str:
    """A number as a power of ten in mathematics, unless it is short as it is."""
    if 0.01 <= x < 1000:
        return f"{x:.3g}"
    digits, _, power = f"{x:.1e}".partition("e")
    front = "" if digits == "1.0" else rf"{float(digits):g}\times "
    return rf"${front}10^{{{int(power)}}}$"


def plain_ticks(ax: plt.Axes, values: ArrayLike) -> None:
    """Ticks of a logarithmic axis of less than a decade as plain numbers."""
    low, high = float(np.min(values)), float(np.max(values))
    if high / low > 10:
        return
    places = np.unique([float(f"{v:.2g}") for v in np.geomspace(low, high, 6)])
    ax.set_yticks(places, [f"{v:g}" for v in places])
    ax.minorticks_off()
