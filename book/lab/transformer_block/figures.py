"""Figures of the transformer block: shapes, kinks, spheres, flows."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch
from numpy import ndarray

from mathlm.plot.style import BLUE, COLORS, GRAY, ORANGE, RED

DASHES = ("-", "--", "-.", ":", (0, (5, 1, 1, 1, 1, 1)), "-")


def bend(
    x: ndarray, curves: Mapping[str, Callable], ends: tuple[float | int, float | int]
) -> Figure:
    """Functions, each with one chord and what the function does in the middle of the chord.

    Args:
        x: Where to draw.
        curves: Title -> function of an array.
        ends: Where the chord begins and ends.
    """
    fig, axes = plt.subplots(1, len(curves), figsize=(6.4, 3.0), sharey=True, squeeze=False)
    middle = sum(ends) / 2
    for ax, (title, f) in zip(axes[0], curves.items(), strict=True):
        low, high, at = (float(f(np.array(v))) for v in (*ends, middle))
        ax.plot(x, f(x), color=BLUE)
        ax.plot(ends, (low, high), "--o", color=ORANGE, ms=5, label="chord")
        ax.plot([middle, middle], [at, (low + high) / 2], color=RED, lw=2.5, label="gap")
        ax.set(title=title, xlabel="x")
    axes[0, -1].legend(fontsize=9, loc="upper left")
    return fig


def switches(x: ndarray, y: ndarray, networks: Mapping[str, Callable]) -> Figure:
    """Output of networks over the unit square, the contour at one half, and the four corners.

    Args:
        x: Inputs (N, 2).
        y: 1 where the light is on (N,).
        networks: Title -> function of (N, 2) to (N, 1).
    """
    fig, axes = plt.subplots(1, len(networks), figsize=(6.8, 2.7), sharey=True, squeeze=False)
    line = np.linspace(-0.3, 1.3, 81)
    grid = np.stack(np.meshgrid(line, line), -1)
    for ax, (title, network) in zip(axes[0], networks.items(), strict=True):
        output = network(grid.reshape(-1, 2)).reshape(81, 81)
        ax.contourf(line, line, output, levels=[0.5, 99], colors=["#F6DFB8"])
        ax.contour(line, line, output, levels=[0.5], colors="black")
        for on, color, name in ((0, "black", "off"), (1, "white", "on")):
            ax.scatter(*x[y == on].T, c=color, edgecolors="black", s=70, label=name, zorder=3)
        ax.set(title=title, xlabel="switch A", aspect="equal", xticks=[0, 1], yticks=[0, 1])
        ax.grid(False)
    axes[0, 0].set_ylabel("switch B")
    fig.legend(
        *axes[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=2, fontsize=9
    )
    return fig


def factory(
    spaces: Mapping[str, ndarray],
    defective: ndarray,
    wedge: tuple[float, float],
    threshold: float | int,
) -> Figure:
    """The same parts in the input plane and in the outputs of two networks.

    Args:
        spaces: Title -> coordinates (N, 2); the first is the plane of size and weight, the
            last gets the threshold.
        defective: True for defective parts (N,).
        wedge: Ratios weight/size between which parts are defective.
        threshold: On the second coordinate of the last space.
    """
    fig, axes = plt.subplots(1, len(spaces), figsize=(6.8, 2.9), squeeze=False)
    for ax, (title, points) in zip(axes[0], spaces.items(), strict=True):
        for which, color, name in (
            (defective, "black", "defective"),
            (~defective, "white", "good"),
        ):
            ax.scatter(
                *points[which].T, c=color, edgecolors="black", s=55, label=name, zorder=3
            )
        ax.set_title(title, fontsize=10)
        ax.set(xlabel="feature A", ylabel="feature B")
    first, last = axes[0, 0], axes[0, -1]
    edge = np.array([0, 3.2])
    first.fill_between(edge, wedge[0] * edge, wedge[1] * edge, color=ORANGE, alpha=0.3, lw=0)
    first.set(xlabel="size", ylabel="weight", xlim=(0, 3), ylim=(0, 3))
    last.axhline(threshold, ls="--", color=RED)
    fig.legend(
        *first.get_legend_handles_labels(), loc="outside lower center", ncols=2, fontsize=9
    )
    return fig


def projection_cycle(network: Callable, marked: ndarray, high: float | int) -> Figure:
    """Arrows from points of a plane to where a network of two outputs puts them.

    Args:
        network: Function of (N, 2) to (N, 2).
        marked: Points (M, 2) to name.
        high: Largest coordinate.
    """
    fig, ax = plt.subplots(figsize=(4.6, 4.2))
    line = np.linspace(0, high, 11)
    start = np.stack(np.meshgrid(line, line), -1).reshape(-1, 2)
    step = network(start) - start
    moved = np.linalg.norm(step, axis=1) > 1e-12
    options: dict[str, Any] = {"angles": "xy", "scale_units": "xy", "scale": 1, "width": 0.004}
    ax.plot(*start[~moved].T, "o", ms=3, color=BLUE)
    ax.quiver(*start[moved].T, *step[moved].T, color=BLUE, **options)
    ax.plot([0, high], [0, high], "--", color=GRAY)
    for point, image in zip(marked, network(marked), strict=True):
        ax.plot(*image, "o", color=RED, ms=7)
        ax.annotate(
            f"({point[0]:g}, {point[1]:g}) → ({image[0]:g}, {image[1]:g})", image, (-4, 8),
            textcoords="offset points", fontsize=9, ha="right" if image[0] > 3.5 else "center",
            bbox={"fc": "white", "ec": "none", "alpha": 0.8, "pad": 1},
        )  # fmt: skip
    ax.set(xlabel="size", ylabel="weight", aspect="equal")
    return fig


def epsilon_effect(
    sizes: ndarray,
    inside: Mapping[float, Sequence[float]],
    outside: Mapping[float, Sequence[float]],
) -> Figure:
    """Size of a normalized vector against the size of the vector.

    Args:
        sizes: Standard deviations of the input.
        inside: ε -> standard deviations of the output, ε under the root.
        outside: The same with ε added to the root.
    """
    fig, ax = plt.subplots(figsize=(6.4, 3.4))
    for (eps, out), color, dash in zip(inside.items(), COLORS, DASHES, strict=False):
        ax.loglog(sizes, out, color=color, ls=dash, label=f"√(v + {eps:g})")
    for eps, out in outside.items():
        ax.loglog(sizes, out, color=RED, ls=":", label=f"√v + {eps:g}")
    ax.set(
        xlabel="standard deviation of the input",
        ylabel="standard deviation of the output",
        ylim=(1e-4, 3),
    )
    ax.legend(fontsize=9)
    return fig


def norm_geometry(points: ndarray, images: Mapping[str, ndarray]) -> Figure:
    """Vectors of three features seen along (1, 1, 1), and where normalizations put them.

    Args:
        points: Vectors (N, 3).
        images: Name -> normalized vectors (N, 3).
    """
    across = np.array([[1, -1, 0], [1, 1, -2]]) / np.sqrt([[2], [6]])
    fig, axes = plt.subplots(1, len(images), figsize=(6.4, 3.4), sharey=True, squeeze=False)
    around = np.linspace(0, 2 * np.pi, 200)
    for ax, (name, image) in zip(axes[0], images.items(), strict=True):
        start, stop = points @ across.T, image @ across.T
        ax.plot(*np.stack([start, stop]).transpose(2, 0, 1), color="#C9CED4", lw=0.8)
        ax.plot(np.sqrt(3) * np.cos(around), np.sqrt(3) * np.sin(around), color=GRAY, lw=1)
        ax.plot(*start.T, "o", ms=3, color=GRAY, label="vector")
        ax.plot(*stop.T, "o", ms=4, color=BLUE, label="normalized")
        ax.set(title=name, aspect="equal", xlim=(-3.2, 3.2), ylim=(-3.2, 3.2))
        ax.set(xlabel="along (1, −1, 0)")
    axes[0, 0].set_ylabel("along (1, 1, −2)")
    axes[0, 0].legend(fontsize=9, loc="lower left")
    return fig


def block_shapes() -> Figure:
    """The pre-norm block with the shapes of what flows through it, and its parameters."""
    fig, ax = plt.subplots(figsize=(6.8, 4.6))
    ax.set(xlim=(-1.9, 6.6), ylim=(-0.9, 7.4))
    ax.axis("off")
    ax.plot([0, 0], [-0.5, 7.0], color=BLUE, lw=5, solid_capstyle="butt", zorder=0)
    ax.text(-0.25, 4.9, "residual stream", rotation=90, ha="right", va="center", color=BLUE)
    ring = {"boxstyle": "circle,pad=0.15", "fc": "white", "ec": BLUE, "lw": 2}
    halves = ((0.0, "attention", "H heads of width D/H\n$4D^2+4D$ parameters"),
              (3.4, "feed-forward", "each position alone\n$8D^2+5D$ parameters"))  # fmt: skip
    for bottom, name, note in halves:
        ax.plot(
            [0, 2.2, 2.2, 0], [bottom, bottom, bottom + 2.6, bottom + 2.6], color=GRAY, zorder=0
        )
        _box(ax, 2.2, bottom + 0.75, "norm")
        _box(ax, 2.2, bottom + 1.75, name)
        ax.text(3.2, bottom + 0.75, "$2D$ parameters", va="center", fontsize=9)
        ax.text(3.2, bottom + 1.75, note, va="center", fontsize=9)
        ax.text(0, bottom + 2.6, "+", ha="center", va="center", fontsize=15, bbox=ring)
    for height, name in ((-0.55, "X"), (2.95, "U"), (7.0, "Y")):
        ax.text(-0.2, height, f"$\\mathbf{{{name}}}$  $(T\\times D)$", ha="right", va="center")
    ax.text(3.2, 0.0, "T positions, D features", va="center", fontsize=9, color=GRAY)
    return fig


POST = ("attention", "+", "norm", "feed-forward", "+", "norm")
PRE = ("norm", "attention", "+", "norm", "feed-forward", "+")


def block_flow() -> Figure:
    """The post-norm block and the pre-norm block, from bottom to top."""
    fig, axes = plt.subplots(1, 2, figsize=(6.4, 4.2), sharey=True)
    for ax, title, order in zip(axes, ("post-norm", "pre-norm"), (POST, PRE), strict=True):
        ax.set(title=title, xlim=(-1, 3), ylim=(-0.6, 6.5))
        ax.axis("off")
        _flow(ax, order)
    return fig


def _flow(ax: Axes, order: Sequence[str]) -> None:
    """The line of sums at x = 0 and a branch at x = 1.8 from each start to its sum."""
    ax.plot([0, 0], [-0.5, 6.3], color=BLUE, lw=4, solid_capstyle="butt", zorder=0)
    ax.text(0, -0.55, "x", ha="center", va="top")
    ax.text(0, 6.35, "y", ha="center", va="bottom")
    start = -0.3
    for height, part in enumerate(order):
        if part == "+":
            ax.plot([0, 1.8, 1.8, 0], [start, start, height, height], color=GRAY, zorder=0)
            ring = {"boxstyle": "circle,pad=0.15", "fc": "white", "ec": BLUE, "lw": 2}
            ax.text(0, height, "+", ha="center", va="center", fontsize=15, bbox=ring)
            start = height + (1.5 if order is POST else 0.5)
        else:
            _box(ax, 0 if order is POST and part == "norm" else 1.8, height, part)


def _box(ax: Axes, x: float | int, y: float | int, part: str) -> None:
    face = "#FBE3C0" if part == "norm" else "#D6E8F5"
    style: dict[str, Any] = {
        "boxstyle": "round,pad=0.04",
        "fc": face,
        "ec": "black",
        "zorder": 2,
    }
    ax.add_patch(FancyBboxPatch((x - 0.75, y - 0.26), 1.5, 0.52, **style))
    ax.text(x, y, part, ha="center", va="center", fontsize=10, zorder=3)


__all__ = [
    "bend",
    "block_flow",
    "block_shapes",
    "epsilon_effect",
    "factory",
    "norm_geometry",
    "projection_cycle",
    "switches",
]
