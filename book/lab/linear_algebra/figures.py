"""Figures of vectors and matrices: bases, norms, areas, eigenvectors, spectra and clouds."""

from collections.abc import Mapping, Sequence

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LogNorm
from matplotlib.figure import Figure
from numpy import ndarray

from mathlm.plot.style import BLUE, GRAY, GREEN, ORANGE, RED, SEQUENTIAL, SKY, WIDE


def two_bases(v: ndarray, basis: ndarray, names: tuple[str, str] = ("b", "v")) -> Figure:
    """One vector on two grids: the standard one, and that of another basis.

    Args:
        v: Vector in the plane.
        basis: Two independent columns.
        names: Names of the basis vectors and of the vector.
    """
    figure, axes = plt.subplots(1, 2, figsize=(6.4, 3.4), sharex=True, sharey=True)
    for ax, B, name in zip(axes, (np.eye(2), basis), ("e", names[0]), strict=True):
        c = np.linalg.solve(B, v)
        _grid(ax, B)
        path = np.array([0 * v, c[0] * B[:, 0], v])
        ax.plot(*path.T, color=ORANGE, ls="--", lw=2.4)
        for i in range(2):
            _arrow(ax, B[:, i], RED, rf"${name}_{i + 1}$")
        _arrow(ax, v, BLUE, f"${names[1]}$", width=3)
        ax.set_title(f"{c[0]:g} ${name}_1$ {c[1]:+g} ${name}_2$".replace("-", "−"), fontsize=11)
        _plane(ax, (-1.0, 5.0), (-1.0, 5.0))
    return figure


def norm_balls(orders: Sequence[float | int] = (0.5, 1, 2, 4, np.inf)) -> Figure:
    """Where ‖v‖_p = 1 in the plane, for several p.

    Args:
        orders: Values of p; below 1 the set is not convex, and p gives no norm.
    """
    figure, ax = plt.subplots(figsize=(6.2, 4.2))
    t = np.linspace(0, 2 * np.pi, 801)
    circle = np.stack([np.cos(t), np.sin(t)])
    colors = (GRAY, RED, BLUE, GREEN, ORANGE, SKY)
    for p, color in zip(orders, colors, strict=False):
        size = np.max(abs(circle), 0) if np.isinf(p) else (abs(circle) ** p).sum(0) ** (1 / p)
        label = (
            r"$p=\infty$" if np.isinf(p) else f"$p={p:g}$" + ("" if p >= 1 else " (no norm)")
        )
        ax.plot(*(circle / size), color=color, ls="-" if p >= 1 else ":", label=label)
    ax.legend(loc="center left", bbox_to_anchor=(1.0, 0.5))
    _plane(ax, (-1.15, 1.15), (-1.15, 1.15))
    return figure


def square_images(matrices: Mapping[str, ndarray]) -> Figure:
    """What several matrices make of the unit square.

    Args:
        matrices: Title and 2 × 2 matrix of each panel.
    """
    figure, axes = plt.subplots(1, len(matrices), figsize=(6.4, 2.9))
    corners = np.array([[0.0, 0], [1, 0], [1, 1], [0, 1]])
    for ax, (title, A) in zip(np.atleast_1d(axes), matrices.items(), strict=True):
        image = corners @ A.T
        det = np.linalg.det(A)
        ax.fill(*corners.T, color=GRAY, alpha=0.3, lw=0)
        color = GREEN if det > 1e-9 else RED
        ax.fill(*image.T, facecolor=color, alpha=0.25, edgecolor=color, lw=2)
        for i in range(2):
            _arrow(ax, A[:, i], BLUE, rf"$Ae_{i + 1}$")
        ax.set_title(f"{title}\ndet = {det:.0f}".replace("-", "−"), fontsize=10)
        low, high = min(image.min(), 0) - 0.7, image.max() + 1.1
        _plane(ax, (low, high), (low, high))
    return figure


def eigen_and_singular(A: ndarray) -> Figure:
    """The unit circle and its image, with the eigenvectors and the singular vectors.

    Args:
        A: 2 × 2 matrix with real eigenvalues.
    """
    figure, axes = plt.subplots(1, 2, figsize=(6.4, 3.5), sharex=True, sharey=True)
    t = np.linspace(0, 2 * np.pi, 400)
    circle = np.stack([np.cos(t), np.sin(t)])
    eigenvalues, eigenvectors = map(np.real, np.linalg.eig(A))  # complex since NumPy 2.5
    _, sigma, Vt = np.linalg.svd(A)
    panels = (
        (axes[0], eigenvectors, [rf"$\lambda={x:.3g}$" for x in eigenvalues], "eigenvectors"),
        (axes[1], Vt.T, [rf"$\sigma={x:.3g}$" for x in sigma], "singular vectors"),
    )
    for ax, V, labels, title in panels:
        ax.plot(*circle, color=GRAY, lw=1.2)
        ax.plot(*(A @ circle), color=SKY)
        for v, color, label in zip(V.T, (BLUE, RED), labels, strict=True):
            upward = v if v[1] >= 0 else -v
            _arrow(ax, A @ upward, color, label, width=1.4)
            _arrow(ax, upward, color, "", width=3)
        ax.set_title(title, fontsize=11)
        edge = 1.4 * sigma[0]
        _plane(ax, (-edge, edge), (-edge, edge))
    return figure


def collapse(B: ndarray, seed: int = 0) -> Figure:
    """A rank-one matrix in the plane: inputs of one color have one output.

    Args:
        B: 2 × 2 matrix of rank 1.
        seed: Of the random inputs.
    """
    figure, axes = plt.subplots(1, 2, figsize=(6.4, 3.3))
    x = np.random.default_rng(seed).uniform(-2, 2, size=(500, 2))
    y = x @ B.T
    _, _, Vt = np.linalg.svd(B)
    shade = x @ Vt[0]
    for ax, points, title in (
        (axes[0], x, "inputs $x$, and the null space"),
        (axes[1], y, "outputs $Bx$"),
    ):
        ax.scatter(*points.T, c=shade, cmap=SEQUENTIAL, s=12)
        ax.set_title(title, fontsize=11)
        edge = np.abs(points).max() * 1.05
        _plane(ax, (-edge, edge), (-edge, edge))
    _arrow(axes[0], 1.5 * Vt[1], RED, "", width=3)
    return figure


def cloud_axes(X: ndarray, variances: ndarray, axes_: ndarray) -> Figure:
    """Points in the plane, with axes as long as two standard deviations.

    Args:
        X: One point a row.
        variances: Variance along each axis.
        axes_: Axes as columns.
    """
    figure, ax = plt.subplots(figsize=WIDE)
    center = X.mean(axis=0)
    ax.scatter(*X.T, color=SKY, s=14, alpha=0.8)
    for i, color in enumerate((BLUE, RED)):
        tip = 2 * np.sqrt(variances[i]) * axes_[:, i]
        _arrow(ax, tip, color, rf"$2\sqrt{{\lambda_{i + 1}}}\,u_{i + 1}$", center, width=2.5)
    ax.set(aspect="equal", xlabel="first coordinate", ylabel="second coordinate")
    return figure


def spectra(curves: Mapping[str, ndarray], ylabel: str, *, log: bool = False) -> Figure:
    """Several spectra in falling order.

    Args:
        curves: Label and values of each curve.
        ylabel: What the values are, with their unit.
        log: Logarithmic vertical axis.
    """
    figure, ax = plt.subplots(figsize=WIDE)
    styles = ((BLUE, "o-"), (ORANGE, "--"), (GREEN, "s-"), (GRAY, ":"))
    for (label, values), (color, style) in zip(curves.items(), styles, strict=False):
        k = np.arange(1, len(values) + 1)
        ax.plot(k, values, style, color=color, ms=3.5, label=label)
    ax.set(xlabel="direction, from the largest", ylabel=ylabel)
    if log:
        ax.set_yscale("log")
    else:
        ax.set_ylim(bottom=0)
    ax.legend()
    return figure


def word_map(scores: ndarray, words: Sequence[str], show: Sequence[str]) -> Figure:
    """Words on the first two principal axes, colored by their rank in frequency.

    Args:
        scores: Coordinates (words, at least 2), most frequent word first.
        words: The words.
        show: Words to name in the picture.
    """
    figure, ax = plt.subplots(figsize=(6.4, 4.4))
    every = np.unique(np.geomspace(1, len(words), 4000).astype(int)) - 1
    points = ax.scatter(
        *scores[every, :2].T, c=every + 1, norm=LogNorm(1, len(words)), cmap=SEQUENTIAL, s=7
    )
    place = {word: i for i, word in enumerate(words)}
    for word in show:
        x, y = scores[place[word], :2]
        box = {"facecolor": "white", "alpha": 0.8, "pad": 0.8, "lw": 0}
        ax.annotate(word, (x, y), fontsize=9, ha="center", va="center", bbox=box)
    figure.colorbar(points, label="rank in frequency")
    ax.set(xlabel="first principal axis", ylabel="second principal axis")
    return figure


def neighbors_kept(dims: Sequence[int], curves: Mapping[str, Sequence[float | int]]) -> Figure:
    """Share of the nearest neighbors that survive a projection to k dimensions.

    Args:
        dims: Values of k.
        curves: Label and shares of each way to choose the directions.
    """
    figure, ax = plt.subplots(figsize=WIDE)
    styles = ((BLUE, "o-"), (ORANGE, "s--"), (GRAY, "^:"))
    for (label, shares), (color, style) in zip(curves.items(), styles, strict=False):
        ax.plot(dims, shares, style, color=color, ms=5, label=label)
    ax.set(xlabel="dimensions kept", ylabel="share of 10 neighbors kept", ylim=(-0.02, 1.04))
    ax.legend()
    return figure


def gain_by_rank(
    ranks: Sequence[int], curves: Mapping[str, Sequence[Sequence[float | int]]]
) -> Figure:
    """How much of a drop in loss remains when updates are cut to rank k.

    Args:
        ranks: Values of k, all positive.
        curves: Label of each way to cut, and shares of the drop: one row for each seed. The
            line is the mean, the band goes from the least to the largest.
    """
    figure, ax = plt.subplots(figsize=WIDE)
    styles = ((BLUE, "o-"), (GREEN, "s-"), (ORANGE, "D--"), (GRAY, "^:"))
    for (label, rows), (color, style) in zip(curves.items(), styles, strict=False):
        shares = np.asarray(rows)
        ax.plot(ranks, shares.mean(axis=0), style, color=color, ms=5, label=label)
        ax.fill_between(ranks, shares.min(axis=0), shares.max(axis=0), color=color, alpha=0.15)
    ax.axhline(1, color=GRAY, lw=1, ls="--")
    ax.set_xscale("log", base=2)
    ax.set_xticks(ranks, [str(r) for r in ranks])
    ax.set(
        xlabel="rank kept in every matrix", ylabel="share of the gain kept", ylim=(-0.3, 1.06)
    )
    ax.legend(loc="center left")
    return figure


def _plane(ax: Axes, x: tuple[float, float], y: tuple[float, float]) -> None:
    """Equal axes through the origin."""
    ax.axhline(0, color=GRAY, lw=0.8, zorder=0)
    ax.axvline(0, color=GRAY, lw=0.8, zorder=0)
    ax.set(aspect="equal", xlim=x, ylim=y)


def _grid(ax: Axes, basis: ndarray, reach: int = 9) -> None:
    """Lines of whole coordinates in ``basis``."""
    ax.grid(False)
    ends = np.array([-reach, reach])
    for k in range(-reach, reach + 1):
        for i in range(2):
            line = basis[:, [i]] * ends + basis[:, [1 - i]] * k
            ax.plot(*line, color=SKY, lw=0.7, alpha=0.5, zorder=0)


def _arrow(
    ax: Axes,
    tip: ndarray,
    color: str,
    label: str,
    start: ndarray | None = None,
    width: float | int = 2,
) -> None:
    """Arrow from ``start`` (the origin), named at its tip."""
    start = np.zeros(2) if start is None else start
    arrow = {"arrowstyle": "-|>", "color": color, "lw": width, "shrinkA": 0, "shrinkB": 0}
    ax.annotate("", tuple(start + tip), tuple(start), arrowprops=arrow)
    offset = 8 * tip / max(float(np.linalg.norm(tip)), 1e-9)
    ax.annotate(
        label,
        tuple(start + tip),
        xytext=tuple(offset),
        textcoords="offset points",
        color=color,
        ha="left" if tip[0] >= 0 else "right",
        va="center",
    )


__all__ = [
    "cloud_axes",
    "collapse",
    "eigen_and_singular",
    "gain_by_rank",
    "neighbors_kept",
    "norm_balls",
    "spectra",
    "square_images",
    "two_bases",
    "word_map",
]
