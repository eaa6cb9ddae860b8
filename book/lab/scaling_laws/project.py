"""Grader of the project of this page, a law of one's own, and runs to use it on."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy import ndarray

from lab.grading import Case, FaultError, Report, grade_by
from mathlm.errors import InputError
from mathlm.scaling import kaplan_loss

from .scaling import SETTINGS
from .scaling_runs import STEP, held_out_loss, read_off, sizes, start, windows

Predict = Callable[[ndarray, ndarray], ndarray]
Fit = Callable[[ndarray, ndarray, ndarray], Predict]
Plan = Callable[[Predict, float, ndarray, ndarray], tuple[int, float, float]]
Interval = Callable[[Fit, ndarray, ndarray, ndarray, ndarray, float, float], tuple]
NOISE = 0.004


def grade(fit: Fit, plan: Plan, interval: Interval) -> Report:
    """Test a law, a plan and an interval on planted runs.

    Args:
        fit: ``fit(n, d, loss)`` returns a function ``predict(n, d)``.
        plan: ``plan(predict, compute, sizes, cost)`` returns the index of the best size, its
            tokens and its loss; ``cost`` is the compute of a token of each size [FLOP].
        interval: ``interval(fit, n, d, loss, groups, n_new, d_new)`` returns the low and the
            high end of 95 % for a new run, by leaving out one group after the other.

    Returns:
        A report: print it, or read ``passed`` and ``faults``.
    """
    return grade_by(TESTS, fit, plan, interval)


def own_runs(
    text: str | Path,
    widths: Sequence[int] = (8, 16, 24),
    steps: Sequence[int] = (64, 91, 128, 181, 256),
    seeds: Sequence[int] = (0, 1),
) -> list[dict[str, Any]]:
    """Train the family of this page on a text of one's own, and read the runs off.

    Args:
        text: A text file of 300,000 bytes or more; its last tenth is held out.
        widths: Of the models, multiples of 8.
        steps: Numbers of steps, of 1,024 bytes each, at which a run is read off.
        seeds: Of weights and batches.

    Returns:
        Rows with ``width``, ``seed``, ``multiplying`` (parameters of blocks and head),
        ``tokens``, ``flop`` and ``loss`` [nats/byte].

    Raises:
        InputError: If the text is shorter than the longest run and what is held out.
    """
    ids = np.frombuffer(Path(text).read_bytes(), np.uint8)
    cut = int(0.9 * len(ids))
    if cut < max(steps) * STEP:
        raise InputError(
            f"{text} has {len(ids):,} bytes: nine tenths of them must be at least "
            f"{max(steps) * STEP:,}, what the longest run reads; give a longer text or fewer "
            "steps"
        )
    measure, rows = held_out_loss(min(len(ids) - cut - 1, 65_536), ids[cut:]), []
    for width in widths:
        size = sizes(width)
        lr = SETTINGS["recorded"].lr(size["parameters"])
        for seed in seeds:
            data = windows(ids[:cut], seed)
            for row in read_off(start(width, seed), data, measure, steps, lr):
                cost = {"flop": size["flop_token"] * row["tokens"]}
                rows.append({"width": width, "seed": seed} | size | row | cost)
    return rows


def _planted(noise: float = 0.0, seed: int = 0) -> tuple[ndarray, ndarray, ndarray]:
    """Parameters, tokens and losses of five sizes on seven lengths of Kaplan's law."""
    sides = np.meshgrid(np.geomspace(1e4, 1e6, 5), np.geomspace(1e6, 1e8, 7), indexing="ij")
    n, d = (side.ravel() for side in sides)
    bumps = np.random.default_rng(seed).standard_normal(len(n))
    return n, d, kaplan_loss(n, d) * np.exp(noise * bumps)


def _numbers(name: str, value: Any, shape: tuple[int, ...]) -> ndarray:
    found = np.asarray(value, float)
    if found.shape != shape:
        raise FaultError(f"{name} has shape {found.shape}; it must have {shape}.")
    if not np.isfinite(found).all():
        raise FaultError(f"{name} is not finite everywhere.")
    return found


def _inside(fit: Fit, *_: Any) -> str | None:
    n, d, loss = _planted()
    found = _numbers("predict(n, d)", fit(n, d, loss)(n, d), n.shape)
    worst = float(np.abs(np.log(found / loss)).max())
    if worst > 0.01:
        return f"on runs without noise the law misses its own readings by up to {worst:.1%}."
    return None


def _beyond(fit: Fit, *_: Any) -> str | None:
    n, d, loss = _planted()
    predict, far = fit(n, d, loss), (np.array([1e4, 1e7]), np.array([1e10, 1e9]))
    found = _numbers("predict(n, d)", predict(*far), (2,))
    miss = np.log(found / kaplan_loss(*far))
    if np.abs(miss).max() > 0.03:
        return (
            f"beyond the runs the loss is missed by {miss[0]:+.1%} (smallest size, a hundred "
            f"times the text) and {miss[1]:+.1%} (ten times the size and the text): "
            "is the form that of the planted law (no floor)? Did the search end too early?"
        )
    return None


def _noisy(fit: Fit, *_: Any) -> str | None:
    n, d, loss = _planted(NOISE)
    loss[6] *= 2  # one broken run: the smallest size, read longest
    found = _numbers("predict(n, d)", fit(n, d, loss)(n, d), n.shape)
    good = np.abs(np.log(found / kaplan_loss(n, d)))
    if np.median(good) > 0.01:
        return (
            f"one broken run of 35 (twice the loss) moves the law by {np.median(good):.1%}: "
            "count large residuals by their absolute value (Huber)."
        )
    return None


def _plan(_: Fit, plan: Plan, *__: Any) -> str | None:
    sizes_, cost = np.geomspace(1e4, 1e7, 31), 7 * np.geomspace(1e4, 1e7, 31)
    place, tokens, loss = plan(kaplan_loss, 1e14, sizes_, cost)
    every = kaplan_loss(sizes_, 1e14 / cost)
    best = int(every.argmin())
    if place == int(kaplan_loss(sizes_, 1e14 / (6 * sizes_)).argmin()) != best or np.isclose(
        tokens, 1e14 / (6 * sizes_[best])
    ):
        return "the tokens are C / (6 N): a token costs cost[i], which is not 6 N here."
    if place != best:
        return f"the best size is number {best}, where the loss is least; you say {place}."
    if not np.isclose(tokens, 1e14 / cost[best]):
        return f"the budget buys {1e14 / cost[best]:.3g} tokens; you say {tokens:.3g}."
    if not np.isclose(loss, every[best]):
        return f"the loss there is {every[best]:.4f}; you say {loss:.4f}."
    return None


def _constant(loss_of: dict[int, float]) -> Fit:
    """A fit whose prediction depends on the number of runs alone."""

    def fit(n: ndarray, d: ndarray, loss: ndarray) -> Predict:
        return lambda a, b: np.full(np.shape(a), loss_of[len(n)])

    return fit


def _interval(_: Fit, __: Plan, interval: Interval) -> str | None:
    ones, groups = np.ones(6), np.array([1, 2, 2, 3, 3, 3])
    fit = _constant({6: 2.0, 5: 2.0 * np.exp(0.1), 4: 2.0, 3: 2.0 * np.exp(-0.1)})
    low, high = interval(fit, ones, ones, 2 * ones, groups, 5.0, 5.0)
    if not low < 2.0 < high:
        return f"{low:.3f} to {high:.3f} does not hold the prediction of all runs, 2."
    reach = np.log([high / 2, 2 / low])
    error = np.sqrt(2 * 0.02 / 3)
    if abs(reach[0] / reach[1] - 1) > 0.01:
        return "the interval is not symmetric in log L: work with logarithms."
    said = {
        error / 2**0.5: "the factor G - 1 is missing: fits without a group are much alike.",
        error: None,
        error * 1.5**0.5: "the variance of G fits is their mean square about the mean, over G.",
    }
    for right, fault in said.items():
        for t in (1.96, 4.303):
            if np.isclose(reach[0], t * right, rtol=0.01):
                usual = "take Student's 4.30 for three groups, not 1.96." if t < 2 else None
                return fault or usual
    return f"log L ± {reach[0]:.3f}; the jackknife gives ± {4.303 * error:.3f}."


def _together(fit: Fit, _: Plan, interval: Interval) -> str | None:
    n, d, loss = _planted(NOISE, seed=3)
    narrow = np.ptp(interval(fit, n, d, loss, n, 1e6, 1e9))
    n, d, loss = (np.tile(row, 2) for row in (n, d, loss))
    again = np.ptp(interval(fit, n, d, loss, n, 1e6, 1e9))
    if again < 0.9 * narrow:
        return (
            "each run given twice makes the interval shorter: leave out groups, not readings."
        )
    return None


TESTS = (
    Case("fit: its own readings", _inside),
    Case("fit: beyond its readings", _beyond, ("fit: its own readings",)),
    Case("fit: one broken run", _noisy, ("fit: its own readings",)),
    Case("plan: the best of the sizes", _plan),
    Case("interval: a jackknife by hand", _interval),
    Case(
        "interval: groups stay together",
        _together,
        ("fit: its own readings", "interval: a jackknife by hand"),
    ),
)
