"""Figures of weights: by success rate, by ratio, and of steps on one batch."""

from collections.abc import Mapping

import matplotlib.pyplot as plt
from matplotlib.figure import Figure
from numpy.typing import ArrayLike

from mathlm.plot.style import COLORS, GRAY, WIDE

DASHES = ("-", "--", "-.", ":", (0, (5, 1)), (0, (3, 1, 1, 1)))


def weights_by_success(
    p: ArrayLike, weights: Mapping[str, ArrayLike], logit: Mapping[str, ArrayLike]
) -> Figure:
    """The weight of a problem by its success rate, and the pull on its logit.

    Args:
        p: Success rates.
        weights: Estimator -> w(p).
        logit: Estimator -> w(p) p (1 - p).
    """
    fig, axes = plt.subplots(1, 2, figsize=WIDE, sharex=True)
    for ax, rows in zip(axes, (weights, logit), strict=True):
        for i, (name, values) in enumerate(rows.items()):
            ax.plot(p, values, color=COLORS[i], ls=DASHES[i], label=name)
        ax.set(xlabel="success rate p")
    axes[0].set(ylabel="weight w(p)", yscale="log")
    axes[1].set_ylabel("pull on the logit, w p (1 − p)")
    axes[0].legend(fontsize=9)
    return fig


def weights_by_ratio(
    rho: ArrayLike, better: Mapping[str, ArrayLike], worse: Mapping[str, ArrayLike]
) -> Figure:
    """What multiplies A ∇log π by the ratio, for an advantage of each sign.

    Args:
        rho: Ratios.
        better: Loss -> weight where A > 0.
        worse: The same where A < 0.
    """
    fig, axes = plt.subplots(1, 2, figsize=WIDE, sharex=True, sharey=True)
    titles = ("A > 0: better", "A < 0: worse")
    for ax, rows, title in zip(axes, (better, worse), titles, strict=True):
        for i, (name, values) in enumerate(rows.items()):
            ax.plot(rho, values, color=COLORS[i], ls=DASHES[i], label=name)
        ax.axvline(1, color=GRAY, lw=0.8)
        ax.set(xlabel="ratio ρ", title=title)
    axes[0].set_ylabel("weight of A ∇log π")
    axes[0].legend(fontsize=9)
    return fig


def curves_of_success(
    curves: Mapping[str, Mapping[str, tuple[ArrayLike, ArrayLike]]],
) -> Figure:
    """Success rates of several problems over time, a panel for each estimator.

    Args:
        curves: Estimator -> problem -> times, each over that of the easiest, and rates.
    """
    fig, axes = plt.subplots(1, len(curves), figsize=WIDE, sharey=True, squeeze=False)
    for ax, (name, rows) in zip(axes[0], curves.items(), strict=True):
        for i, (problem, (time, p)) in enumerate(rows.items()):
            ax.plot(time, p, color=COLORS[i], ls=DASHES[i], label=problem)
        ax.set(xlabel="time", title=name, xlim=(0, None))
    axes[0, 0].set_ylabel("success rate p")
    axes[0, 0].legend(fontsize=8)
    return fig


def steps_on_one_batch(
    rewards: Mapping[str, ArrayLike], ratios: Mapping[str, ArrayLike]
) -> Figure:
    """Mean reward and largest ratio after each step on one batch.

    Args:
        rewards: Loss -> mean reward after each step.
        ratios: Loss -> mean largest ratio after each step.
    """
    fig, axes = plt.subplots(1, 2, figsize=WIDE)
    for ax, rows in zip(axes, (rewards, ratios), strict=True):
        for i, (name, values) in enumerate(rows.items()):
            ax.plot(values, color=COLORS[i], ls=DASHES[i], label=name)
        ax.set(xlabel="steps on one batch")
    axes[0].set_ylabel("mean reward")
    axes[1].set_ylabel("largest ratio, mean over groups")
    axes[0].legend(fontsize=8)
    return fig
