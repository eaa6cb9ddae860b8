"""Figures of the page: what an unseen byte costs, and when it got cheap."""

from collections.abc import Mapping, Sequence

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure
from numpy.typing import ArrayLike

from mathlm.plot.style import BLUE, GRAY, GREEN, ORANGE, RED


def bits_by_order(
    orders: Sequence[int], bits: Sequence[float], compressors: Mapping[str, float]
) -> Figure:
    """Cost of a held-out byte by the order of an n-gram, beside compressors.

    Args:
        orders: Orders of the n-grams [bytes].
        bits: What each pays for the held-out text [bits/byte].
        compressors: Name and cost [bits/byte] of each compressor.
    """
    fig, ax = plt.subplots()
    ax.plot(orders, bits, "o-", color=BLUE, label="Kneser-Ney n-gram")
    for (name, cost), color in zip(compressors.items(), (ORANGE, GREEN), strict=False):
        ax.axhline(cost, color=color, ls="--", label=name)
    ax.set(xlabel="order of the n-gram [bytes]", ylabel="cost of a held-out byte [bits]")
    ax.set_xticks(list(orders))
    ax.set_ylim(bottom=0)
    ax.legend()
    return fig


def schedule_and_loss(
    steps: ArrayLike, lr: ArrayLike, loss: ArrayLike, baselines: Mapping[str, float]
) -> Figure:
    """Step size above, loss of each training batch below.

    Args:
        steps: Step numbers.
        lr: Step size of each.
        loss: Cost of its batch [bits/byte].
        baselines: Name and cost [bits/byte] of what to beat.
    """
    fig, (top, bottom) = plt.subplots(
        2, 1, sharex=True, figsize=(6.4, 4.4), height_ratios=(1, 2.4)
    )
    top.plot(steps, lr, color=GRAY)
    top.set_ylabel("step size")
    bottom.plot(steps, loss, color=BLUE, lw=1.2, label="GPT, training batches")
    for (name, cost), color in zip(baselines.items(), (ORANGE, GREEN, RED), strict=False):
        bottom.axhline(cost, color=color, ls="--", label=name)
    bottom.set(xlabel="step", ylabel="cost of a byte [bits]")
    bottom.legend(ncols=2)
    return fig


def long_run(
    tokens: ArrayLike, training: ArrayLike, held_out: ArrayLike, baselines: Mapping[str, float]
) -> Figure:
    """Cost of a byte along a long run, training and held out, against the baselines.

    Args:
        tokens: Tokens seen at each evaluation.
        training: Mean cost of the training batches since the evaluation before [bits/byte].
        held_out: Cost of the held-out text [bits/byte].
        baselines: Name and cost [bits/byte] of what to beat.
    """
    fig, ax = plt.subplots(figsize=(6.4, 3.8))
    ax.semilogx(tokens, training, ".-", color=BLUE, label="GPT, training batches")
    ax.semilogx(tokens, held_out, "o-", ms=4, color=RED, label="GPT, held-out plays")
    for (name, cost), color in zip(baselines.items(), (ORANGE, GREEN, GRAY), strict=False):
        ax.axhline(cost, color=color, ls="--", label=name)
    ax.set(xlabel="bytes seen in training", ylabel="cost of a byte [bits]")
    ax.legend()
    return fig


def bits_in_context(curves: Mapping[str, ArrayLike]) -> Figure:
    """Cost of a byte by how many bytes the model sees before it, averaged over octaves.

    Args:
        curves: Name and mean cost [bits/byte] of the bytes predicted from 1, 2, 3, ... others.
    """
    fig, ax = plt.subplots()
    for (name, bits), color in zip(curves.items(), (BLUE, RED, ORANGE), strict=False):
        costs = np.asarray(bits)
        starts = 2 ** np.arange(int(np.log2(len(costs))) + 1)
        octaves = np.split(costs, starts[1:] - 1)
        means = [octave.mean() for octave in octaves]
        ax.semilogx(starts, means, "o-", color=color, base=2, label=name)
    ax.set(xlabel="bytes of context, from ... to twice as many", ylabel="cost of a byte [bits]")
    ax.legend()
    return fig


def bits_in_word(letters: Sequence[int], curves: Mapping[str, ArrayLike]) -> Figure:
    """Cost of a letter by its place in the word.

    Args:
        letters: Place of the letter, 1 for the first.
        curves: Name and mean cost [bits/byte] of the letters at each place.
    """
    fig, ax = plt.subplots()
    width = 0.8 / len(curves)
    for i, (name, bits) in enumerate(curves.items()):
        x = np.asarray(letters) + (i - (len(curves) - 1) / 2) * width
        ax.bar(x, bits, width=width, color=(BLUE, ORANGE, GREEN)[i], label=name)
    ax.set(xlabel="place of the letter in its word", ylabel="mean cost [bits]")
    ax.set_xticks(list(letters))
    ax.legend()
    return fig


__all__ = [
    "bits_by_order",
    "bits_in_context",
    "bits_in_word",
    "long_run",
    "schedule_and_loss",
]
