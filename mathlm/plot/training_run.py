"""What a run did, drawn from its history."""

import math
import numbers
from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib.pyplot as plt
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from ..errors import InputError
from .style import COLORS

TOGETHER = {  # label of a panel -> the numbers of a record that stand in it
    "loss [nats]": ("loss", "held_out_loss", "held_out_loss_ema"),
    "step size": ("lr",),
    "norm of the gradient": ("grad_norm",),
}
ROLLOUTS = {
    "reward": ("reward",),
    "spread of rewards": ("reward_std", "group_std"),
    "groups without spread [share]": ("equal_groups",),
    "KL from reference [nats/text]": ("kl", "kl_k3"),
    "entropy [nats/token]": ("entropy",),
    "length of answers [tokens]": ("length",),
    "answers that end [share]": ("finished",),
}
WORDS = {  # what a legend calls the numbers that share a panel
    "loss": "training",
    "held_out_loss": "held out",
    "held_out_loss_ema": "held out, mean weights",
    "reward_std": "all answers",
    "group_std": "within a group",
    "kl": "estimate k₁",
    "kl_k3": "estimate k₃",
}
COUNTS = {"step", "skipped", "iteration", "dropped"}


def training_run(
    history: Sequence[Mapping[str, Any]],
    title: str = "",
    rollouts: Sequence[Mapping[str, Any]] = (),
) -> Figure:
    """Loss, step size, norm of the gradient, and whatever else a run recorded, by its steps.

    Losses of training and of held-out data share a panel; each other number has one of its own.
    A number that is not finite is left out. What a policy wrote is drawn by its iterations.

    Args:
        history: Records of a run, such as :attr:`mathlm.train.Trainer.history`.
        title: Above all panels.
        rollouts: Of a policy, records of its iterations, such as
            :attr:`mathlm.align.PolicyBatches.history`; their texts are left out.

    Returns:
        The figure, with three panels a row.

    Raises:
        InputError: If there is no record, or no finite number in any.

    Example:
        >>> history = [{"step": 1, "loss": 3.0, "lr": 0.1}, {"step": 2, "loss": 2.0, "lr": 0.1}]
        >>> figure = training_run(history)
        >>> len([ax for ax in figure.axes if ax.lines])  # loss and step size
        2
    """
    if not history:
        raise InputError("the history is empty: there is nothing to draw before the first step")
    panels = [("step", history, *panel) for panel in panels_of(history, TOGETHER).items()]
    written = panels_of(rollouts, ROLLOUTS).items()
    panels += [("iteration", rollouts, *panel) for panel in written]
    if not panels:
        raise InputError("the records hold no finite number: there is nothing to draw")
    rows = math.ceil(len(panels) / 3)
    fig, axes = plt.subplots(rows, 3, figsize=(10.5, 2.8 * rows), squeeze=False)
    for ax, (at, records, label, names) in zip(axes.flat, panels, strict=False):
        for color, name in zip(COLORS, names, strict=False):
            points = [(r[at], r[name]) for r in records if is_number(r.get(name))]
            mark = "o" if len(points) <= 20 else ""
            look = {"color": color, "marker": mark, "ms": 3, "label": WORDS.get(name, name)}
            ax.plot(*zip(*points, strict=True), **look)
        ax.set_xlabel(at)
        ax.xaxis.set_major_locator(MaxNLocator("auto", integer=True, min_n_ticks=1))
        ax.set_ylabel(label)
        if len(names) > 1:
            ax.legend(fontsize=8)
    for ax in axes.flat[len(panels) :]:
        ax.set_axis_off()
    fig.suptitle(title)
    fig.set_layout_engine("constrained")
    return fig


def is_number(value: Any) -> bool:
    """Whether it is a finite number, and no text or nothing."""
    return isinstance(value, numbers.Real) and math.isfinite(value)


def panels_of(
    history: Sequence[Mapping[str, Any]], together: Mapping[str, Sequence[str]]
) -> dict[str, list[str]]:
    """Label of each panel and the numbers that stand in it, where they were recorded."""
    found = dict.fromkeys(
        name
        for record in history
        for name, value in record.items()
        if name not in COUNTS and is_number(value)
    )
    known = {name for names in together.values() for name in names}
    panels = {label: [n for n in names if n in found] for label, names in together.items()}
    panels |= {name: [name] for name in found if name not in known}
    return {label: names for label, names in panels.items() if names}


__all__ = ["training_run"]
