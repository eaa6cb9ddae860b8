"""Figures on learning from comparisons: where losses end, what they move, how far they miss."""

from collections.abc import Mapping, Sequence

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure
from numpy.typing import ArrayLike

from mathlm.plot.style import BLUE, COLORS, GRAY, GREEN, MARKS, ORANGE, RED, WIDE

TWO = (6.4, 3.2)  # [inch]


def rewards_in_disguise(rewards: ArrayLike, implicit: ArrayLike) -> Figure:
    """Implicit rewards of a policy against the rewards for which it is best, prompt by prompt.

    Args:
        rewards: r (P, Y).
        implicit: β log π*/π_ref (P, Y).
    """
    fig, ax = plt.subplots(figsize=WIDE)
    for i, (r, hidden) in enumerate(
        zip(np.asarray(rewards), np.asarray(implicit), strict=True)
    ):
        ax.plot(r, hidden, ls="", marker=MARKS[i % 11], ms=3.5, alpha=0.6, color=COLORS[i % 7],
                label=f"prompt {i + 1}")  # fmt: skip
    ax.axline((0, 0), slope=1, color=GRAY, lw=1, ls="--")
    ax.set(xlabel="reward r", ylabel="β log π*/π_ref")
    ax.legend(fontsize=9)
    return fig


def course_to_optimum(
    steps: Sequence[int],
    divergence: Mapping[str, ArrayLike],
    value: Mapping[str, ArrayLike],
    best: float | int,
) -> Figure:
    """How far training is from the best policy, and what the policy is worth meanwhile.

    Args:
        steps: When it was measured.
        divergence: Name -> KL(π ‖ π*) [nats].
        value: Name -> regularized reward.
        best: The largest regularized reward there is.
    """
    fig, axes = plt.subplots(1, 2, figsize=TWO)
    for ax, curves in zip(axes, (divergence, value), strict=True):
        for i, (name, values) in enumerate(curves.items()):
            ax.plot(steps[: len(np.asarray(values))], values, color=COLORS[i], label=name,
                    ls=("-", "--", "-.", ":")[i % 4])  # fmt: skip
        ax.set(xlabel="step")
    axes[0].set_yscale("log")
    axes[0].set_ylabel("KL(π ‖ π*) [nats]")
    axes[1].axhline(best, color=GRAY, ls="--", lw=1.2)
    axes[1].set_ylabel("regularized reward")
    if len(divergence) > 1:
        axes[0].legend(fontsize=9)
    return fig


def divergence_by_comparisons(
    numbers: Sequence[int], predicted: ArrayLike, measured: ArrayLike, without: ArrayLike
) -> Figure:
    """How far policies from so many comparisons miss the optimum, and how often none exists.

    Args:
        numbers: N, comparisons.
        predicted: Divergence predicted for each [nats].
        measured: Divergences found (numbers, trials); NaN where the fit has no end.
        without: Share of the trials whose fit has no end.
    """
    fig, axes = plt.subplots(1, 2, figsize=TWO, width_ratios=(3, 2))
    found = np.asarray(measured)
    mean = np.nanmean(found, 1)
    low, high = np.nanquantile(found, (0.1, 0.9), axis=1)
    axes[0].fill_between(numbers, low, high, color=BLUE, alpha=0.15, lw=0)
    axes[0].plot(numbers, mean, color=BLUE, marker="o", ls="", label="measured, mean")
    axes[0].plot(numbers, predicted, color=ORANGE, ls="--", label="predicted")
    axes[0].set(xscale="log", yscale="log", xlabel="comparisons N")
    axes[0].set_ylabel("KL(π ‖ π*) [nats]")
    axes[0].legend(fontsize=9)
    axes[1].plot(numbers, without, color=RED, marker="s")
    axes[1].set(xscale="log", xlabel="comparisons N", ylim=(-0.03, 1.03))
    axes[1].set_ylabel("share of data sets\nwithout a minimum")
    return fig


def margin_by_time(
    times: ArrayLike,
    measured: Mapping[str, ArrayLike],
    predicted: Mapping[str, ArrayLike],
) -> Figure:
    """Margin of a pair that is always won, along descent.

    Args:
        times: Sum of the step sizes.
        measured: Name -> margin found at each.
        predicted: Name -> margin predicted.
    """
    fig, ax = plt.subplots(figsize=WIDE)
    for i, (name, values) in enumerate(measured.items()):
        ax.plot(times, values, color=COLORS[i], marker=MARKS[i], ms=5, ls="", label=name)
        ax.plot(times, predicted[name], color=COLORS[i], ls="--", lw=1.2)
    ax.set(xscale="log", xlabel="time (steps × step size)", ylabel="margin m")
    ax.legend(fontsize=9)
    return fig


def shares_of_mass(shares: Mapping[str, Sequence[float | int]], ylabel: str) -> Figure:
    """Probability of a set of completions, by prompt, under several policies.

    Args:
        shares: Policy -> share for each prompt.
        ylabel: What is shared.
    """
    fig, ax = plt.subplots(figsize=WIDE)
    width = 0.8 / len(shares)
    for i, (name, values) in enumerate(shares.items()):
        at = np.arange(len(values)) + (i - (len(shares) - 1) / 2) * width
        ax.bar(at, values, width * 0.92, color=COLORS[i], label=name)
    ax.set_xticks(range(len(values)), [f"prompt {i + 1}" for i in range(len(values))])
    ax.set(ylabel=ylabel, ylim=(0, 1))
    ax.legend(fontsize=8, ncols=2, loc="upper center", bbox_to_anchor=(0.5, 1.25))
    ax.grid(axis="x", visible=False)
    return fig


def value_by_price(
    prices: Sequence[float | int], curves: Mapping[str, ArrayLike], ylabel: str
) -> Figure:
    """A number of a policy by the coefficient β that it was made with.

    Args:
        prices: β.
        curves: Name -> number at each; names that begin with "predicted" are dashed lines.
        ylabel: What the number is.
    """
    fig, ax = plt.subplots(figsize=WIDE)
    for i, (name, values) in enumerate(curves.items()):
        line = "--" if name.startswith("predicted") else "-"
        mark = None if line == "--" else MARKS[i]
        ax.plot(prices, values, color=COLORS[i], ls=line, marker=mark, label=name)
    ax.set(xscale="log", xlabel="β", ylabel=ylabel)
    ax.set_xticks(list(prices), [f"{b:g}" for b in prices])
    ax.minorticks_off()
    ax.legend(fontsize=9)
    return fig


def shift_by_reward(
    rewards: ArrayLike,
    shift: ArrayLike,
    threshold: float | int,
    chosen: ArrayLike,
    rejected: ArrayLike,
) -> Figure:
    """Which completions the optimum makes likelier, and the rewards of what stands in pairs.

    Args:
        rewards: Of all completions of a prompt.
        shift: log π*/π_ref of each [nats].
        threshold: β log Z, the reward above which it is positive.
        chosen: Share of the chosen at each completion.
        rejected: Share of the rejected.
    """
    fig, axes = plt.subplots(2, 1, figsize=(6.4, 4.2), sharex=True, height_ratios=(3, 2))
    r = np.asarray(rewards)
    axes[0].plot(r, shift, ls="", marker="o", ms=3, color=BLUE)
    axes[0].axhline(0, color=GRAY, lw=1)
    axes[0].set_ylabel("log π*/π_ref\n[nats]")
    bins = np.linspace(r.min() - 1e-9, r.max() + 1e-9, 25)
    for name, weight, color in (("chosen", chosen, GREEN), ("rejected", rejected, RED)):
        axes[1].hist(r, bins, weights=np.asarray(weight), histtype="step", lw=1.8, color=color,
                     label=name)  # fmt: skip
    for ax in axes:
        ax.axvline(threshold, color=ORANGE, ls="--")
    axes[0].text(threshold, axes[0].get_ylim()[0], " β log Z", va="bottom", fontsize=9)
    axes[1].set(xlabel="reward r", ylabel="share")
    axes[1].legend(fontsize=9)
    return fig


def margins_by_preference(
    probabilities: ArrayLike, margins: Mapping[str, ArrayLike], limit: float | int = 4.0
) -> Figure:
    """Margin at which each loss of one pair is least, by how often its first completion wins.

    Args:
        probabilities: p.
        margins: Name -> margin at each p; infinite ones leave the picture.
        limit: Largest margin shown.
    """
    fig, ax = plt.subplots(figsize=(6.4, 3.8))
    for i, (name, values) in enumerate(margins.items()):
        shown = np.clip(np.asarray(values, dtype=float), -3 * limit, 3 * limit)
        ax.plot(probabilities, shown, color=COLORS[i % 7], label=name,
                ls=("-", "--", "-.", ":")[i % 4])  # fmt: skip
    ax.axhline(0, color=GRAY, lw=0.8)
    ax.set(xlabel="probability p that the first is preferred", ylabel="margin m")
    ax.set(ylim=(-limit, limit), xlim=(0, 1))
    ax.legend(fontsize=9)
    return fig


def family_ends(
    ends: Mapping[str, ArrayLike], stopped: Mapping[str, ArrayLike], xlabel: str
) -> Figure:
    """Where each method ends, and where held-out pairs would have stopped it; dots are seeds.

    Args:
        ends: Method -> number at the end, by seed.
        stopped: Method -> number where it was stopped, by seed.
        xlabel: What the number is.
    """
    fig, ax = plt.subplots(figsize=(6.4, 0.42 * len(ends) + 1.1))
    for y, name in enumerate(ends):
        for values, color, shift, mark in (
            (stopped[name], BLUE, -0.13, "o"),
            (ends[name], ORANGE, 0.13, "s"),
        ):
            v = np.asarray(values)
            ax.plot(
                v, np.full(len(v), y + shift), ls="", marker=mark, ms=4, alpha=0.5, color=color
            )
            ax.plot(v.mean(), y + shift, marker="|", ms=13, mew=2.5, color=color)
    ax.plot([], [], ls="", marker="o", color=BLUE, label="stopped by held-out pairs")
    ax.plot([], [], ls="", marker="s", color=ORANGE, label="at the end")
    ax.set_yticks(range(len(ends)), list(ends))
    ax.invert_yaxis()
    ax.axvline(0, color=GRAY, lw=0.8)
    ax.set(xlabel=xlabel)
    ax.legend(fontsize=9, ncols=2, loc="lower center", bbox_to_anchor=(0.4, 1.0))
    return fig


def reward_against_divergence(
    truth: tuple[ArrayLike, ArrayLike], ways: Mapping[str, tuple[ArrayLike, ArrayLike]]
) -> Figure:
    """What ways from comparisons to a policy reach, and what nothing can pass.

    Args:
        truth: Divergences from the reference and true rewards of the best policies.
        ways: Name -> divergences and true rewards.
    """
    fig, ax = plt.subplots(figsize=(6.4, 3.8))
    ax.plot(*truth, color=GRAY, lw=2.5, label="best possible")
    for i, (name, (kl, reward)) in enumerate(ways.items()):
        ax.plot(kl, reward, color=COLORS[i], marker=MARKS[i], ms=5, label=name)
    ax.set(xlabel="KL(π ‖ π_ref) [nats]", ylabel="true reward")
    ax.legend(fontsize=9)
    return fig


def pair_course(rows: Sequence[Mapping[str, float | int]]) -> Figure:
    """Log-probabilities of chosen and rejected completions, and their margin, along training.

    Args:
        rows: With ``step``, ``chosen`` and ``rejected``, changes since the start [nats].
    """
    fig, ax = plt.subplots(figsize=WIDE)
    step = [row["step"] for row in rows]
    chosen, rejected = (np.array([row[k] for row in rows]) for k in ("chosen", "rejected"))
    ax.plot(step, chosen - rejected, color=BLUE, ls="--", label="difference")
    ax.plot(step, chosen, color=GREEN, label="chosen")
    ax.plot(step, rejected, color=RED, label="rejected")
    ax.axhline(0, color=GRAY, lw=0.8)
    ax.set(xlabel="step", ylabel="change of log π [nats]")
    ax.legend(fontsize=9)
    return fig
