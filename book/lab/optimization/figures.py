"""Optimization: walks and landscapes, rates, noise, schedules, clipping."""

from collections.abc import Callable, Iterable, Mapping, Sequence

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy import ndarray

from mathlm.plot.style import BLUE, COLORS, GRAY, GREEN, ORANGE, RED, WIDE

Path2 = ndarray | Sequence
Landscape = Callable[[ndarray], ndarray]
MARKERS = ("o", "s", "^", "v", "D", "P")


def step_sizes(walks: Mapping[float, ndarray | Sequence]) -> Figure:
    """Walks on θ² from one start, one panel for each step size.

    Args:
        walks: Step size -> θ at each step.
    """
    fig, axes = plt.subplots(2, 2, figsize=(6.4, 4.6), sharex=True)
    for ax, (eta, walk), color in zip(axes.flat, walks.items(), COLORS, strict=False):
        ax.axhline(0, color=GRAY, lw=1)
        ax.plot(walk, "o-", color=color, ms=4)
        ax.set_title(f"η = {eta:g}: factor {1 - 2 * eta:.1f}", fontsize=11)
    for ax in axes[:, 0]:
        ax.set(ylabel="θ")
    for ax in axes[1]:
        ax.set(xlabel="step")
    return fig


def convergence(
    losses: Mapping[str, ndarray | Sequence], factors: Mapping[str, float | int]
) -> Figure:
    """Loss by step on a log axis, each beside the slope that its factor predicts.

    Args:
        losses: Name -> loss at each step.
        factors: Name -> predicted factor of the loss in a step.
    """
    fig, ax = plt.subplots(figsize=WIDE)
    for (name, loss), color in zip(losses.items(), (RED, BLUE, GREEN), strict=False):
        loss = np.asarray(loss)
        steps = np.arange(len(loss))
        ax.semilogy(steps, loss, color=color, label=name)
        ax.semilogy(steps, loss[0] * factors[name] ** steps, "--", color=color, lw=1)
    ax.plot([], [], "--", color=GRAY, lw=1, label="predicted slope")
    ax.set(xlabel="step", ylabel="loss", ylim=(1e-12, None))
    ax.legend(loc="upper right")
    return fig


def trajectories(
    panels: Mapping[str, tuple[Landscape, Mapping[str, Path2]]],
    span: tuple[float | int, ...] | Mapping[str, tuple[float | int, ...]],
) -> Figure:
    """Paths of optimizers over the level lines of their landscapes.

    Args:
        panels: Title -> (loss of points (..., 2), name -> path (steps + 1, 2)).
        span: Left, right, bottom and top of the panels, or of each panel by its title.
    """
    fig, axes = plt.subplots(len(panels), 1, figsize=(6.4, 3.3 * len(panels)), squeeze=False)
    for ax, (title, (loss, paths)) in zip(axes[:, 0], panels.items(), strict=True):
        window = span[title] if isinstance(span, Mapping) else span
        _level_lines(ax, loss, window)
        for (name, path), color, marker in zip(paths.items(), COLORS, MARKERS, strict=False):
            path = np.asarray(path)
            every = max(1, len(path) // 12)
            ax.plot(
                *path.T, marker=marker, markevery=every, ms=4, lw=1.4, color=color, label=name
            )
        ax.plot(*np.asarray(next(iter(paths.values())))[0], "k*", ms=11)
        ax.set_title(title, fontsize=11)
        ax.set(xlim=window[:2], ylim=window[2:])
        ax.grid(False)
    axes[0, 0].legend(fontsize=9, ncols=3, loc="lower left")
    return fig


def muon_spectra(spectra: Mapping[str, ndarray | Sequence]) -> Figure:
    """Singular values of a gradient and of the steps made from it, each over its largest.

    Args:
        spectra: Name -> singular values, descending.
    """
    fig, ax = plt.subplots(figsize=WIDE)
    styles = zip(spectra.items(), (RED, ORANGE, BLUE), "so^", strict=False)
    for (name, values), color, marker in styles:
        values = np.asarray(values)
        ranks = np.arange(1, len(values) + 1)
        ax.semilogy(ranks, values / values[0], marker=marker, ms=4, color=color, label=name)
    ax.set(xlabel="rank of singular value", ylabel="share of the largest", ylim=(1e-4, 2))
    ax.legend(loc="lower left")
    return fig


def races(histories: Mapping[str, Mapping[str, ndarray]]) -> Figure:
    """Training loss by step of several optimizers.

    Args:
        histories: Name -> columns ``step`` and ``train_loss``.
    """
    fig, ax = plt.subplots(figsize=WIDE)
    rows = zip(histories.items(), COLORS, MARKERS, strict=False)
    for (name, run), color, marker in rows:
        ax.semilogy(
            run["step"], run["train_loss"], color=color, marker=marker, ms=4, label=name
        )
    ax.set(xlabel="step", ylabel="training loss [nats]")
    ax.legend()
    return fig


def steps_by_batch(
    medians: Mapping[tuple[int, float], float], least: float | int, critical: float | int
) -> Figure:
    """Steps to a target by batch size, for each step size, beside the law of the best.

    Args:
        medians: (batch size, step size) -> steps; infinite where the target is not reached.
        least: Steps with batches without end.
        critical: Batch size at which twice as many steps are needed.
    """
    batches, rates = (sorted(set(column)) for column in zip(*medians, strict=True))
    fig, ax = plt.subplots(figsize=(6.4, 4.2))
    for rate, color, marker in zip(rates, COLORS, MARKERS, strict=False):
        steps = [medians[b, rate] for b in batches]
        ax.loglog(batches, steps, color=color, marker=marker, ms=4, lw=1, label=f"η = {rate:g}")
    curve = least * (1 + critical / np.array(batches))
    ax.loglog(batches, curve, "k--", lw=2, label="law of the best")
    ax.axvline(critical, color=GRAY, ls=":")
    ax.set_xticks(batches, [str(b) for b in batches])
    ax.set_yticks([50, 100, 200, 400, 800], ["50", "100", "200", "400", "800"])
    ax.minorticks_off()
    ax.set(xlabel="batch size [examples]", ylabel="steps to the target")
    ax.legend(fontsize=9, ncols=2)
    return fig


def schedules(shapes: Mapping[str, ndarray | Sequence], noam: ndarray | Sequence) -> Figure:
    """Step size by step: several schedules of one length, and the transformer's own.

    Args:
        shapes: Name -> step size at each step, with peak 1.
        noam: The schedule of the first transformer over its peak.
    """
    fig, (top, bottom) = plt.subplots(2, 1, figsize=(6.4, 5.6))
    lines = ("-", "--", "-.", ":", "-", "--", "-.")
    for (name, eta), color, line in zip(shapes.items(), COLORS, lines, strict=False):
        top.plot(eta, color=color, ls=line, label=name)
    top.set(xlabel="step", ylabel="η over its peak", ylim=(-0.03, 1.9))
    top.legend(fontsize=9, ncols=2, loc="upper right")
    bottom.plot(np.arange(1, len(noam) + 1), noam, color=BLUE)
    bottom.set(xlabel="step", ylabel="η over its peak", ylim=(0, 1.1))
    bottom.set_title("inverse square root with warm-up", fontsize=11)
    return fig


def losses_by_schedule(losses: Mapping[str, ndarray | Sequence]) -> Figure:
    """Expected loss by step, one line for each schedule.

    Args:
        losses: Name -> expected loss before each step and at the end.
    """
    fig, ax = plt.subplots(figsize=(6.4, 3.8))
    lines = ("-", "--", "-.", ":", "-", "--", "-.")
    for (name, loss), color, line in zip(losses.items(), COLORS, lines, strict=False):
        ax.semilogy(loss, color=color, ls=line, label=name)
    ax.set(xlabel="step", ylabel="expected loss")
    ax.legend(fontsize=9, ncols=2)
    return fig


def early_adam(
    rms: ndarray | Sequence,
    predicted: ndarray | Sequence,
    spread: ndarray | Sequence,
    runs: Iterable[tuple[int, float, float]],
) -> Figure:
    """Adam's first steps under pure noise, and what a warm-up does for a deep network.

    Args:
        rms: Root mean square step at each step, over the step size.
        predicted: The same from the variance of the mean gradient.
        spread: 99th percentile of 1/√v over its median, at each step.
        runs: (length of the warm-up, peak step size, final loss).
    """
    fig, (top, bottom) = plt.subplots(2, 1, figsize=(6.4, 6.0))
    steps = np.arange(1, len(np.asarray(rms)) + 1)
    top.loglog(steps, spread, color=ORANGE, label="1/√v: 99th percentile over median")
    top.loglog(steps, rms, color=BLUE, label="rms step / η, measured")
    top.loglog(steps, predicted, "--", color=GRAY, label="from the variance of m")
    top.set(xlabel="step", ylabel="ratio")
    top.legend(fontsize=9)
    found: dict[float, dict[int, list[float]]] = {}
    for warmup, peak, loss in runs:
        found.setdefault(peak, {}).setdefault(warmup, []).append(loss)
    for (peak, row), color, marker in zip(found.items(), COLORS, MARKERS, strict=False):
        at = np.arange(len(row))
        bottom.plot(at, [np.median(v) for v in row.values()], color=color, marker=marker,
                    label=f"peak η = {peak:g}")  # fmt: skip
        for i, losses in zip(at, row.values(), strict=True):
            bottom.plot([i] * len(losses), losses, ".", color=color, ms=5)
        bottom.set_xticks(at, [str(w) for w in row])
    bottom.axhline(np.log(10), color=GRAY, ls=":")
    bottom.set(xlabel="warm-up [steps]", ylabel="final loss [nats]", yscale="log")
    bottom.legend(fontsize=9)
    return fig


def clipping(gradients: ndarray, bound: float | int) -> Figure:
    """Gradients in a plane and where clipping puts them, by norm and by entry.

    Args:
        gradients: Points (n, 2).
        bound: Largest norm, or largest entry.
    """
    lengths = np.linalg.norm(gradients, axis=1, keepdims=True)
    moved = {
        "by norm: onto a ball": gradients * np.minimum(1, bound / lengths),
        "by entry: onto a cube": np.clip(gradients, -bound, bound),
    }
    fig, axes = plt.subplots(1, 2, figsize=(6.4, 3.4), sharex=True, sharey=True)
    for ax, (title, ends) in zip(axes, moved.items(), strict=True):
        for a, b in zip(gradients, ends, strict=True):
            ax.plot(*np.stack([a, b]).T, color=GRAY, lw=0.7)
        ax.plot(*gradients.T, "o", color=GRAY, ms=3)
        ax.plot(*ends.T, "o", color=RED, ms=4)
        ax.set_title(title, fontsize=11)
        ax.set_aspect("equal")
        ax.set(xlabel="first entry of g")
    axes[0].set(ylabel="second entry of g")
    return fig


def _level_lines(ax: Axes, loss: Landscape, window: tuple[float | int, ...]) -> None:
    """Level lines at evenly spaced roots of the height above the lowest point."""
    left, right, bottom, top = window
    x, y = np.meshgrid(np.linspace(left, right, 160), np.linspace(bottom, top, 160))
    height = loss(np.stack([x, y], axis=-1))
    root = (height - height.min()) ** 0.25
    ax.contour(x, y, root, levels=12, colors="#C4C9CF", linewidths=0.8)
