"""Neural networks: one neuron, a traced network, XOR, pieces by depth, digits."""

from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Circle
from numpy import ndarray

from mathlm.plot.style import BLUE, COLORS, DIVERGING, GRAY, GREEN, ORANGE, RED, WIDE

MARKERS = "os^Dv*P"


def neuron_plane(w: ndarray | Sequence, b: float | int) -> Figure:
    """The line where a neuron of two inputs is undecided, its normal, and its output.

    Args:
        w: Two weights, not both zero.
        b: Bias.
    """
    w = np.asarray(w, dtype=float)
    grid = np.linspace(-2, 5, 141)
    x1, x2 = np.meshgrid(grid, grid)
    fig, ax = plt.subplots(figsize=(5.2, 4.2))
    output = 1 / (1 + np.exp(-(w[0] * x1 + w[1] * x2 + b)))
    image = ax.pcolormesh(x1, x2, output, cmap=DIVERGING, vmin=0, vmax=1, rasterized=True)
    ax.contour(x1, x2, output, levels=[0.5], colors="black")
    foot = -b * w / (w @ w)
    ax.annotate("", foot + w / 2, foot, arrowprops={"arrowstyle": "-|>", "lw": 2})
    ax.annotate("w / 2", foot + w / 2, (5, 3), textcoords="offset points", color="white")
    ax.plot([0, foot[0]], [0, foot[1]], ":", color="black")
    ax.plot(0, 0, "o", color="black", ms=4)
    fig.colorbar(image, ax=ax, label="output σ(w·x + b)")
    ax.set(xlabel="$x_1$", ylabel="$x_2$", aspect="equal", xlim=(-2, 5), ylim=(-2, 5))
    ax.grid(False)
    return fig


def activation_curves(x: ndarray | Sequence, curves: Mapping[str, tuple]) -> Figure:
    """Activation functions on the left and their slopes on the right.

    Args:
        x: Inputs.
        curves: Name -> (values, slopes).
    """
    fig, (left, right) = plt.subplots(1, 2, figsize=(6.4, 3.6), sharex=True)
    styles = zip(curves.items(), COLORS, ("-", "--", "-.", ":", "-", "--"), strict=False)
    for (name, (value, slope)), color, dashes in styles:
        left.plot(x, value, dashes, color=color, label=name)
        right.plot(x, slope, dashes, color=color)
    left.set(xlabel="z", ylabel="f(z)", ylim=(-1.2, 3))
    right.set(xlabel="z", ylabel="slope f'(z)", ylim=(-0.2, 1.25))
    left.legend(fontsize=9)
    return fig


def gradient_chain(curves: Mapping[str, ndarray | Sequence]) -> Figure:
    """Size of the gradient, layer by layer from the output back to the input.

    Args:
        curves: Name -> size of the gradient after 0, 1, ... layers, on the way back.
    """
    fig, ax = plt.subplots(figsize=WIDE)
    for (name, sizes), color, mark in zip(curves.items(), COLORS, MARKERS, strict=False):
        ax.semilogy(sizes, color=color, marker=mark, markevery=10, ms=5, label=name)
    ax.set(xlabel="layers passed on the way back", ylabel="size of the gradient")
    ax.legend(fontsize=9)
    return fig


def traced_network(
    values: Sequence[ndarray | Sequence],
    gradients: Sequence[ndarray | Sequence],
    weights: Sequence[ndarray],
    weight_gradients: Sequence[ndarray],
    titles: Sequence[str] = ("inputs", "hidden (ReLU)", "output (sigmoid)"),
) -> Figure:
    """A small network with the numbers of one forward and one backward pass.

    Args:
        values: Value of each unit, layer by layer.
        gradients: Gradient of the loss at each unit, in the same form.
        weights: W (out, in) between neighboring layers.
        weight_gradients: Their gradients.
        titles: One for each layer.
    """
    fig, ax = plt.subplots(figsize=(6.4, 4.2))
    for layer, (W, dW) in enumerate(zip(weights, weight_gradients, strict=True)):
        for o, i in np.ndindex(W.shape):
            _edge(
                ax, (layer, i, W.shape[1]), (o, W.shape[0]), (float(W[o, i]), float(dW[o, i]))
            )
    for layer, (units, slopes) in enumerate(zip(values, gradients, strict=True)):
        ax.text(2 * layer, 1.62, titles[layer], ha="center", fontsize=10)
        for i, (value, slope) in enumerate(zip(units, slopes, strict=True)):
            y = _height(i, len(units))
            ax.add_patch(Circle((2 * layer, y), 0.42, fc="white", ec="black", zorder=3))
            ax.text(2 * layer, y + 0.12, f"{value:.4g}", ha="center", va="center", zorder=4)
            text: dict[str, Any] = {"ha": "center", "va": "center", "fontsize": 9, "color": RED}
            ax.text(2 * layer, y - 0.16, f"{slope:.4f}".replace("-", "−"), zorder=4, **text)
    ax.set(xlim=(-0.6, 2 * len(weights) + 0.6), ylim=(-1.6, 1.85), aspect="equal")
    ax.axis("off")
    return fig


def _height(i: int, count: int) -> float:
    return 1.05 * (count - 1 - 2 * i)


def _edge(
    ax: Axes, origin: tuple[int, int, int], end: tuple[int, int], numbers: tuple[float, float]
) -> None:
    """One weight with its value in black and its gradient in red, on its line."""
    layer, i, wide = origin
    start = np.array([2.0 * layer, _height(i, wide)])
    stop = np.array([2.0 * layer + 2, _height(*end)])
    ax.plot(*zip(start, stop, strict=True), color=GRAY, lw=1.2, zorder=1)
    place = start + (stop - start) * (0.36 if i == end[0] else 0.64)
    box: dict[str, Any] = {"fc": "white", "ec": "none", "pad": 0.6}
    style: dict[str, Any] = {"ha": "center", "fontsize": 9, "bbox": box, "zorder": 2}
    ax.text(place[0], place[1] + 0.02, f"{numbers[0]:g}", va="bottom", **style)
    shown = f"{numbers[1]:.4f}".replace("-", "−")
    ax.text(place[0], place[1] - 0.02, shown, va="top", color=RED, **style)


def loss_slopes(
    z: ndarray | Sequence, losses: Mapping[str, ndarray], slopes: Mapping[str, ndarray]
) -> Figure:
    """Losses of one logit, and their slopes.

    Args:
        z: Logits.
        losses: Name -> loss at each logit.
        slopes: Name -> derivative at each logit.
    """
    fig, (left, right) = plt.subplots(1, 2, figsize=(6.4, 3.4), sharex=True)
    for ax, curves in ((left, losses), (right, slopes)):
        styles = zip(curves.items(), (BLUE, RED), ("-", "--"), strict=True)
        for (name, y), color, dashes in styles:
            ax.plot(z, y, dashes, color=color, label=name)
    left.set(xlabel="logit z (target 1)", ylabel="loss")
    right.set(xlabel="logit z (target 1)", ylabel="slope in z")
    left.legend(fontsize=9)
    return fig


def xor_fold(x: ndarray, y: ndarray, hidden: ndarray) -> Figure:
    """XOR in the plane of its inputs, and in the plane of two hidden units.

    Args:
        x: Inputs (4, 2).
        y: Targets (4, 1).
        hidden: Values of the two hidden units (4, 2).
    """
    fig, axes = plt.subplots(1, 2, figsize=(6.4, 3.4))
    titles = ("inputs: no line separates", "hidden units: one line does")
    for ax, points, title in zip(axes, (x, hidden), titles, strict=True):
        for bit, color, mark in ((0, BLUE, "o"), (1, RED, "s")):
            chosen = points[y[:, 0] == bit]
            ax.plot(*chosen.T, mark, color=color, ms=10, label=f"target {bit}")
        ax.set_title(title, fontsize=11)
        ax.margins(0.2)
    names: dict[tuple, list[str]] = {}
    for point, bits in zip(hidden, x.astype(int), strict=True):
        names.setdefault(tuple(point), []).append("".join(map(str, bits)))
    for point, texts in names.items():
        axes[1].annotate(", ".join(texts), point, (8, 6), textcoords="offset points")
    for point, bits in zip(x, x.astype(int), strict=True):
        axes[0].annotate("".join(map(str, bits)), point, (8, 6), textcoords="offset points")
    line = np.array([0.2, 2.3])
    axes[1].plot(line, line / 2 - 0.25, "--", color="black")
    axes[0].set(xlabel="$x_1$", ylabel="$x_2$")
    axes[1].set(xlabel="$h_1$", ylabel="$h_2$")
    axes[0].legend(loc="center", fontsize=9)
    return fig


def sorted_losses(losses: ndarray | Sequence, levels: Mapping[str, float]) -> Figure:
    """Final losses of many networks in order, with the levels at which they are stuck.

    Args:
        losses: One a network [nats].
        levels: Text -> loss.
    """
    fig, ax = plt.subplots(figsize=WIDE)
    share = 100 * (np.arange(len(losses)) + 0.5) / len(losses)
    for text, level in levels.items():
        ax.axhline(level, color=GRAY, ls=":", lw=1.2)
        ax.annotate(text, (1, level), (0, 3), textcoords="offset points", fontsize=9)
    ax.plot(share, np.sort(losses), ".", color=BLUE, ms=4)
    ax.set(xlabel="networks in order of their loss [%]", ylabel="final loss [nats]")
    ax.set_ylim(-0.03, 0.8)
    return fig


def share_solved(
    widths: Sequence[int], shares: Mapping[str, ndarray | Sequence], xlabel: str
) -> Figure:
    """Share of starts from which training gets every input right.

    Args:
        widths: What is varied.
        shares: Name -> share at each width.
        xlabel: Name of what is varied.
    """
    fig, ax = plt.subplots(figsize=WIDE)
    for (name, share), color, mark in zip(shares.items(), COLORS, MARKERS, strict=False):
        ax.plot(widths, 100 * np.asarray(share), mark + "-", color=color, label=name)
    ax.set_xscale("log", base=2)
    ax.set_xticks(list(widths), [str(w) for w in widths])
    ax.set(xlabel=xlabel, ylabel="starts that succeed [%]", ylim=(-3, 106))
    ax.legend(fontsize=9)
    return fig


def power_of_width(
    widths: Sequence[int], panels: Mapping[str, Mapping[str, ndarray | Sequence]], ylabel: str
) -> Figure:
    """Something against the number of hidden units, both axes logarithmic.

    Args:
        widths: Hidden units.
        panels: Title of a panel -> name of a curve -> one number a width (NaN: not drawn).
        ylabel: Name of the vertical axis.
    """
    fig, axes = plt.subplots(1, len(panels), figsize=(6.4, 3.6), squeeze=False, sharey=True)
    for ax, (title, curves) in zip(axes[0], panels.items(), strict=True):
        for (name, y), color, mark in zip(curves.items(), COLORS, MARKERS, strict=False):
            ax.loglog(widths, y, mark + "-", color=color, ms=4, label=name)
        ax.set_xscale("log", base=2)
        ax.set_xticks(list(widths), [str(w) for w in widths])
        ax.set_title(title, fontsize=11)
        ax.set_xlabel("hidden units")
        ax.legend(fontsize=9)
    axes[0, 0].set_ylabel(ylabel)
    return fig


def confusion(counts: ndarray, names: Sequence[str]) -> Figure:
    """How often each class (row) is taken for each other (column).

    Args:
        counts: Square matrix of counts.
        names: Of the classes.
    """
    fig, ax = plt.subplots(figsize=(4.6, 4.4))
    wrong = counts - np.diag(np.diag(counts))
    ax.imshow(wrong, cmap="Oranges", vmin=0, vmax=max(3, wrong.max()))
    for i, j in np.ndindex(counts.shape):
        if counts[i, j]:
            weight = "normal" if i == j else "bold"
            ax.text(
                j, i, str(counts[i, j]), ha="center", va="center", fontsize=9, weight=weight
            )
    ticks = range(len(names))
    ax.set(xlabel="answer of the network", ylabel="true digit")
    ax.set_xticks(ticks, names)
    ax.set_yticks(ticks, names)
    ax.grid(False)
    return fig


def image_row(images: ndarray, titles: Sequence[str]) -> Figure:
    """Small gray images side by side, each with a title.

    Args:
        images: (N, height, width), dark = large.
        titles: One for each image.
    """
    columns = min(6, len(images))
    rows = -(-len(images) // columns)
    size = (6.4, 1.5 * rows + 0.1)
    fig, axes = plt.subplots(rows, columns, figsize=size, squeeze=False)
    for ax in axes.flat:
        ax.axis("off")
    for ax, image, title in zip(axes.flat, images, titles, strict=False):
        ax.imshow(image, cmap="gray_r")
        ax.set_title(title, fontsize=9)
    return fig


def learning_curves(
    epochs: Sequence[int], curves: Mapping[str, ndarray | Sequence], xlabel: str = "epoch"
) -> Figure:
    """Losses of several sets while training runs.

    Args:
        epochs: Where the losses were measured.
        curves: Name -> loss [nats].
        xlabel: Name of the horizontal axis.
    """
    fig, ax = plt.subplots(figsize=WIDE)
    styles = zip(
        curves.items(), (BLUE, ORANGE, GREEN, RED), ("-", "--", "-.", ":"), strict=False
    )
    for (name, y), color, dashes in styles:
        ax.semilogy(epochs, y, dashes, color=color, label=name)
    ax.set(xlabel=xlabel, ylabel="loss [nats per image]")
    ax.legend()
    return fig


__all__ = [
    "activation_curves",
    "confusion",
    "image_row",
    "learning_curves",
    "loss_slopes",
    "neuron_plane",
    "power_of_width",
    "share_solved",
    "gradient_chain",
    "sorted_losses",
    "traced_network",
    "xor_fold",
]
