"""Figures on verifiable rewards: weights of problems, runs, pass@k, votes, wrong verifiers."""

from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure
from numpy.typing import ArrayLike

from mathlm.plot.style import COLORS, GRAY, MARKS, WIDE

Curves = Sequence[Sequence[Mapping[str, Any]]]  # a list of looks for each seed


def weights_by_success(p: ArrayLike, weights: Mapping[str, ArrayLike]) -> Figure:
    """How much a problem counts, by how often it is solved, relative to p = 1/2.

    Args:
        p: Chances of success, among them 1/2.
        weights: Name -> weight at each p.
    """
    fig, axes = plt.subplots(1, 2, figsize=WIDE)
    x = np.asarray(p)
    for i, (name, values) in enumerate(weights.items()):
        w = np.asarray(values) / np.interp(0.5, x, np.asarray(values))
        for ax in axes:
            ax.plot(x, w, color=COLORS[i], label=name)
    axes[0].set(xlabel="chance of success p", ylabel="weight, 1 at p = 1/2")
    axes[1].set(xlabel="chance of success p", xscale="log", yscale="log", ylim=(1e-2, 2))
    axes[0].legend(fontsize=8)
    return fig


def _band(ax: Any, runs: Curves, key: str, number: int, label: str) -> None:
    """Each seed as a thin line, their mean as a thick one."""
    last = min(run[-1]["samples"] for run in runs)
    grid = np.linspace(0, last, 40)
    each = []
    for run in runs:
        seen = [look for look in run if look.get(key) is not None]
        x, y = ([look[k] for look in seen] for k in ("samples", key))
        ax.plot(np.array(x) / 1000, y, color=COLORS[number], lw=0.7, alpha=0.5)
        each.append(np.interp(grid, x, y))
    ax.plot(grid / 1000, np.mean(each, 0), color=COLORS[number], label=label)


def learning_curves(runs: Mapping[str, Curves], panels: Mapping[str, str]) -> Figure:
    """Runs by the answers that they have drawn, a panel for each measure.

    Args:
        runs: Method -> looks of each seed, with ``samples`` and the measures.
        panels: Measure -> label of its axis.
    """
    fig, axes = plt.subplots(1, len(panels), figsize=(9.0, 3.2))
    for ax, (key, label) in zip(axes, panels.items(), strict=True):
        for i, (name, looks) in enumerate(runs.items()):
            _band(ax, looks, key, i, name.upper())
        ax.set(xlabel="answers drawn [thousands]", ylabel=label)
    axes[0].legend(fontsize=8)
    return fig


def pass_curves(k: Sequence[int], curves: Mapping[str, Mapping[str, ArrayLike]]) -> Figure:
    """pass@k by k, a panel for each kind of problem.

    Args:
        k: How many answers are looked at.
        curves: Kind of problem -> policy -> pass@k of each seed (seeds, k).
    """
    fig, axes = plt.subplots(1, len(curves), figsize=(9.0, 3.2), sharey=True)
    for ax, (kind, policies) in zip(axes, curves.items(), strict=True):
        for i, (name, each) in enumerate(policies.items()):
            rows = np.asarray(each, float)
            for row in rows:
                ax.plot(k, row, color=COLORS[i], lw=0.7, alpha=0.5)
            ax.plot(k, rows.mean(0), color=COLORS[i], marker=MARKS[i], ms=4, label=name)
        ax.set(xlabel="k", xscale="log", title=kind, ylim=(0, 1.03))
        ax.set_xticks(k, [str(n) for n in k], fontsize=8)
        ax.minorticks_off()
    axes[0].set(ylabel="pass@k")
    axes[-1].legend(fontsize=8)
    return fig


def votes(n: Sequence[int], curves: Mapping[str, ArrayLike]) -> Figure:
    """Shares of problems answered rightly from n answers, by the rule that chooses.

    Args:
        n: Answers to a problem.
        curves: Rule -> share at each n of each seed (seeds, n).
    """
    fig, ax = plt.subplots(figsize=WIDE)
    for i, (name, each) in enumerate(curves.items()):
        rows = np.asarray(each, float)
        ax.plot(n, rows.mean(0), color=COLORS[i % 7], marker=MARKS[i], ms=5, label=name)
        low, high = rows.min(0), rows.max(0)
        ax.fill_between(n, low, high, color=COLORS[i % 7], alpha=0.15, lw=0)
    ax.set(xlabel="answers to each problem", ylabel="share right", xscale="log", ylim=(0, 1.03))
    ax.set_xticks(n, [str(m) for m in n])
    ax.minorticks_off()
    ax.legend(fontsize=8)
    return fig


def wrong_verifiers(runs: Mapping[str, Curves]) -> Figure:
    """What a verifier pays and what is right, a panel for each verifier.

    Args:
        runs: Verifier -> looks of each seed, with ``samples``, ``rewarded`` and ``right``.
    """
    fig, axes = plt.subplots(1, len(runs), figsize=(9.0, 3.2), sharey=True, squeeze=False)
    for ax, (name, looks) in zip(axes[0], runs.items(), strict=True):
        for i, (key, label) in enumerate((("rewarded", "rewarded"), ("right", "right"))):
            _band(ax, looks, key, i, label)
        ax.axhline(np.mean([run[0]["right"] for run in looks]), color=GRAY, ls=":", lw=1)
        ax.set(xlabel="answers drawn [thousands]", title=name, ylim=(0, 1.03))
    axes[0, 0].set(ylabel="share of answers")
    axes[0, 0].legend(fontsize=8)
    return fig
