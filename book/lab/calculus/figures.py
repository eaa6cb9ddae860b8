"""Figures of slopes, gradients, computational graphs and curvature."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy import ndarray

from mathlm.plot.style import BLUE, COLORS, GRAY, GREEN, ORANGE, PURPLE, RED, SKY, WIDE
from mathlm.reference import Variable, pull_back, topological_order

SYMBOLS = {
    "add": "+",
    "subtract": "−",
    "multiply": "×",
    "divide": "÷",
    "negative": "− ·",
    "power": "power",
    "matmul": "@",
    "sum": "Σ",
    "maximum": "max",
}


def secants(
    f: Callable[[Any], Any], x: float | int, slope: float | int, steps: Sequence[float | int]
) -> Figure:
    """A curve, secants from one point for several steps, and the tangent there.

    Args:
        f: Function of an array.
        x: The point.
        slope: Slope of the tangent.
        steps: Values of h, from large to small.
    """
    figure, ax = plt.subplots(figsize=WIDE)
    grid = np.linspace(x - 1.2, x + 1.25 * max(steps), 200)
    ax.plot(grid, f(grid), color=GRAY, lw=2.5, label="$f$")
    for h, color in zip(steps, (SKY, ORANGE, GREEN, PURPLE), strict=False):
        rise = (f(x + h) - f(x)) / h
        ax.plot(grid, f(x) + rise * (grid - x), color=color, lw=1.4, label=f"$h={h:g}$")
        ax.plot([x + h], [f(x + h)], "o", color=color, ms=6)
    ax.plot(grid, f(x) + slope * (grid - x), color=RED, ls="--", label=f"slope {slope:g}")
    ax.plot([x], [f(x)], "o", color="black", ms=6)
    ax.set(xlabel="$x$", ylabel="$f(x)$", ylim=(min(f(grid)) - 3, max(f(grid))))
    ax.legend(loc="upper left")
    return figure


def difference_errors(
    steps: ndarray, errors: Mapping[str, ndarray], best: Mapping[str, float | int]
) -> Figure:
    """Error of numerical slopes against the step, on logarithmic axes.

    Args:
        steps: Values of h.
        errors: Label and relative errors of each formula; errors of 0 are drawn at 1e-17.
        best: Label and predicted best step of some of the formulas, drawn as dotted lines.
    """
    figure, ax = plt.subplots(figsize=WIDE)
    for (label, error), color, mark in zip(
        errors.items(), (RED, BLUE, GREEN), "os^", strict=False
    ):
        ax.loglog(steps, np.maximum(error, 1e-17), mark + "-", color=color, ms=4, label=label)
        if label in best:
            ax.axvline(best[label], color=color, ls=":", lw=1.4)
    ax.set(xlabel="step $h$", ylabel="relative error of the slope")
    ax.legend()
    return figure


def amplification(
    names: Sequence[str],
    points: Sequence[Sequence[float | int]],
    factors: Sequence[float | int],
) -> Figure:
    """A small change on one number line after another, and the factor between lines.

    Args:
        names: Name of the variable on each line.
        points: Value before and after on each line.
        factors: Derivative from each line to the next.
    """
    figure, ax = plt.subplots(figsize=(6.4, 3.0))
    changes = [abs(b - a) for a, b in points]
    unit = 6.0 / max(changes)
    for row, (name, (a, b)) in enumerate(zip(names, points, strict=True)):
        y, length = -row, unit * (b - a)
        ax.plot([0, 7.4], [y, y], color=GRAY, lw=1)
        ax.plot([0, length], [y, y], color=COLORS[row], lw=7, solid_capstyle="butt")
        ax.text(-0.15, y, f"${name}$ = {a:g}", ha="right", va="center")
        ax.text(max(length, 0) + 0.15, y + 0.16, f"Δ = {b - a:.3g}", va="bottom", fontsize=10)
    for row, factor in enumerate(factors):
        ax.annotate(
            "", (-1.0, -row - 0.8), (-1.0, -row - 0.2), arrowprops={"arrowstyle": "-|>"}
        )
        ax.text(-1.15, -row - 0.5, f"× {factor:g}", ha="right", va="center", color=RED)
    ax.set(xlim=(-2.6, 8.2), ylim=(-len(names) + 0.5, 0.6))
    ax.axis("off")
    return figure


def landscape(
    f: Callable[[ndarray, ndarray], ndarray],
    point: Sequence[float | int],
    gradient: Sequence[float | int],
) -> Figure:
    """A function of two numbers as a surface, and its gradient as an arrow on the map below.

    Args:
        f: Function of two arrays.
        point: Where the gradient is taken.
        gradient: The two partial derivatives there; drawn with length 2.5.
    """
    figure = plt.figure(figsize=(6.4, 4.2))
    ax: Any = figure.add_subplot(projection="3d")
    x, y = np.meshgrid(np.linspace(-5, 5, 41), np.linspace(-5, 5, 41))
    z = f(x, y)
    floor = float(z.min() - 0.7 * (z.max() - z.min()))
    ax.plot_surface(x, y, z, cmap="Blues", alpha=0.75, linewidth=0)
    ax.contour(x, y, z, levels=8, colors=GRAY, linewidths=0.8, zdir="z", offset=floor)
    (a, b), height = point, float(f(*np.asarray(point, dtype=float)))
    ax.plot([a, a], [b, b], [floor, height], "--", color="black", lw=1)
    ax.plot([a], [b], [height], "o", color="black", ms=5)
    u, v = 2.5 * np.asarray(gradient, dtype=float) / np.linalg.norm(gradient)
    ax.quiver(a, b, floor, u, v, 0, color=RED, lw=2.2, arrow_length_ratio=0.25)
    ax.set(xlabel="$x$", ylabel="$y$", zlabel="$f(x,y)$", zlim=(floor, float(z.max())))
    ax.view_init(elev=20, azim=-62)
    return figure


def slope_by_direction(gradient: ndarray) -> Figure:
    """Slope in every direction of the plane, for a step on the circle and on the line.

    Args:
        gradient: The two partial derivatives, both positive.
    """
    figure, ax = plt.subplots(figsize=WIDE)
    degrees = np.linspace(0, 90, 181)
    u = np.stack([np.cos(np.radians(degrees)), np.sin(np.radians(degrees))])
    ax.plot(degrees, gradient @ u, color=BLUE, label=r"circular budget $u_1^2+u_2^2=1$")
    ax.plot(degrees, gradient @ (u / u.sum(0)), "--", color=ORANGE, label="linear, $u_1+u_2=1$")
    best = np.degrees(np.arctan2(gradient[1], gradient[0]))
    top = float(np.linalg.norm(gradient))
    ax.plot([best], [top], "o", color=RED)
    ax.annotate(
        f"gradient: {top:g} at {best:.1f}°",
        (best, top),
        xytext=(-6, 8),
        textcoords="offset points",
        ha="center",
        color=RED,
    )
    ax.set(
        xlabel="direction [degrees], 0 = east, 90 = north", ylabel="slope", ylim=(0, 1.2 * top)
    )
    ax.set_xticks(range(0, 91, 15))
    ax.legend(loc="lower center")
    return figure


def downhill(
    bowls: Mapping[str, Sequence[float | int]], start: Sequence[float | int]
) -> Figure:
    """Level lines of a x² + b y², the negative gradient at a point, and the way to the minimum.

    Args:
        bowls: Title and (a, b) of each panel.
        start: The point.
    """
    figure, axes = plt.subplots(1, len(bowls), figsize=(6.4, 3.3), sharey=True)
    x, y = np.meshgrid(np.linspace(-5, 5, 200), np.linspace(-5, 5, 200))
    p = np.asarray(start, dtype=float)
    for ax, (title, (a, b)) in zip(np.atleast_1d(axes), bowls.items(), strict=True):
        level = a * x**2 + b * y**2
        ax.contour(x, y, level, levels=8, colors=GRAY, linewidths=0.9)
        g = 2 * np.array([a, b]) * p
        tip = p - 3.2 * g / np.linalg.norm(g)
        for end, color, label in (
            (0 * p, ORANGE, "to the minimum"),
            (tip, BLUE, r"$-\nabla f$"),
        ):
            arrow = {"arrowstyle": "-|>", "color": color, "lw": 2.2, "shrinkA": 0, "shrinkB": 0}
            ax.annotate("", tuple(end), tuple(p), arrowprops=arrow)
            ax.plot([], [], color=color, label=label)
        ax.plot(*p, "o", color="black", ms=5)
        ax.set(aspect="equal", xlabel="$x$", title=title)
        ax.title.set_fontsize(11)
        ax.grid(False)
    np.atleast_1d(axes)[0].set_ylabel("$y$")
    np.atleast_1d(axes)[0].legend(loc="lower left", fontsize=9)
    return figure


def computation_graph(y: Variable, show: str = "gradients") -> Figure:
    """The tape behind y: inputs on the left, y on the right.

    Args:
        y: Result of a computation on variables.
        show: "gradients" writes value, gradient and local derivatives, if all are single
            numbers; "shapes" writes shapes.
    """
    order = topological_order(y)
    places = _places(order)
    columns = max(px for px, _ in places.values()) + 1
    rows = max(abs(py) for _, py in places.values())
    figure, ax = plt.subplots(figsize=(6.4, 1.7 + 0.95 * rows))
    numbers = show == "gradients"
    gradients = pull_back(y, order) if numbers else [None] * len(order)
    for node, gradient in zip(order, gradients, strict=True):
        for parent, pullback in node.edges:
            slope = f"{float(pullback(1.0)):.3g}" if numbers else ""
            _edge(ax, places[id(parent)], places[id(node)], slope)
        _node(ax, places[id(node)], node, gradient)
    ax.set(xlim=(-0.55, columns - 0.45), ylim=(-rows - 0.75, rows + 0.75))
    ax.axis("off")
    return figure


def gradient_cost(
    depths: Sequence[int],
    ratios: Mapping[str, Sequence[float | int]],
    inputs: Sequence[int],
    sweeps: Mapping[str, Sequence[float | int]],
) -> Figure:
    """Operations for a gradient: by depth of a network, and by number of inputs.

    Args:
        depths: Layers of each network.
        ratios: Label, and backward over forward operations, for each curve of the left panel.
        inputs: Number of inputs of each function.
        sweeps: Label, and operations over those of the function, for the right panel.
    """
    figure, (left, right) = plt.subplots(1, 2, figsize=(6.4, 3.4))
    styles = ((BLUE, "o-"), (ORANGE, "s--"), (GRAY, ":"))
    for (label, values), (color, style) in zip(ratios.items(), styles, strict=False):
        left.plot(depths, values, style, color=color, ms=5, label=label)
    left.set(xlabel="layers", ylabel="backward / forward [FLOP]", ylim=(0, 2.6))
    left.set_xticks(list(depths))
    left.legend(fontsize=9, loc="lower right")
    for (label, values), (color, style) in zip(sweeps.items(), styles, strict=False):
        right.loglog(inputs, values, style, color=color, ms=5, label=label)
    right.set(xlabel="inputs", ylabel="gradient / function [FLOP]")
    right.legend(fontsize=9)
    return figure


def critical_points(surfaces: Mapping[str, Callable[[ndarray, ndarray], ndarray]]) -> Figure:
    """Level lines around points where the gradient is zero.

    Args:
        surfaces: Title and function of two arrays for each panel.
    """
    figure, axes = plt.subplots(1, len(surfaces), figsize=(6.4, 2.6), sharey=True)
    x, y = np.meshgrid(np.linspace(-2, 2, 120), np.linspace(-2, 2, 120))
    for ax, (title, f) in zip(np.atleast_1d(axes), surfaces.items(), strict=True):
        z = f(x, y)
        edge = float(np.abs(z).max())
        ax.contourf(x, y, z, levels=np.linspace(-edge, edge, 17), cmap="RdBu_r")
        ax.plot(0, 0, "o", color="black", ms=5)
        ax.set(aspect="equal", title=title, xticks=[-2, 0, 2], yticks=[-2, 0, 2])
        ax.title.set_fontsize(11)
        ax.grid(False)
    return figure


def line_through_loss(
    steps: ndarray, losses: ndarray, parabola: ndarray, tangent: ndarray, best: float | int
) -> Figure:
    """A loss along its negative gradient, with the tangent and the parabola at the start.

    Args:
        steps: Step sizes η.
        losses: True losses there.
        parabola: What value, slope and curvature at 0 predict.
        tangent: What value and slope at 0 predict.
        best: The step size at the bottom of the parabola.
    """
    figure, ax = plt.subplots(figsize=WIDE)
    ax.plot(steps, losses, color=BLUE, lw=2.4, label="loss")
    ax.plot(steps, parabola, "--", color=ORANGE, label="parabola (slope and curvature)")
    ax.plot(steps, tangent, ":", color=GRAY, label="tangent (slope only)")
    ax.axvline(best, color=RED, lw=1.2, label=f"best step of the parabola: {best:.2f}")
    low, high = float(np.min(losses)), float(max(losses[0], np.max(losses)))
    ax.set(xlabel=r"step size $\eta$ along $-\nabla L$", ylabel="loss")
    ax.set_ylim(low - 0.35 * (high - low), high + 0.1 * (high - low))
    ax.legend(fontsize=9)
    return figure


def curvature_spectrum(curvatures: ndarray) -> Figure:
    """Eigenvalues of a Hessian above 1e-9: the positive ones and the size of the negative ones.

    Args:
        curvatures: Eigenvalues in any order.
    """
    figure, ax = plt.subplots(figsize=WIDE)
    for values, color, label in (
        (np.sort(curvatures[curvatures > 0])[::-1], BLUE, "upward"),
        (np.sort(-curvatures[curvatures < 0])[::-1], RED, "downward (size)"),
    ):
        ax.semilogy(np.arange(1, len(values) + 1), values, ".", color=color, label=label, ms=4)
    ax.set(xlabel="direction, from the most curved", ylabel="curvature")
    ax.set_ylim(bottom=1e-9)
    ax.legend()
    return figure


def edge_of_stability(runs: Mapping[float, Mapping[str, ndarray]]) -> Figure:
    """Largest curvature and loss along gradient descent with several step sizes.

    Args:
        runs: Step size, and the columns "step", "loss" and "sharpness" of each run.
    """
    figure, (top, bottom) = plt.subplots(2, 1, figsize=(6.4, 4.8), sharex=True)
    for (eta, run), color in zip(runs.items(), (BLUE, ORANGE, GREEN), strict=False):
        top.plot(run["step"], run["sharpness"], color=color, label=rf"$\eta={eta:g}$")
        bottom.semilogy(run["step"], run["loss"], color=color)
        if 2 / eta < 1.3 * max(run["sharpness"]):
            top.axhline(2 / eta, color=color, ls=":", lw=1.4)
    top.set(ylabel=r"largest curvature $\lambda_{\max}$")
    top.legend(loc="lower right", title=r"dotted: $2/\eta$", fontsize=9)
    bottom.set(xlabel="step", ylabel="loss")
    return figure


def _places(order: Sequence[Variable]) -> dict[int, tuple[int, float]]:
    """Column and height of each variable: results far right, inputs just before their use."""
    column: dict[int, int] = {}
    for node in order:
        column[id(node)] = max((column[id(p)] + 1 for p, _ in node.edges), default=0)
    for node in reversed(order):
        uses = [column[id(v)] - 1 for v in order if any(p is node for p, _ in v.edges)]
        column[id(node)] = min(uses, default=column[id(node)])
    places: dict[int, tuple[int, float]] = {}
    for x in range(max(column.values()) + 1):
        nodes = [v for v in reversed(order) if column[id(v)] == x]
        wish = {id(v): np.mean([places[id(p)][1] for p, _ in v.edges] or [0.0]) for v in nodes}
        nodes.sort(key=lambda v: -wish[id(v)])
        for i, v in enumerate(nodes):
            places[id(v)] = (x, (len(nodes) - 1) / 2 - i)
    return places


def _node(ax: Axes, place: tuple[int, float], node: Variable, gradient: Any) -> None:
    """A box with the name or operation, the value, and the gradient below it."""
    symbol = SYMBOLS.get(node.op, node.op)
    head = node.name if node.op == "input" else f"{node.name}: {symbol}".lstrip(": ")
    body = (
        str(node.shape).replace(",)", ")") if gradient is None else f"{float(node.value):.4g}"
    )
    color = SKY if node.op == "input" else "white"
    box = {"boxstyle": "round,pad=0.35", "fc": color, "ec": GRAY, "alpha": 1.0}
    text = f"{head}\n{body}"
    ax.text(*place, text, ha="center", va="center", bbox=box, fontsize=10, zorder=3)
    if gradient is not None:
        x, y = place
        mark = {"facecolor": "white", "edgecolor": "none", "pad": 0.8}
        ax.text(
            x,
            y - 0.52,
            f"{float(gradient):.4g}",
            color=RED,
            ha="center",
            va="center",
            fontsize=10,
            bbox=mark,
            zorder=4,
        )


def _edge(ax: Axes, start: tuple[int, float], end: tuple[int, float], slope: str) -> None:
    """An arrow from parent to child, with the local derivative at its middle."""
    bend = 0.0 if end[0] - start[0] == 1 else -0.25
    arrow = {
        "arrowstyle": "-|>",
        "color": GRAY,
        "shrinkA": 22,
        "shrinkB": 22,
        "connectionstyle": f"arc3,rad={bend}",
    }
    ax.annotate("", end, start, arrowprops=arrow, zorder=1)
    if slope:
        x, y = (0.6 * start[i] + 0.4 * end[i] for i in (0, 1))
        y += 0.5 * abs(bend) * (end[0] - start[0])
        mark = {"facecolor": "white", "edgecolor": "none", "pad": 0.6}
        ax.text(x, y, slope, color=BLUE, ha="center", va="center", fontsize=9, bbox=mark)


__all__ = [
    "amplification",
    "computation_graph",
    "critical_points",
    "curvature_spectrum",
    "difference_errors",
    "downhill",
    "edge_of_stability",
    "gradient_cost",
    "landscape",
    "line_through_loss",
    "secants",
    "slope_by_direction",
]
