"""Figures of depth: gradients and spreads by block, weights' gradients, recorded runs."""

from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure

from mathlm.plot.style import BLUE, COLORS, GRAY, GREEN, ORANGE, RED

KINDS = {
    "plain": GRAY,
    "attention-only": COLORS[4],
    "norm-only": ORANGE,
    "residual": RED,
    "post-norm": GREEN,
    "pre-norm": BLUE,
    "branch-norm": ORANGE,
    "deep-norm": RED,
}
DASHES = {"attention-only": "--", "norm-only": "-.", "residual": ":", "branch-norm": "-.",
          "deep-norm": ":", "post-norm": (0, (5, 1, 1, 1, 1, 1))}  # fmt: skip
WORST = 4.2  # [nats/byte]: what is above is drawn here


def depth_panels(runs: Mapping[str, Mapping[str, Any]]) -> Figure:
    """Gradient that arrives at each block, and spread of the tokens there, by kind of stack.

    Args:
        runs: Kind -> profile with lists "gradient" and "spread".
    """
    fig, (left, right) = plt.subplots(1, 2, figsize=(6.8, 3.8))
    for kind, color in KINDS.items():
        if kind not in runs:
            continue
        for ax, key in ((left, "gradient"), (right, "spread")):
            values = np.maximum(np.array(runs[kind][key], dtype=float), 1e-16)
            ax.semilogy(values, color=color, ls=DASHES.get(kind, "-"), label=kind)
    left.set(xlabel="block", ylabel="gradient, of that at the top")
    right.set(xlabel="block", ylabel="spread of the tokens")
    fig.legend(
        *left.get_legend_handles_labels(), loc="outside lower center", ncols=3, fontsize=9
    )
    return fig


def weight_gradients(found: Mapping[str, Mapping[int, np.ndarray]], depth: int) -> Figure:
    """Gradient in a weight of each block at the start: of the last block, and through a stack.

    Args:
        found: Kind -> depth -> norms (seeds, blocks).
        depth: Which stack the right panel shows, block by block.
    """
    fig, (left, right) = plt.subplots(1, 2, figsize=(6.8, 3.6))
    for kind, by_depth in found.items():
        style: dict[str, Any] = {"color": KINDS[kind], "ls": DASHES.get(kind, "-")}
        last = np.array([norms[:, -1] for norms in by_depth.values()])  # (depths, seeds)
        left.loglog(list(by_depth), last.mean(1), marker="o", ms=4, label=kind, **style)
        left.fill_between(
            list(by_depth), last.min(1), last.max(1), color=KINDS[kind], alpha=0.2
        )
        right.semilogy(range(1, depth + 1), by_depth[depth].mean(0), **style)
    left.set(xlabel="blocks L", ylabel="gradient in the last block's $W_{out}$")
    depths = list(next(iter(found.values())))
    left.set_xticks(depths, [str(L) for L in depths])
    left.minorticks_off()
    right.set(xlabel=f"block, of {depth}", ylabel="gradient in its $W_{out}$")
    fig.legend(
        *left.get_legend_handles_labels(), loc="outside lower center", ncols=4, fontsize=9
    )
    return fig


def losses_by_rate(runs: Sequence[Mapping[str, Any]]) -> Figure:
    """Held-out loss against the largest step size, with and without warm-up; mean and range.

    Args:
        runs: Each with "kind", "lr", "warmup", "seed" and "held_out" [nats/byte].
    """
    kinds = list(dict.fromkeys(run["kind"] for run in runs))
    fig, axes = plt.subplots(1, len(kinds), figsize=(6.6, 3.2), sharey=True, squeeze=False)
    for ax, kind in zip(axes[0], kinds, strict=True):
        for warm, color, dash in ((False, ORANGE, "--"), (True, BLUE, "-")):
            mine = [r for r in runs if r["kind"] == kind and (r["warmup"] > 0) == warm]
            rates = sorted({run["lr"] for run in mine})
            losses = np.array(
                [[float(r["held_out"]) for r in mine if r["lr"] == rate] for rate in rates]
            )
            losses = np.minimum(losses, WORST)
            name = "with warm-up" if warm else "without"
            ax.semilogx(rates, losses.mean(1), dash, marker="o", ms=4, color=color, label=name)
            ax.fill_between(rates, losses.min(1), losses.max(1), color=color, alpha=0.2)
        rates = sorted({run["lr"] for run in runs})
        ax.set_xticks(rates, [f"{rate:g}" for rate in rates])
        ax.minorticks_off()
        ax.set(title=kind, xlabel="largest step size")
    axes[0, 0].set_ylabel("held-out loss [nats per byte]")
    axes[0, 0].legend(fontsize=9)
    return fig


def losses_by_kind(runs: Sequence[Mapping[str, Any]], floor: float) -> Figure:
    """Held-out loss by kind of block and depth, each seed at its better step size.

    Args:
        runs: Each with "kind", "depth", "seed" and "held_out" [nats/byte].
        floor: Loss of a model that knows the frequencies of bytes only.
    """
    kinds = list(dict.fromkeys(run["kind"] for run in runs))
    depths = sorted({run["depth"] for run in runs})
    fig, axes = plt.subplots(1, len(depths), figsize=(6.6, 3.0), sharey=True, squeeze=False)
    for ax, depth in zip(axes[0], depths, strict=True):
        for row, kind in enumerate(kinds):
            best = np.array(list(best_losses(runs, kind, depth).values()))
            ax.plot(np.minimum(best, WORST), [row] * len(best), "o", mfc="none", mec=BLUE, ms=7)
        ax.axvline(floor, color=GRAY, ls="--")
        ax.set(title=f"{depth} blocks", xlabel="nats per byte", xlim=(2.3, 4.4))
        ax.set_xticks([2.5, 3, 3.5, WORST], ["2.5", "3", "3.5", f"> {WORST:g}"])
    axes[0, 0].set_yticks(range(len(kinds)), kinds)
    axes[0, 0].set_ylim(len(kinds) - 0.5, -0.5)
    return fig


def best_losses(runs: Sequence[Mapping[str, Any]], kind: str, depth: int) -> dict[int, float]:
    """Loss of each seed at the step size whose mean over the seeds is lowest.

    Args:
        runs: Each with "kind", "depth", "lr", "seed" and "held_out" [nats/byte].
        kind: Of block.
        depth: Blocks.

    Returns:
        Seed -> held-out loss, infinite where the run diverged.
    """
    mine = [run for run in runs if (run["kind"], run["depth"]) == (kind, depth)]
    by_rate: dict[float, dict[int, float]] = {}
    for run in mine:
        by_rate.setdefault(run["lr"], {})[run["seed"]] = float(run["held_out"])
    return min(by_rate.values(), key=lambda losses: sum(losses.values()))


__all__ = [
    "best_losses",
    "depth_panels",
    "losses_by_kind",
    "losses_by_rate",
    "weight_gradients",
]
