"""Figures of the chapter on fine-tuning: what is gained, what is forgotten, and why."""

from collections.abc import Mapping, Sequence

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import ArrayLike

from mathlm.plot.style import BLUE, COLORS, GRAY, GREEN, MARKS, ORANGE, PURPLE, RED, SKY


def answer_by_place(before: Mapping[str, float], after: Mapping[str, float]) -> Figure:
    """Loss of the parts of an answer, before tuning and after.

    Args:
        before: Name of the part and mean loss of its tokens [nats/token].
        after: The same parts after tuning.
    """
    fig, ax = plt.subplots(figsize=(6.4, 3.4))
    place = np.arange(len(before))
    for shift, (name, color), values in (
        (-0.2, ("before", GRAY), before),
        (0.2, ("after", BLUE), after),
    ):
        ax.bar(place + shift, [values[part] for part in before], 0.38, color=color, label=name)
    ax.set_xticks(place, list(before))
    ax.set(xlabel="part of the answer", ylabel="loss [nats per token]")
    ax.legend()
    return fig


def losses_by_step(
    steps: Sequence[int], gained: Mapping[str, ArrayLike], forgotten: Mapping[str, ArrayLike]
) -> Figure:
    """Held-out answers on the left, old text on the right, along several runs.

    Args:
        steps: Steps at which both were measured.
        gained: Name of a run and its loss on held-out answers [nats/token].
        forgotten: Name of a run and its loss on old text [bits/byte].
    """
    fig, axes = plt.subplots(1, 2, figsize=(6.4, 3.4))
    for ax, curves in zip(axes, (gained, forgotten), strict=True):
        for i, (name, values) in enumerate(curves.items()):
            ax.plot(steps, values, marker=MARKS[i % 7], ms=4, color=COLORS[i % 7], label=name)
        ax.set_xlabel("step")
    axes[0].set_ylabel("new answers [nats/token]")
    axes[1].set_ylabel("old text [bits/byte]")
    axes[0].legend(fontsize=9)
    return fig


def gain_and_forgetting(
    curves: Mapping[str, tuple[ArrayLike, ArrayLike]],
    points: Mapping[str, tuple[float | int, float | int]] | None = None,
) -> Figure:
    """What was forgotten against what was gained; right and low is best.

    Args:
        curves: Name of a family of runs, and what its runs gained [nats/token] and forgot
            [bits/byte], in the order in which they are joined.
        points: Name of a single run, and the same two numbers.
    """
    fig, ax = plt.subplots(figsize=(6.4, 4.0))
    for i, (name, (gained, forgotten)) in enumerate(curves.items()):
        marker, color = MARKS[i % 7], COLORS[i % 7]
        ax.plot(gained, forgotten, marker=marker, ms=5, lw=1.3, color=color, label=name)
    for i, (name, at) in enumerate((points or {}).items(), start=len(curves)):
        ax.plot(*at, MARKS[i % 7], ms=8, ls="", color=GRAY, label=name)
    ax.axhline(0, color=GRAY, lw=0.8)
    ax.set(
        xlabel="gained on new answers [nats/token]", ylabel="forgotten of old text [bits/byte]"
    )
    ax.legend(fontsize=9)
    return fig


def losses_on_line(
    t: ArrayLike,
    new: ArrayLike,
    old: ArrayLike,
    parabola: ArrayLike,
    unit: str = "nats/token",
) -> Figure:
    """Both losses between the weights before tuning and those after, and beyond.

    Args:
        t: Places on the line; 0 is before, 1 after.
        new: Loss on the new text there.
        old: Loss on the old text there.
        parabola: What slope and curvature at 0 predict for the old text.
        unit: Of the losses.
    """
    fig, axes = plt.subplots(1, 2, figsize=(6.4, 3.4))
    for ax, values, color, name in (
        (axes[0], new, BLUE, "new answers"),
        (axes[1], old, RED, "old text"),
    ):
        ax.plot(t, values, "o-", ms=4, color=color, label="measured")
        ax.set(xlabel="place t on the line", ylabel=f"{name} [{unit}]")
        for place in (0, 1):
            ax.axvline(place, color=GRAY, lw=0.8, ls=":")
    axes[1].plot(t, parabola, "--", color=GRAY, label="slope and curvature at 0")
    axes[1].legend(fontsize=9)
    return fig


def divergence_on_line(
    t: ArrayLike, divergence: ArrayLike, error: ArrayLike, parabola: ArrayLike
) -> Figure:
    """Divergence from the base on its own samples, along the line from before to after.

    Args:
        t: Places on the line; 0 is before, 1 after.
        divergence: There [nats/token].
        error: Half the width of its interval.
        parabola: A multiple of t² that fits near 0.
    """
    fig, ax = plt.subplots(figsize=(6.4, 3.4))
    ax.errorbar(t, divergence, error, fmt="o", ms=4, capsize=3, color=PURPLE, label="measured")
    ax.plot(t, parabola, "--", color=GRAY, label="a multiple of t²")
    ax.set(xlabel="place t on the line", ylabel="divergence [nats/token]")
    ax.legend()
    return fig


def two_bowls(
    new: tuple[ArrayLike, ArrayLike],
    old: ArrayLike,
    paths: Mapping[str, ArrayLike],
) -> Figure:
    """Level lines of a new and an old loss over two weights, and ways between them.

    Args:
        new: Curvature (2, 2) of the new loss, and the point (2,) where it is least.
        old: Curvature (2, 2) of the old loss, which is least at the origin.
        paths: Name of a way, and the points (N, 2) along it.
    """
    (A, target), H = (np.asarray(new[0]), np.asarray(new[1])), np.asarray(old)
    reach = 1.35 * float(np.abs(target).max())
    x, y = np.meshgrid(
        np.linspace(-0.4 * reach, reach, 90), np.linspace(-0.4 * reach, reach, 90)
    )
    plane = np.stack([x, y], -1)  # (90, 90, 2)
    fig, ax = plt.subplots(figsize=(5.6, 4.4))
    for center, M, color in ((target, A, BLUE), (np.zeros(2), H, RED)):
        away = plane - center
        height = 0.5 * np.einsum("...i,ij,...j->...", away, M, away)
        levels = height.max() * np.array([0.004, 0.02, 0.06, 0.14, 0.3])
        ax.contour(x, y, height, levels=levels, colors=color, linewidths=0.7, alpha=0.6)
        ax.plot(*center, "*", ms=12, color=color)
    for i, (name, points) in enumerate(paths.items()):
        color = (GRAY, GREEN, ORANGE, PURPLE, SKY)[i % 5]
        ax.plot(*np.asarray(points).T, marker=MARKS[i % 7], ms=4, color=color, label=name)
    ax.set(xlabel="first weight δ₁", ylabel="second weight δ₂")
    ax.legend(fontsize=9, loc="lower right")
    return fig


def kept_by_curvature(curvature: ArrayLike, curves: Mapping[str, ArrayLike]) -> Figure:
    """How much of the way to the new minimum is gone, by curvature.

    Args:
        curvature: Of the new loss.
        curves: Name and share of the way, 0 to 1, at each curvature.
    """
    fig, ax = plt.subplots(figsize=(6.4, 3.2))
    styles = zip((BLUE, ORANGE, GREEN, PURPLE), ("-", "--", "-.", ":"), strict=True)
    for (name, share), (color, line) in zip(curves.items(), styles, strict=False):
        ax.semilogx(curvature, share, line, color=color, label=name)
    ax.set(xlabel="curvature of the new loss", ylabel="share of the way gone")
    ax.legend()
    return fig


def step_size_sweep(
    sizes: Sequence[float | int],
    gained: Mapping[str, ArrayLike],
    forgotten: Mapping[str, ArrayLike],
) -> Figure:
    """What runs with several step sizes gained and forgot.

    Args:
        sizes: Step sizes.
        gained: Name of a kind of run, and its gain at each size [nats/token].
        forgotten: Name of a kind of run, and what each size forgot [bits/byte].
    """
    fig, axes = plt.subplots(1, 2, figsize=(6.4, 3.4))
    for ax, curves, label in (
        (axes[0], gained, "gained [nats/token]"),
        (axes[1], forgotten, "forgotten [bits/byte]"),
    ):
        for i, (name, values) in enumerate(curves.items()):
            _line(ax, sizes, values, i, name)
        ax.axhline(0, color=GRAY, lw=0.8)
        ax.set(xlabel="step size", ylabel=label)
    axes[0].legend(fontsize=9)
    return fig


def loss_by_examples(
    numbers: Sequence[int], losses: Mapping[str, ArrayLike], unit: str = "nats/token"
) -> Figure:
    """Held-out loss against the number of examples, for several starts.

    Args:
        numbers: Examples learned from.
        losses: Name of a start, and its loss for each number.
        unit: Of the loss.
    """
    fig, ax = plt.subplots(figsize=(6.4, 3.4))
    for i, (name, values) in enumerate(losses.items()):
        _line(ax, numbers, values, i, name)
    ax.set(xlabel="examples", ylabel=f"new answers [{unit}]")
    ax.legend()
    return fig


def _line(ax: Axes, x: Sequence[float | int], y: ArrayLike, i: int, name: str) -> None:
    ax.semilogx(x, y, marker=MARKS[i % 7], ms=5, color=COLORS[i % 7], label=name)
