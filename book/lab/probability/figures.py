"""Probability: beliefs, sums of dice, losses and their slopes, clouds of normal points."""

from collections.abc import Mapping, Sequence

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure
from numpy import ndarray

from mathlm.plot.style import BLUE, COLORS, GRAY, ORANGE, RED, WIDE
from mathlm.reference import normal_log_density


def belief_by_letter(beliefs: Mapping[str, ndarray | Sequence], text: str) -> Figure:
    """Posterior probability of each hypothesis after each letter of a text.

    Args:
        beliefs: Hypothesis -> its probability before the first letter and after each.
        text: The letters, written below the axis.
    """
    fig, ax = plt.subplots(figsize=(6.4, 3.6))
    styles = ("-", "--", "-.", ":", (0, (5, 1, 1, 1, 1, 1)))
    for (name, p), color, style in zip(beliefs.items(), COLORS, styles, strict=False):
        ax.plot(np.arange(len(p)) - 0.5, p, color=color, ls=style, label=name)
    ax.set_xticks(range(len(text)), list(text), fontsize=9, family="monospace")
    ax.tick_params(axis="x", length=0)
    ax.set(xlabel="letters read so far", ylabel="probability", ylim=(-0.02, 1.02))
    ax.grid(axis="x", visible=False)
    ax.legend(loc="center right", fontsize=10)
    return fig


def sums_of_dice(sums: Mapping[int, ndarray | Sequence], mean: float, std: float) -> Figure:
    """Distribution of the sum of n dice, standardized, with the bell curve.

    Args:
        sums: n -> probabilities of the sums n, n + 1, ..., 6 n.
        mean: Mean of one die.
        std: Standard deviation of one die.
    """
    fig, axes = plt.subplots(2, 2, figsize=(6.4, 4.6), sharex=True, sharey=True)
    z = np.linspace(-3.5, 3.5, 200)
    for ax, (n, p) in zip(axes.flat, sums.items(), strict=True):
        width = 1 / (std * np.sqrt(n))  # one pip, in standard deviations of the sum
        values = (np.arange(len(p)) + n - n * mean) * width
        ax.bar(values, np.asarray(p) / width, width=width, color=BLUE, alpha=0.55)
        ax.plot(z, np.exp(normal_log_density(z)), color=RED)
        ax.set_title(f"{n} {'die' if n == 1 else 'dice'}", fontsize=11)
        ax.set(xlim=(-3.5, 3.5))
    for ax in axes[1]:
        ax.set_xlabel("standardized sum")
    for ax in axes[:, 0]:
        ax.set_ylabel("density")
    return fig


def penalties(p: ndarray | Sequence, losses: Mapping, slopes: Mapping) -> Figure:
    """Losses of a correct token's probability, and how hard each pulls at its logit.

    Args:
        p: Probabilities of the correct token.
        losses: Name -> loss.
        slopes: Name -> size of the derivative of the loss in the logit.
    """
    fig, axes = plt.subplots(1, 2, figsize=(6.4, 3.4))
    for ax, curves in zip(axes, (losses, slopes), strict=True):
        for (name, y), color, style in zip(
            curves.items(), (BLUE, RED, ORANGE), ("-", "--", "-."), strict=False
        ):
            ax.plot(p, y, color=color, ls=style, label=name)
        ax.set(xlabel="probability of the truth", xlim=(0, 1))
    axes[0].set(ylabel="loss", ylim=(0, 5))
    axes[1].set(ylabel="pull at its logit", ylim=(0, 1.02))
    axes[0].legend(fontsize=10)
    return fig


def probability_step(
    names: Sequence[str], before: ndarray | Sequence, after: ndarray | Sequence
) -> Figure:
    """Probabilities before and after one step of gradient descent on the logits.

    Args:
        names: Outcomes.
        before: Their probabilities before.
        after: And after.
    """
    fig, ax = plt.subplots(figsize=WIDE)
    at = np.arange(len(names))
    for shift, p, color, label in ((-0.2, before, GRAY, "before"), (0.2, after, BLUE, "after")):
        bars = ax.bar(at + shift, p, width=0.38, color=color, label=label)
        ax.bar_label(bars, [f"{x:.3f}" for x in np.asarray(p)], fontsize=9, padding=2)
    ax.set_xticks(at, list(names))
    ax.set(ylabel="probability", xlabel="class")
    ax.margins(y=0.15)
    ax.grid(axis="x", visible=False)
    ax.legend()
    return fig


def normal_clouds(z: ndarray, A: ndarray, mean: ndarray) -> Figure:
    """A cloud of independent standard normals and its image, with lines of equal density.

    Args:
        z: Points, one row each.
        A: Matrix of the map: x = mean + z Aᵀ.
        mean: Center of the image.
    """
    fig, axes = plt.subplots(1, 2, figsize=(6.4, 3.2))
    turn = np.linspace(0, 2 * np.pi, 200)
    circle = np.stack([np.cos(turn), np.sin(turn)], axis=1)
    for ax, map_, center in zip(axes, (np.eye(2), A), (np.zeros(2), mean), strict=True):
        ax.plot(*(center + z @ map_.T).T, ".", color=BLUE, ms=3, alpha=0.4)
        for radius in (1, 2):
            ax.plot(*(center + radius * circle @ map_.T).T, color=RED)
        ax.set(xlim=(-7, 7), ylim=(-7, 7), aspect="equal")
    values, vectors = np.linalg.eigh(A @ A.T)
    for value, vector in zip(values, vectors.T, strict=True):
        tip = 2 * np.sqrt(value) * vector
        axes[1].annotate(
            "", mean + tip, mean, arrowprops={"arrowstyle": "->", "color": ORANGE, "lw": 2}
        )
    axes[0].set(xlabel="first entry", ylabel="second entry", title="z: independent")
    axes[1].set(xlabel="first entry", title="x = μ + zAᵀ")
    return fig
