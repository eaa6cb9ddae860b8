"""Best sizes without a law of the loss: the envelope of curves, and parabolas along budgets."""

from typing import NamedTuple

import numpy as np

from ..errors import InputError
from ..shapes import Float
from .power_law import Numbers, positive


class Points(NamedTuple):
    """Losses of models of several sizes at the same budgets, one entry for each pair.

    Attributes:
        compute: Budget [FLOP].
        n: Parameters.
        loss: Loss there [nats].
    """

    compute: Float[np.ndarray, " P"]
    n: Float[np.ndarray, " P"]
    loss: Float[np.ndarray, " P"]


class Envelope(NamedTuple):
    """The best of the measured sizes at each budget.

    Attributes:
        compute: Budget C [FLOP].
        n: Its parameters N.
        d: Its tokens, C / (6 N).
        loss: Its loss [nats].
        inside: Whether a smaller and a larger size were measured at that budget too. Where not,
            the best size may lie outside the sizes.
    """

    compute: Float[np.ndarray, " C"]
    n: Float[np.ndarray, " C"]
    d: Float[np.ndarray, " C"]
    loss: Float[np.ndarray, " C"]
    inside: np.ndarray


class Parabolas(NamedTuple):
    """The lowest points of parabolas, ``loss + bend · (log N − log n)²`` at each budget.

    Attributes:
        compute: Budget C [FLOP].
        n: Parameters at the lowest point.
        d: Tokens there, C / (6 n).
        loss: Loss there [nats].
        bend: How fast the loss rises on both sides [nats].
    """

    compute: Float[np.ndarray, " C"]
    n: Float[np.ndarray, " C"]
    d: Float[np.ndarray, " C"]
    loss: Float[np.ndarray, " C"]
    bend: Float[np.ndarray, " C"]


def isoflop_points(compute: Numbers, n: Numbers, loss: Numbers, budgets: Numbers) -> Points:
    """Read training curves off at common budgets.

    The points of one size are its curve. Between two of them the logarithm of the loss is a
    straight line in the logarithm of compute; nothing is read beyond the ends.

    Args:
        compute: Spent up to each point of each curve [FLOP].
        n: Parameters of the model at each point.
        loss: Measured there [nats].
        budgets: Where the curves are read [FLOP].

    Returns:
        A point for each budget and each size whose curve reaches it.

    Raises:
        InputError: If a number is not positive, the lengths differ, a curve has two losses at
            one budget, or no curve reaches one of the budgets.

    Example:
        >>> read = isoflop_points([1.0, 100.0], [5.0, 5.0], loss=[4.0, 1.0], budgets=[10.0])
        >>> read.loss.round(6)  # half of the way in both logarithms
        array([2.])
    """
    rows = points(compute, n, loss)
    wanted = positive("budgets", budgets)
    found = [curve_at(rows, size, wanted) for size in np.unique(rows.n)]
    merged = Points(*(np.concatenate(column) for column in zip(*found, strict=True)))
    missed = np.setdiff1d(wanted, merged.compute)
    if len(missed):
        raise InputError(
            f"no curve reaches the budget {missed[0]:.3g} FLOP: the curves go from "
            f"{rows.compute.min():.3g} to {rows.compute.max():.3g}"
        )
    order = np.lexsort((merged.n, merged.compute))
    return Points(*(column[order] for column in merged))


def envelope(compute: Numbers, n: Numbers, loss: Numbers) -> Envelope:
    """Take the best size at each budget: the first approach of Hoffmann et al.

    Args:
        compute: Budget of each point, the same number for points of one budget [FLOP]; see
            :func:`isoflop_points`.
        n: Parameters of the model at each point.
        loss: Measured there [nats].

    Returns:
        The best sizes, by increasing budget. ``fit_power_law(e.compute[e.inside],
        e.n[e.inside])`` gives the exponent of compute.

    Raises:
        InputError: If a number is not positive or the lengths differ.

    Example:
        >>> n = np.tile([1e7, 1e8, 1e9], 2)
        >>> best = envelope(np.repeat([1e18, 1e19], 3), n, [3.0, 2.5, 2.9, 3.0, 2.4, 2.3])
        >>> best.n
        array([1.e+08, 1.e+09])

    References:
        Hoffmann et al. (2022). Training compute-optimal large language models, section 3.1.
    """
    rows = points(compute, n, loss)
    budgets = np.unique(rows.compute)
    best, inside = [], []
    for budget in budgets:
        here = np.flatnonzero(rows.compute == budget)
        winner = here[np.argmin(rows.loss[here])]
        best.append(winner)
        inside.append(rows.n[here].min() < rows.n[winner] < rows.n[here].max())
    size = rows.n[best]
    return Envelope(
        budgets, size, budgets / (6 * size), rows.loss[best], np.array(inside, dtype=bool)
    )


def isoflop_optimum(compute: Numbers, n: Numbers, loss: Numbers) -> Parabolas:
    """Fit a parabola in log N at each budget: the second approach of Hoffmann et al.

    Computes::

        loss ≈ l + b (log N − log n)²   at each budget, by least squares;   d = C / (6 n)

    Args:
        compute: Budget of each point, the same number for points of one budget [FLOP].
        n: Parameters of the model at each point.
        loss: Measured there [nats].

    Returns:
        The lowest points, by increasing budget. ``fit_power_law(p.compute, p.n)`` gives the
        exponent of compute.

    Raises:
        InputError: If a number is not positive, the lengths differ, a budget has fewer than
            three sizes, its parabola opens downwards, or its lowest point is outside the sizes.

    Example:
        >>> compute, n = np.repeat([1e18, 1e19], 3), np.tile([1e7, 1e8, 1e9], 2)
        >>> best = isoflop_optimum(compute, n, [3.0, 2.5, 3.0, 2.5, 2.0, 2.5])
        >>> best.n.round(-3)  # parabolas in log n around 1e8
        array([1.e+08, 1.e+08])

    References:
        Hoffmann et al. (2022). Training compute-optimal large language models, section 3.2.
    """
    rows = points(compute, n, loss)
    budgets = np.unique(rows.compute)
    found = [vertex(rows, budget) for budget in budgets]
    log_n, lowest, bend = np.array(found).T
    size = np.exp(log_n)
    return Parabolas(budgets, size, budgets / (6 * size), lowest, bend)


def points(compute: Numbers, n: Numbers, loss: Numbers) -> Points:
    """Three rows of positive numbers of the same length."""
    rows = Points(positive("compute", compute), positive("n", n), positive("loss", loss))
    if len({len(row) for row in rows}) > 1 or not len(rows.n):
        raise InputError(
            f"compute, n and loss have {len(rows.compute)}, {len(rows.n)} and "
            f"{len(rows.loss)} numbers; expected one of each for every point"
        )
    return rows


def curve_at(rows: Points, size: float, budgets: Float[np.ndarray, " B"]) -> Points:
    """The curve of one size at the budgets that it reaches."""
    mine = rows.n == size
    order = np.argsort(rows.compute[mine])
    spent, loss = rows.compute[mine][order], rows.loss[mine][order]
    if (np.diff(spent) == 0).any():
        raise InputError(
            f"the curve of n={size:.6g} has two losses at the same compute; take their "
            "mean, or one run of each size"
        )
    kept = np.unique(budgets[(spent[0] <= budgets) & (budgets <= spent[-1])])
    read = np.exp(np.interp(np.log(kept), np.log(spent), np.log(loss)))
    return Points(kept, np.full(len(kept), size), read)


def vertex(rows: Points, budget: float) -> tuple[float, float, float]:
    """``log n``, loss and bend of the parabola at one budget."""
    here = rows.compute == budget
    log_n, loss = np.log(rows.n[here]), rows.loss[here]
    if len(np.unique(log_n)) < 3:
        raise InputError(
            f"{len(np.unique(log_n))} sizes at {budget:.3g} FLOP do not determine a parabola: "
            "expected at least 3"
        )
    middle = log_n.mean()
    bend, slope, level = np.polyfit(log_n - middle, loss, 2)
    if bend <= 0:
        raise InputError(
            f"the parabola at {budget:.3g} FLOP opens downwards (bend {bend:.2g}): it has no "
            "lowest point; widen the range of sizes, or lower the noise"
        )
    place = middle - slope / (2 * bend)
    if not log_n.min() <= place <= log_n.max():
        raise InputError(
            f"the lowest point at {budget:.3g} FLOP would be n={np.exp(place):.3g}, outside "
            f"the sizes from {np.exp(log_n.min()):.3g} to {np.exp(log_n.max()):.3g}: add sizes "
            "there, or leave this budget out"
        )
    return float(place), float(level - slope**2 / (4 * bend)), float(bend)
