"""Figures on tuning SmolLM2: what the pairs teach, step by step."""

from collections.abc import Mapping, Sequence

import matplotlib.pyplot as plt
from matplotlib.figure import Figure

from mathlm.plot.style import COLORS, GRAY, MARKS, WIDE


def training_curve(steps: Sequence[Mapping[str, float]]) -> Figure:
    """Loss by step, and how far the log-probabilities of both answers have moved.

    Args:
        steps: With ``loss``, ``chosen`` and ``rejected`` each [nats].
    """
    fig, (left, right) = plt.subplots(1, 2, figsize=WIDE)
    numbers = range(1, len(steps) + 1)
    left.plot(numbers, [s["loss"] for s in steps], color=COLORS[0], marker=MARKS[0], ms=4)
    left.axhline(0.6931, color=GRAY, ls="--", label="no preference, log 2")
    left.set(xlabel="step", ylabel="loss [nats]", ylim=(0, None))
    left.legend(fontsize=9)
    for i, name in enumerate(("chosen", "rejected")):
        values = [s[name] for s in steps]
        right.plot(numbers, values, color=COLORS[i], marker=MARKS[i], ms=4, label=name)
    right.axhline(0, color=GRAY, lw=1)
    right.set(xlabel="step", ylabel="change of log π(y | x) [nats]")
    right.legend(fontsize=9)
    return fig
