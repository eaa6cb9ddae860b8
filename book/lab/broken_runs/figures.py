"""Small multiples: each fault against healthy runs, in the number that shows it best."""

import textwrap
from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from mathlm.plot.style import BLUE, GRAY, ORANGE

from .columns import Broken, verdict

Runs = Sequence[Mapping[str, Any]]
COLUMNS = 3
LOSS, HELD = "loss", "held_out_loss"
SHOWN = {  # what is drawn, where it is not the loss
    "schedule ended": "lr",
    "no warm-up": "lr",
    "zero_grad forgotten": "grad_norm",
    "dropout on at evaluation": HELD,
    "16 windows, again and again": HELD,
    "no chat template in training": HELD,
    "chosen and rejected swapped": "accuracy",
    "β / 100": "rejected_change",
    "step size × 100": "chosen_change",
    "reward constant": "reward_std",
    "sign of the advantage wrong": "reward",
    "advantages without a baseline": "reward",
    "reward pays for length": "length",
    "wrong mark of the end": "finished",
    "sign of the divergence wrong": "kl",
    "ratio always 1": "kl",
}
LABELS = {
    "loss": "loss [nats]",
    "held_out_loss": "held-out loss [nats]",
    "lr": "step size",
    "grad_norm": "norm of gradient",
    "accuracy": "held-out accuracy",
    "rejected_change": "rejected [nats]",
    "chosen_change": "chosen [nats]",
    "reward_std": "spread of rewards",
    "reward": "mean reward",
    "length": "length [tokens]",
    "finished": "share that ends",
    "kl": "divergence [nats]",
}
FALLBACK = {"chosen_change": {"pretrain": LOSS, "sft": LOSS, "grpo": "kl"}}


def shown_of(name: str, kind: str) -> str:
    """The number that is drawn of a fault."""
    found = SHOWN.get(name, "kl" if kind == "grpo" else LOSS)
    return FALLBACK.get(found, {}).get(kind, found)


def points(run: Mapping[str, Any], name: str) -> tuple[list[float], list[float]]:
    """Steps or iterations, and finite values of a number."""
    rollouts = any(name in entry for entry in run.get("rollouts", ()))
    table, at = (run["rollouts"], "iteration") if rollouts else (run["history"], "step")
    pairs = [(e[at], e[name]) for e in table if name in e and np.isfinite(e[name])]
    return [x for x, _ in pairs], [y for _, y in pairs]


def atlas(healthy: Mapping[str, Runs], broken: Sequence[Broken]) -> Figure:
    """One panel for each fault; what no record shows has an orange curve and says so."""
    rows = -(-len(broken) // COLUMNS)
    fig, axes = plt.subplots(rows, COLUMNS, figsize=(6.4, 1.75 * rows), squeeze=False)
    for ax, one in zip(axes.flat, broken, strict=False):
        panel(ax, healthy[one.fault.kind], one)
    for ax in axes.flat[len(broken) :]:
        ax.set_axis_off()
    return fig


def panel(ax: Axes, healthy: Runs, broken: Broken) -> None:
    """Healthy runs in gray, the broken ones in color."""
    fault = broken.fault
    name = shown_of(fault.name, fault.kind)
    for run in healthy:
        ax.plot(*points(run, name), color=GRAY, lw=1, alpha=0.7)
    color = BLUE if fault.shows else ORANGE
    for run in broken.runs:
        x, y = points(run, name)
        ax.plot(x, y, color=color, lw=1.5, marker="o" if len(x) < 3 else "", ms=3)
    hidden = "" if fault.shows else " (not in the record)"
    ax.set_title(textwrap.fill(fault.name + hidden, 24), fontsize=8)
    ax.set_ylabel(LABELS[name], fontsize=7)
    ax.tick_params(labelsize=7)


def table(broken: Sequence[Broken]) -> str:
    """For each fault, in how many runs it was named, and by what."""
    lines = []
    for one in broken:
        found, fault = verdict(one), one.fault
        named = [name for name in found.said if name in fault.shows]
        said = "; ".join(named) if named else f"unseen: {fault.instead}"
        lines.append(f"{fault.name:32} {found.named}/{found.runs}  {said}")
    return "\n".join(lines)
