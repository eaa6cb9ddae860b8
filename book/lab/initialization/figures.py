"""Initialization and regularization: signals by depth, memory, regularizers."""

from collections.abc import Mapping, Sequence

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure
from numpy import ndarray

from mathlm.plot.style import BLUE, COLORS, GRAY, GREEN, ORANGE, RED, WIDE

MARKERS = ("o", "s", "^", "v", "D", "P")


def signal_by_depth(
    signals: Mapping[tuple[str, str], tuple[ndarray | Sequence, ndarray | Sequence]],
) -> Figure:
    """Size of activations and gradients at each depth, by activation and first weights.

    Args:
        signals: (activation, initialization) -> (forward, backward), one rms for each layer.
    """
    names = list(dict.fromkeys(activation for activation, _ in signals))
    starts = list(dict.fromkeys(start for _, start in signals))
    fig, axes = plt.subplots(len(names), 2, figsize=(6.4, 2.3 * len(names)), sharex=True)
    for row, name in zip(np.atleast_2d(axes), names, strict=True):
        for side, ax in enumerate(row):
            for start, color, marker in zip(starts, COLORS, MARKERS, strict=False):
                rms = np.asarray(signals[name, start][side])
                at = np.arange(1, len(rms) + 1)
                ax.semilogy(at, rms, color=color, marker=marker, markevery=7, ms=4, label=start)
            ax.axhline(1, color=GRAY, lw=0.8)
            ax.set(ylim=(1e-12, 1e12))
            ax.set_title(f"{name}, {('activations', 'gradients')[side]}", fontsize=11)
    for ax in np.atleast_2d(axes)[-1]:
        ax.set(xlabel="layer")
    np.atleast_2d(axes)[-1, 0].legend(fontsize=9, ncols=2, loc="lower left")
    return fig


def memorization(run: Mapping[str, ndarray]) -> Figure:
    """What a network knows of wrongly labeled examples, and its losses, by step.

    Args:
        run: Columns ``step``, ``train_loss``, ``held_out_loss``, ``memorized``,
            ``seen_through``.
    """
    fig, (top, bottom) = plt.subplots(2, 1, figsize=(6.4, 5.4), sharex=True)
    best = run["step"][int(np.argmin(run["held_out_loss"]))]
    top.plot(run["step"], run["train_loss"], color=BLUE, label="training")
    top.plot(run["step"], run["held_out_loss"], color=RED, ls="--", label="held out")
    top.set(ylabel="loss [nats]", ylim=(0, None))
    bottom.plot(
        run["step"], 100 * run["seen_through"], color=GREEN, label="seen through: true label"
    )
    bottom.plot(
        run["step"],
        100 * run["memorized"],
        color=ORANGE,
        ls="--",
        label="repeated: wrong label",
    )
    bottom.set(xlabel="step", ylabel="of the mislabeled [%]", ylim=(-3, 103))
    for ax in (top, bottom):
        ax.axvline(best, color=GRAY, ls=":", label="lowest held-out loss")
        ax.legend(fontsize=9)
    return fig


def regularizers(runs: Mapping[str, Mapping[str, ndarray]]) -> Figure:
    """Held-out accuracy by step, with one regularizer at a time.

    Args:
        runs: Name -> columns ``step`` and ``held_out_accuracy``.
    """
    fig, ax = plt.subplots(figsize=WIDE)
    lines = ("-", "--", "-.", ":")
    for (name, run), color, line in zip(runs.items(), COLORS, lines, strict=False):
        ax.plot(run["step"], 100 * run["held_out_accuracy"], color=color, ls=line, label=name)
    ax.set(xlabel="step", ylabel="held-out accuracy [%]", ylim=(40, 100))
    ax.legend(fontsize=9, loc="lower right")
    return fig
