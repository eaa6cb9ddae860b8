"""Figures of the page on architectures: choices, probes, mistakes, writes to the stream."""

from collections.abc import Mapping, Sequence

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure
from numpy.typing import ArrayLike

from mathlm.plot.style import BLUE, COLORS, GRAY, GREEN, MARKS, RED, WIDE

TINTS = ("#CFE3F2", "#FBE3B5", "#CDEBDF", "#F5D3C0", "#EBDDE5")


def choice_table(choices: Mapping[str, Mapping[str, str]]) -> Figure:
    """What each model has chosen; equal choices in a row have one color.

    Args:
        choices: Name of the model -> name of the choice -> what was chosen.
    """
    models, rows = [*choices], [*next(iter(choices.values()))]
    fig, ax = plt.subplots(figsize=(6.4, 0.5 + 0.36 * len(rows)))
    for i, row in enumerate(rows):
        seen: dict[str, str] = {}
        for j, model in enumerate(models):
            word = choices[model][row]
            color = seen.setdefault(word, TINTS[len(seen) % len(TINTS)])
            ax.add_patch(plt.Rectangle((j - 0.48, i - 0.46), 0.96, 0.92, color=color))
            ax.text(j, i, word, ha="center", va="center", fontsize=9, color="black")
    ax.set(xlim=(-0.5, len(models) - 0.5), ylim=(len(rows) - 0.5, -0.5))
    ax.set_xticks(range(len(models)), models)
    ax.set_yticks(range(len(rows)), rows)
    ax.xaxis.tick_top()
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)
    ax.grid(False)
    return fig


def probe_learning(
    steps: Sequence[int], shares: Mapping[str, Mapping[str, ArrayLike]]
) -> Figure:
    """Right answers to each probe while a model learns, one panel for each model.

    Args:
        steps: When the model was asked.
        shares: Name of the model -> name of the probe -> shares right, one row a seed; the
            mean is drawn.
    """
    fig, axes = plt.subplots(1, len(shares), figsize=(6.4, 3.2), sharey=True, squeeze=False)
    for ax, (title, rows) in zip(axes[0], shares.items(), strict=True):
        for i, (probe, values) in enumerate(rows.items()):
            mean = 100 * np.atleast_2d(np.asarray(values)).mean(0)
            ax.plot(steps, mean, color=COLORS[i], marker=MARKS[i], ms=3, label=probe)
        ax.set_title(title, fontsize=11)
        ax.set_xlabel("steps")
    axes[0][0].set(ylabel="right [%]", ylim=(-4, 104))
    handles, labels = axes[0][0].get_legend_handles_labels()
    fig.legend(handles, labels, loc="outside lower center", ncols=3, fontsize=9)
    return fig


def noticed_change(changes: Mapping[str, ArrayLike], words: Sequence[str]) -> Figure:
    """How much the vector of each word moves when the last word is replaced.

    Args:
        changes: Name of the model -> one relative change for each word.
        words: The words, the last one that which is replaced.
    """
    fig, ax = plt.subplots(figsize=WIDE)
    x, width = np.arange(len(words)), 0.8 / len(changes)
    for i, (name, change) in enumerate(changes.items()):
        shift = (i - (len(changes) - 1) / 2) * width
        ax.bar(x + shift, 100 * np.asarray(change), width, color=COLORS[i], label=name)
    ax.set_xticks(x, words)
    ax.set(xlabel="word", ylabel="change of its vector [%]")
    ax.legend()
    return fig


def mistake_costs(costs: Mapping[str, float], blind: float | int) -> Figure:
    """How far each silent mistake takes a model from the right one, the smallest on top.

    Args:
        costs: Name of the mistake -> divergence from the right model [nats/token].
        blind: Divergence of a guess that gives every token the same probability.
    """
    names = sorted(costs, key=lambda name: costs[name])
    fig, ax = plt.subplots(figsize=(6.4, 0.9 + 0.32 * len(names)))
    values = [max(costs[name], 1e-8) for name in names]
    ax.barh(range(len(names)), values, color=BLUE, height=0.65)
    for place, x in enumerate(values):
        ax.annotate(f"{x:.2g}", (x, place), (4, 0), textcoords="offset points", va="center",
                    fontsize=9)  # fmt: skip
    ax.axvline(blind, color=RED, ls="--", lw=1.2)
    ax.set_xscale("log")
    ax.set_xlim(min(values) / 3, 30 * max(values))
    ax.set_yticks(range(len(names)), names)
    ax.invert_yaxis()
    ax.minorticks_off()
    ax.set_xlabel(
        "divergence from the right model [nats/token]\n(dashed: every token equally likely)"
    )
    return fig


def running_logit(shares: Mapping[str, ArrayLike], names: Sequence[str]) -> Figure:
    """A difference of two logits, summed write by write, and what each write adds.

    Args:
        shares: Name of the kind of write -> share at each block; the sum over kinds and blocks
            is the difference. A kind with one share only stands in front of the blocks.
        names: The two tokens, the one that gains first.
    """
    fig, (top, below) = plt.subplots(2, 1, figsize=(6.4, 4.6), sharex=True)
    rows = {name: np.atleast_1d(np.asarray(values)) for name, values in shares.items()}
    first = sum(float(values[0]) for values in rows.values() if len(values) == 1)
    blocks = {name: values for name, values in rows.items() if len(values) > 1}
    x = np.arange(1, len(next(iter(blocks.values()))) + 1)
    for i, (name, values) in enumerate(blocks.items()):
        shift = (i - (len(blocks) - 1) / 2) * 0.4
        below.bar(x + shift, values, 0.4, color=COLORS[i], label=name)
    total = first + np.cumsum(sum(blocks.values()))
    top.plot([0, *x], [first, *total], color=GREEN, marker=".")
    for ax in (top, below):
        ax.axhline(0, color=GRAY, lw=1, ls=":")
    top.set_ylabel(f"sum so far\n{names[0]} − {names[1]}")
    below.set(xlabel="block", ylabel="share of the block")
    below.legend(fontsize=9)
    return fig
