"""What a run did, drawn from its history."""

import math
from collections.abc import Mapping, Sequence

import matplotlib.pyplot as plt
from matplotlib.figure import Figure

from ..errors import InputError
from .style import COLORS

TOGETHER = {  # label of a panel -> the numbers of a record that stand in it
    "loss [nats]": ("loss", "held_out_loss", "held_out_loss_ema"),
    "step size": ("lr",),
    "norm of the gradient": ("grad_norm",),
}
COUNTS = {"step", "skipped"}


def training_run(history: Sequence[Mapping[str, float | int]], title: str = "") -> Figure:
    """Loss, step size, norm of the gradient, and whatever else a run recorded, by its steps.

    Losses of training and of held-out data share a panel; each other number has one of its own.
    A number that is not finite is left out.

    Args:
        history: Records of a run, such as :attr:`mathlm.train.Trainer.history`.
        title: Above all panels.

    Returns:
        The figure, with three panels a row.

    Raises:
        InputError: If there is no record.

    Example:
        >>> history = [{"step": 1, "loss": 3.0, "lr": 0.1}, {"step": 2, "loss": 2.0, "lr": 0.1}]
        >>> figure = training_run(history)
        >>> len([ax for ax in figure.axes if ax.lines])  # loss and step size
        2
    """
    if not history:
        raise InputError("the history is empty: there is nothing to draw before the first step")
    panels = panels_of(history)
    rows = math.ceil(len(panels) / 3)
    fig, axes = plt.subplots(rows, 3, figsize=(10.5, 2.8 * rows), squeeze=False)
    for ax, (label, names) in zip(axes.flat, panels.items(), strict=False):
        for color, name in zip(COLORS, names, strict=False):
            points = [
                (r["step"], r[name]) for r in history if math.isfinite(r.get(name, math.nan))
            ]
            mark = "o" if len(points) <= 20 else ""
            ax.plot(*zip(*points, strict=True), color=color, marker=mark, ms=3, label=name)
        ax.set_xlabel("step")
        ax.set_ylabel(label)
        if len(names) > 1:
            ax.legend(fontsize=8)
    for ax in axes.flat[len(panels) :]:
        ax.set_axis_off()
    fig.suptitle(title)
    fig.set_layout_engine("constrained")
    return fig


def panels_of(history: Sequence[Mapping[str, float | int]]) -> dict[str, list[str]]:
    """Label of each panel and the numbers that stand in it, where they were recorded."""
    found = dict.fromkeys(
        name
        for record in history
        for name, value in record.items()
        if name not in COUNTS and math.isfinite(value)
    )
    known = {name for names in TOGETHER.values() for name in names}
    panels = {label: [n for n in names if n in found] for label, names in TOGETHER.items()}
    panels |= {name: [name] for name in found if name not in known}
    return {label: names for label, names in panels.items() if names}


__all__ = ["training_run"]
