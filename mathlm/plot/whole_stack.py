"""Figures of the chapter on the whole stack: what each stage did."""

import base64
import io
from collections.abc import Callable, Mapping, Sequence
from html import escape
from typing import Any

import matplotlib.pyplot as plt
from matplotlib.figure import Figure

from .style import BLUE, COLORS, GRAY, GREEN, ORANGE, PURPLE, RC, RED

History = Sequence[Mapping[str, Any]]


def cleaning_steps(left: Mapping[str, int]) -> Figure:
    """Documents that are left behind each step of the cleaning.

    Args:
        left: Step and documents behind it, the first being what there was.
    """
    names, numbers = list(left), list(left.values())
    fig, ax = plt.subplots(figsize=(6.4, 0.5 + 0.45 * len(names)))
    ax.barh(names, numbers, color=[GRAY] + [BLUE] * (len(names) - 1))
    for i, number in enumerate(numbers):
        gone = "" if i == 0 else f"  ({number - numbers[i - 1]:+,})".replace("-", "−")
        ax.text(number, i, f" {number:,}{gone}", va="center", fontsize=9)
    ax.set(xlabel="documents", xlim=(0, 1.3 * max(numbers)))
    ax.invert_yaxis()
    ax.grid(axis="y", visible=False)
    return fig


def three_trainings(bits: History, answers: History, pairs: History) -> Figure:
    """The three trainings of the stack, each by what is held out of it.

    Args:
        bits: Records of pretraining with "step" and "bits_per_byte".
        answers: Records of instruction tuning with "step" and "held_out_loss" [nats/token].
        pairs: Records of preference tuning with "step" and "accuracy".
    """
    fig, axes = plt.subplots(1, 3, figsize=(8.4, 2.8))
    panels = (
        (bits, "bits_per_byte", "a held-out byte [bits]", "pretraining", BLUE),
        (answers, "held_out_loss", "a token of an answer [nats]", "instructions", GREEN),
        (pairs, "accuracy", "pairs in the right order", "preferences", ORANGE),
    )
    for ax, (rows, name, label, title, color) in zip(axes, panels, strict=True):
        kept = [(row["step"], row[name]) for row in rows if name in row]
        ax.plot(*zip(*kept, strict=True), "o-", ms=3, color=color)
        ax.set(xlabel="step", ylabel=label, title=title)
    axes[2].axhline(0.5, color=GRAY, ls="--", lw=1)
    return fig


def models_compared(models: Mapping[str, Mapping[str, float]]) -> Figure:
    """What the three models of the stack cost, and how their answers are.

    Args:
        models: Name of each model and its measures.
    """
    panels = {
        "bits_per_byte": "held-out plays [bits/byte]",
        "answer_loss": "held-out answers [nats/token]",
        "ended": "answers that end [share]",
        "preferring rule": "gladness, preferring rule",
        "judging rule": "gladness, judging rule",
        "distinct words": "distinct words [share]",
    }
    fig, axes = plt.subplots(2, 3, figsize=(8.4, 4.6))
    for ax, (name, title) in zip(axes.flat, panels.items(), strict=True):
        values = [measures[name] for measures in models.values()]
        ax.bar(list(models), values, color=[GRAY, GREEN, ORANGE])
        for i, value in enumerate(values):
            side = "bottom" if value >= 0 else "top"
            ax.text(i, value, f"{value:.2f}", ha="center", va=side, fontsize=9)
        ax.set_title(title, fontsize=10)
        ax.tick_params(labelsize=9)
        ax.margins(y=0.2)
        ax.grid(axis="x", visible=False)
    return fig


def stage_seconds(seconds: Mapping[str, float]) -> Figure:
    """How long each stage took.

    Args:
        seconds: Name and processor time [s] of each stage, in their order.
    """
    fig, ax = plt.subplots(figsize=(6.4, 0.6 + 0.34 * len(seconds)))
    ax.barh(list(seconds), list(seconds.values()), color=PURPLE)
    for i, value in enumerate(seconds.values()):
        ax.text(value, i, f" {value:.1f}", va="center", fontsize=9)
    ax.set(xlabel="processor time [s]", xlim=(0, 1.15 * max(seconds.values())))
    ax.invert_yaxis()
    ax.grid(axis="y", visible=False)
    return fig


def counted_and_printed(
    names: Sequence[str], printed: Sequence[float], counted: Sequence[float]
) -> Figure:
    """By how much a printed table differs from a count of the same thing.

    Args:
        names: Of the rows.
        printed: Their values in the table.
        counted: What the count says, in the same unit.
    """
    off = [100 * (p / c - 1) for p, c in zip(printed, counted, strict=True)]
    fig, ax = plt.subplots()
    ax.axvline(0, color=GRAY, lw=1)
    ax.barh(list(names), off, color=[RED if abs(x) > 0.5 else BLUE for x in off])
    for i, x in enumerate(off):
        side, text = "right" if x < 0 else "left", f" {x:+.2f} % ".replace("-", "−")
        ax.text(x, i, text, va="center", ha=side, fontsize=9)
    ax.set(xlabel="printed less counted [%]")
    ax.margins(x=0.25)
    ax.invert_yaxis()
    ax.grid(axis="y", visible=False)
    return fig


def knowledge_stack(levels: Mapping[str, tuple[str, str]]) -> Figure:
    """The levels of the book as a stack, the first at the bottom.

    Args:
        levels: Name of each level, its ideas, and its chapters.
    """
    fig, ax = plt.subplots(figsize=(6.4, 0.3 + 0.72 * len(levels)))
    for i, (name, (ideas, chapters)) in enumerate(levels.items()):
        ax.barh(i, 1, height=0.9, color=COLORS[i % len(COLORS)], alpha=0.18)
        ax.text(0.015, i + 0.2, name, va="center", weight="bold")
        ax.text(0.015, i - 0.2, ideas, va="center", fontsize=9)
        ax.text(0.985, i + 0.2, chapters, va="center", ha="right", fontsize=9)
    ax.set(xlim=(0, 1), ylim=(-0.5, len(levels) - 0.5))
    ax.set_axis_off()
    return fig


def figures_as_html(draw: Callable[[], Mapping[str, Figure]]) -> dict[str, str]:
    """Figures in the style of the book as images that stand in a page, closed again.

    Args:
        draw: Makes the figures, each with its name, which is the text in place of the image.
    """
    found = {}
    with plt.rc_context(RC):
        for name, fig in draw().items():
            with io.BytesIO() as file:
                fig.savefig(file, format="png")
                code = base64.b64encode(file.getvalue()).decode()
            plt.close(fig)
            found[name] = f'<img alt="{escape(name)}" src="data:image/png;base64,{code}">'
    return found


__all__ = [
    "cleaning_steps",
    "counted_and_printed",
    "figures_as_html",
    "knowledge_stack",
    "models_compared",
    "stage_seconds",
    "three_trainings",
]
