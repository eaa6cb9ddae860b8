"""Figures on policies trained for a reward: noise, clipping, credit, and where runs end."""

from collections.abc import Mapping, Sequence

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure
from numpy.typing import ArrayLike

from mathlm.plot.style import BLUE, COLORS, GRAY, GREEN, MARKS, ORANGE, RED, WIDE


def reward_frontier(
    kl: ArrayLike,
    reward: ArrayLike,
    points: Mapping[str, tuple[float | int, float | int]],
    slope: tuple[float | int, float | int, float | int] | None = None,
) -> Figure:
    """The most reward at each divergence, and policies below that curve.

    Args:
        kl: Divergence of the optima from the reference [nats].
        reward: Their mean reward.
        points: Name -> divergence and reward of a policy.
        slope: Divergence and reward of an optimum, and its β: the tangent there.
    """
    fig, ax = plt.subplots(figsize=WIDE)
    x, y = np.asarray(kl), np.asarray(reward)
    ax.plot(x, y, color=BLUE, label="best possible")
    if slope is not None:
        at, best, beta = slope
        ends = np.array([max(x.min(), at - 1.2), min(x.max(), at + 1.2)])
        ax.plot(ends, best + beta * (ends - at), color=GRAY, ls="--", label=f"slope {beta:g}")
    for i, (name, (a, b)) in enumerate(points.items()):
        ax.plot(a, b, MARKS[i % 7], ms=8, color=COLORS[1 + i % 6], label=name)
    ax.set(xlabel="KL(policy ‖ reference) [nats]", ylabel="mean reward")
    ax.legend(fontsize=9)
    return fig


def gradient_noise(
    rows: Mapping[str, tuple[float | int, float | int]], names: tuple[str, str]
) -> Figure:
    """Variance of estimated gradients, a pair of dots for each estimator.

    Args:
        rows: Estimator -> its variance in two places.
        names: Of the two places.
    """
    fig, ax = plt.subplots(figsize=(6.4, 0.6 + 0.42 * len(rows)))
    place = np.arange(len(rows))[::-1]
    values = np.array(list(rows.values()))
    for i, (name, color) in enumerate(zip(names, (BLUE, ORANGE), strict=True)):
        ax.plot(values[:, i], place, MARKS[i], ms=7, color=color, label=name)
    ax.set_yticks(place, list(rows))
    ax.set_xscale("symlog", linthresh=1e-3)
    ax.set(xlabel="variance of the gradient of one sample", ylim=(-0.6, len(rows) - 0.4))
    ax.set_xlim(-3e-4, 2 * values.max())
    ax.legend(fontsize=9)
    return fig


def kl_estimates(
    truth: ArrayLike, estimates: Mapping[str, tuple[ArrayLike, ArrayLike]]
) -> Figure:
    """Mean and spread of estimates of a divergence, by its size.

    Args:
        truth: The divergence [nats].
        estimates: Name -> mean and standard deviation of one sample's estimate [nats].
    """
    fig, axes = plt.subplots(1, 2, figsize=WIDE)
    x = np.asarray(truth)
    axes[0].plot(x, x, color=GRAY, ls="--", label="the truth")
    for i, (name, (mean, std)) in enumerate(estimates.items()):
        axes[0].plot(x, mean, color=COLORS[i], marker=MARKS[i], ms=4, label=name)
        axes[1].plot(x, std, color=COLORS[i], marker=MARKS[i], ms=4)
    axes[0].set(xlabel="KL [nats]", ylabel="mean of the estimate [nats]")
    axes[1].set(xlabel="KL [nats]", ylabel="spread of one sample [nats]", xscale="log")
    axes[1].set_yscale("log")
    axes[0].legend(fontsize=9)
    return fig


def clipped_gains(clip: float | int = 0.2) -> Figure:
    """What a ratio earns under clipping, for an advantage of each sign.

    Args:
        clip: ε.
    """
    fig, axes = plt.subplots(1, 2, figsize=WIDE, sharex=True)
    rho = np.linspace(0, 2, 401)
    for ax, A, sign in zip(axes, (1, -1), ("better", "worse"), strict=True):
        gain = np.minimum(rho * A, np.clip(rho, 1 - clip, 1 + clip) * A)
        ax.plot(rho, rho * A, color=GRAY, ls="--", label="without clipping")
        ax.plot(rho, gain, color=BLUE, label="with")
        ax.plot(1, A, "o", color=RED, ms=6)
        ax.axvline(1 + A * clip, color=ORANGE, lw=1)
        ax.set(xlabel="ratio ρ", title=f"A = {A:+d}: {sign} than expected".replace("-", "−"))
    axes[0].set_ylabel("gain of the sample")
    axes[0].legend(fontsize=9)
    return fig


def credit_errors(lam: ArrayLike, errors: Mapping[str, tuple[ArrayLike, ArrayLike]]) -> Figure:
    """Bias and noise of a gradient by λ, a panel for each value function.

    Args:
        lam: Values of λ.
        errors: Value function -> squared bias, and variance of a batch's mean.
    """
    fig, axes = plt.subplots(1, len(errors), figsize=WIDE, sharey=True, squeeze=False)
    for ax, (name, (bias, noise)) in zip(axes[0], errors.items(), strict=True):
        b, n = np.asarray(bias), np.asarray(noise)
        ax.plot(lam, b, color=RED, ls="--", label="bias²")
        ax.plot(lam, n, color=BLUE, ls=":", label="variance")
        ax.plot(lam, b + n, color="black", label="sum")
        ax.plot(np.asarray(lam)[(b + n).argmin()], (b + n).min(), "o", color="black", ms=6)
        ax.set(xlabel="λ", title=name)
    axes[0, 0].set_ylabel("squared error of the gradient")
    axes[0, 0].legend(fontsize=9)
    return fig


def ends_of_runs(
    rows: Mapping[str, ArrayLike],
    level: float | int | None = None,
    calculated: Mapping[str, float | int] | None = None,
    label: str = "KL(policy ‖ optimum) [nats]",
) -> Figure:
    """Where runs end, a row for each way to train, a dot for each seed.

    Args:
        rows: Way -> a number for each seed, above 0.
        level: Value that a good end stays below.
        calculated: Way -> value that was calculated before.
        label: Of the axis.
    """
    fig, ax = plt.subplots(figsize=(6.4, 0.9 + 0.31 * len(rows)))
    place = dict(zip(rows, range(len(rows))[::-1], strict=True))
    for name, values in rows.items():
        v = np.atleast_1d(values)
        ax.plot(v, np.full(len(v), place[name]), "o", ms=5, color=BLUE, alpha=0.7)
    for name, value in (calculated or {}).items():
        ax.plot(value, place[name], "|", ms=14, mew=2.5, color=RED)
    if level is not None:
        ax.axvline(level, color=GREEN, ls="--", lw=1.2)
    if calculated:
        ax.plot([], [], "|", ms=10, mew=2.5, color=RED, label="calculated before")
        ax.legend(fontsize=9)
    ax.set_xscale("log")
    ax.set_yticks(list(place.values()), list(place))
    ax.set(xlabel=label, ylim=(-0.7, len(rows) - 0.3))
    return fig


def ways_to_optimum(
    paths: Mapping[str, tuple[ArrayLike, ArrayLike]],
    levels: Mapping[str, float | int] | None = None,
) -> Figure:
    """Distance to the optimum while policies are trained.

    Args:
        paths: Name -> iterations and KL(policy ‖ optimum) [nats].
        levels: Name -> distance that was calculated before.
    """
    fig, ax = plt.subplots(figsize=WIDE)
    for i, (name, (steps, kl)) in enumerate(paths.items()):
        ax.semilogy(steps, kl, color=COLORS[i % 7], marker=MARKS[i % 7], ms=3, label=name)
    for i, (name, value) in enumerate((levels or {}).items()):
        ax.axhline(value, color=GRAY, ls=("--", ":", "-.")[i % 3], lw=1.2, label=name)
    ax.set(xlabel="iteration", ylabel="KL(policy ‖ optimum) [nats]")
    ax.legend(fontsize=9)
    return fig


def ends_by_rate(
    panels: Mapping[str, Mapping[str, Sequence[tuple[float, Sequence[float]]]]],
    level: float | int = 0.02,
) -> Figure:
    """Where runs end by step size, a panel for each method and a line for each schedule.

    Args:
        panels: Method -> schedule -> step size and the ends of its seeds [nats].
        level: Distance that a good end stays below.
    """
    fig, axes = plt.subplots(1, len(panels), figsize=(9.5, 3.2), sharey=True, squeeze=False)
    for ax, (method, lines) in zip(axes[0], panels.items(), strict=True):
        for i, (schedule, points) in enumerate(lines.items()):
            x, ends = [rate for rate, _ in points], [np.asarray(e) for _, e in points]
            style = {"color": COLORS[i], "marker": MARKS[i]}
            ax.loglog(x, [e.mean() for e in ends], ms=5, label=schedule, **style)
            for rate, e in zip(x, ends, strict=True):
                ax.plot(np.full(len(e), rate), e, ls="", ms=3, alpha=0.45, **style)
        ax.axhline(level, color=GREEN, ls="--", lw=1.2)
        rates = sorted({rate for points in lines.values() for rate, _ in points})
        ax.set_xticks(rates, [f"{1e3 * rate:g}" for rate in rates])
        ax.set_xticks([], minor=True)
        ax.set_title(method, fontsize=9)
        ax.set_xlabel("largest learning rate / 0.001", fontsize=8)
    axes[0, 0].set_ylabel("KL(policy ‖ optimum) [nats]")
    axes[0, 0].legend(fontsize=8)
    return fig
