"""Fits of laws that are sums of powers, on logarithms, and confidence intervals."""

import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from scipy.special import ndtr, stdtrit

from ..errors import InputError
from ..shapes import Float

STEPS = 400
FIRST_STEPS, MORE_STEPS = 40, 60  # of all starts, then of the best of them
KEPT = 6  # how many these are
LARGEST_STEP = 4.0


def constant(name: str, log: float | int) -> float:
    """A constant of a law, by its logarithm.

    Raises:
        InputError: If no float is as large.
    """
    try:
        return math.exp(log)
    except OverflowError:
        raise InputError(
            f"{name} = e^{log:.4g} is larger than any float: the runs vary too little for the "
            "exponent that they seem to have, or their numbers are in units that are too small"
        ) from None


@contextmanager
def within_floats(name: str) -> Iterator[None]:
    """In the block, a number that no float holds is an error in a sentence.

    Raises:
        InputError: If a power or an exponential is too large.
    """
    try:
        yield
    except OverflowError:
        raise InputError(
            f"{name} is larger than any float: the exponents of the law are too small for "
            "these numbers"
        ) from None


@dataclass(frozen=True)
class LogSum:
    """A law ``log y = log Σ_k exp(design_k · theta)`` and the Huber loss of its residuals.

    Attributes:
        design: One matrix for each term of the sum.
        target: Logarithms observed, one row for each data set that is fitted at once.
        delta: Residual at which the loss turns from squares to absolute values [nats]; infinite
            for least squares.
        scale: Factor on the objective. It cannot change the answer: every decision of
            the solver is relative.
        counts: How often each data set holds each point; None = once.
    """

    design: Float[np.ndarray, "K N P"]
    target: Float[np.ndarray, "S N"]
    delta: float | int
    scale: float | int = 1.0
    counts: Float[np.ndarray, "S N"] | None = None

    def curve(
        self, theta: Float[np.ndarray, "S P"]
    ) -> tuple[Float[np.ndarray, "S N"], Float[np.ndarray, "S K N"]]:
        """Logarithm of the law, and the share of each term in the sum."""
        z = np.einsum("knp,sp->skn", self.design, theta, optimize=True)
        top = z.max(1, keepdims=True)
        terms = np.exp(z - top)
        total = terms.sum(1, keepdims=True)
        return (top + np.log(total))[:, 0], terms / total

    def jacobian(
        self, theta: Float[np.ndarray, "S P"], shares: Float[np.ndarray, "S K N"]
    ) -> Float[np.ndarray, "S N P"]:
        """Derivative of the logarithm of the law in each unknown."""
        return np.einsum("knp,skn->snp", self.design, shares, optimize=True)

    def bend(
        self,
        theta: Float[np.ndarray, "S P"],
        shares: Float[np.ndarray, "S K N"],
        weight: Float[np.ndarray, "S N"],
    ) -> Float[np.ndarray, "S P P"]:
        """Second derivatives of the logarithm, weighted and summed over the points."""
        unknowns = self.design.shape[-1]
        squares = np.einsum("knp,knq->knpq", self.design, self.design).reshape(-1, unknowns**2)
        mean = ((shares * weight[:, None]).reshape(len(weight), -1) @ squares).reshape(
            -1, unknowns, unknowns
        )
        jac = LogSum.jacobian(self, theta, shares)
        return mean - jac.swapaxes(1, 2) @ (jac * weight[..., None])

    def value(self, theta: Float[np.ndarray, "S P"]) -> Float[np.ndarray, " S"]:
        """Huber loss, summed over the points and multiplied by the scale."""
        r = self.curve(theta)[0] - self.target
        psi = np.clip(r, -self.delta, self.delta)
        return self.scale * (self.times * psi * (r - psi / 2)).sum(1)

    @property
    def times(self) -> Float[np.ndarray, "S N"]:
        """How often each data set holds each point."""
        return np.ones_like(self.target) if self.counts is None else self.counts

    def rows(self, kept: np.ndarray) -> "LogSum":
        """The same law for some of the data sets."""
        counts = None if self.counts is None else self.counts[kept]
        return replace(self, target=self.target[kept], counts=counts)


@dataclass(frozen=True)
class RaisedLogSum(LogSum):
    """A law ``log y = p · log Σ_k exp(z_k)``, whose last unknown is the power p.

    In ``z_k = design_k · (theta without p, 1)`` the last column of the design is therefore
    known: it stands in the place of p and is multiplied by 1.
    """

    def curve(
        self, theta: Float[np.ndarray, "S P"]
    ) -> tuple[Float[np.ndarray, "S N"], Float[np.ndarray, "S K N"]]:
        """Logarithm of the law, and the share of each term in the sum."""
        log_sum, shares = super().curve(with_one(theta))
        return theta[:, -1:] * log_sum, shares

    def jacobian(
        self, theta: Float[np.ndarray, "S P"], shares: Float[np.ndarray, "S K N"]
    ) -> Float[np.ndarray, "S N P"]:
        """Derivative of the logarithm of the law in each unknown."""
        jac = theta[:, -1, None, None] * super().jacobian(theta, shares)
        jac[..., -1] = super().curve(with_one(theta))[0]
        return jac

    def bend(
        self,
        theta: Float[np.ndarray, "S P"],
        shares: Float[np.ndarray, "S K N"],
        weight: Float[np.ndarray, "S N"],
    ) -> Float[np.ndarray, "S P P"]:
        """Second derivatives of the logarithm, weighted and summed over the points."""
        bent = theta[:, -1, None, None] * super().bend(theta, shares, weight)
        mixed = np.einsum("sn,snp->sp", weight, super().jacobian(theta, shares))
        mixed[:, -1] = 0  # the law is linear in p
        bent[:, -1], bent[:, :, -1] = mixed, mixed
        return bent


def with_one(theta: Float[np.ndarray, "S P"]) -> Float[np.ndarray, "S P"]:
    """The unknowns with 1 in place of the last."""
    return np.column_stack([theta[:, :-1], np.ones(len(theta))])


class Slopes(NamedTuple):
    """Derivatives of the objective, and what they are measured by."""

    gradient: Float[np.ndarray, "S P"]
    hessian: Float[np.ndarray, "S P P"]
    metric: Float[np.ndarray, "S P P"]
    unevenness: Float[np.ndarray, " S"]


def slopes(law: LogSum, theta: Float[np.ndarray, "S P"]) -> Slopes:
    """Gradient, Hessian, a positive definite metric, and the gradient without units."""
    log_y, shares = law.curve(theta)
    r = log_y - law.target
    psi = np.clip(r, -law.delta, law.delta)
    jac = law.jacobian(theta, shares)
    inside = law.times * (np.abs(r) <= law.delta)
    weight = law.times * np.divide(psi, r, out=np.ones_like(r), where=r != 0)
    psi = law.times * psi
    gradient = (psi[:, None] @ jac)[:, 0]
    size = ((np.abs(psi) + 1e-7)[:, None] @ np.abs(jac))[:, 0]
    hessian = jac.swapaxes(1, 2) @ (jac * inside[..., None]) + law.bend(theta, shares, psi)
    metric = jac.swapaxes(1, 2) @ (jac * weight[..., None])
    ridge = 1e-9 * np.trace(metric, axis1=1, axis2=2)[:, None, None] + 1e-30
    metric = metric + ridge * np.eye(jac.shape[-1])
    unevenness = np.abs(gradient / np.maximum(size, 1e-300)).max(1)
    return Slopes(law.scale * gradient, law.scale * hessian, law.scale * metric, unevenness)


def minimise(
    law: LogSum, start: Float[np.ndarray, "S P"], steps: int = STEPS
) -> Float[np.ndarray, "S P"]:
    """Newton's method with damping, for many data sets or starts at once.

    The damping is relative to the metric ``JᵀWJ`` of the reweighted least squares, so a factor
    on the objective cancels from every step. A row ends when its gradient is zero to
    rounding, or when no step lowers its loss any more.

    Args:
        law: What is fitted.
        start: First guesses, one row for each target.
        steps: How many at most.

    Returns:
        The last points. Whether they are minima is for :func:`require_minimum` to say.
    """
    theta, damping = start.copy(), np.ones(len(start))
    rounding = 1e-15 * (1 + np.abs(law.target).max())
    noise = law.scale * law.target.shape[1] * rounding**2  # of the value, for exact data
    active = np.arange(len(start))
    for _ in range(steps):
        part, here, mu = law.rows(active), theta[active], damping[active]
        g, h, m, uneven = slopes(part, here)
        step = -solved(h + mu[:, None, None] * m, g)
        step *= np.minimum(1, LARGEST_STEP / np.maximum(np.abs(step).max(1), 1e-300))[:, None]
        before = part.value(here)
        better = part.value(here + step) <= before * (1 + 1e-14) + noise  # or equal but for it
        seen = -(g * step).sum(1) > 1e-17 * before + noise  # a gain that the value can show
        theta[active] = np.where(better[:, None], here + step, here)
        damping[active] = np.where(better, np.maximum(mu / 5, 1e-10), mu * 4)
        going = (uneven > 1e-10) & (mu < 1e12) & (seen | ~better | (uneven > 1e-6))
        active = active[going]
        if not len(active):
            break
    return theta


def solved(
    matrix: Float[np.ndarray, "S P P"], right: Float[np.ndarray, "S P"]
) -> Float[np.ndarray, "S P"]:
    """The solutions; the shortest ones if a matrix is singular, as of draws of few points."""
    try:
        return np.linalg.solve(matrix, right[..., None])[..., 0]
    except np.linalg.LinAlgError:
        return (np.linalg.pinv(matrix, hermitian=True) @ right[..., None])[..., 0]


def least_minimum(
    law: LogSum, starts: Float[np.ndarray, "S P"], names: list[str]
) -> Float[np.ndarray, "1 P"]:
    """The least of the minima that many starts lead to.

    Squares find the region from far away; the loss itself then settles the answer.

    Args:
        law: With one data set.
        starts: First guesses.
        names: Of the terms of the sum, for :func:`require_minimum`.

    Raises:
        InputError: If the best end is no minimum, or the data do not determine it.
    """
    squares = replace(law, target=np.repeat(law.target, len(starts), 0), delta=math.inf)
    near = minimise(squares, starts, FIRST_STEPS)
    few = np.argsort(squares.value(near))[:KEPT]
    many = replace(law, target=squares.target[few])
    ends = minimise(many, near[few], MORE_STEPS)
    theta = minimise(law, ends[[np.nanargmin(many.value(ends))]])
    require_minimum(law, theta, names)
    return theta


def require_minimum(law: LogSum, theta: Float[np.ndarray, "S P"], names: list[str]) -> None:
    """Refuse a point that is not a minimum, or one that the data do not determine.

    Raises:
        InputError: If a gradient is left, or a term is nowhere seen in the sum.
    """
    seen = law.curve(theta)[1].max(2)  # (S, K): largest share of each term
    for k, name in enumerate(names):
        if (seen[:, k] < 1e-6).any():
            raise InputError(
                f"the data do not determine {name}: its share of the fitted law is "
                f"{seen[:, k].min():.1e} at most, so any smaller one fits as well; "
                "take a wider range, or a law without it"
            )
    left = slopes(law, theta).unevenness.max()
    if left > 1e-5:
        raise InputError(
            f"the fit has not ended: a gradient of {left:.1e} is left where 1e-5 is allowed; "
            "the points may lie too close together to tell the terms of the law apart"
        )


def student_quantile(level: float | int, dof: int) -> float:
    """How many standard errors hold a share of Student's distribution on both sides of 0.

    Args:
        level: Share inside, such as 0.95.
        dof: Degrees of freedom ν.

    Raises:
        InputError: If the share is not between 0 and 1, or no degree of freedom is left.
    """
    if not 0 < level < 1 or dof < 1:
        raise InputError(f"level={level} must lie between 0 and 1, and dof={dof} be at least 1")
    return float(stdtrit(dof, (1 + level) / 2))


def covariance(law: LogSum, theta: Float[np.ndarray, "S P"]) -> Float[np.ndarray, "S P P"]:
    """Covariance of the unknowns at a minimum, for residuals of one and the same spread.

    Computes::

        Σ ψ(r)² / (N − P) / (mean s)² · (JᵀJ)⁻¹

    where s, the slope of ψ, is 1 within delta and 0 outside. Its mean is smoothed over a window
    that suits the spread of the residuals, since few of them lie within a small delta.

    Args:
        law: What was fitted.
        theta: Its minima.

    Returns:
        One matrix for each row.

    Raises:
        InputError: If there are not more points than unknowns.
    """
    log_y, shares = law.curve(theta)
    points, unknowns = log_y.shape[1], theta.shape[1]
    if points <= unknowns:
        raise InputError(f"{points} points leave no spread to {unknowns} unknowns: add points")
    r = log_y - law.target
    psi = np.clip(r, -law.delta, law.delta)
    spread = (psi**2).sum(1) / (points - unknowns) / share_inside(r, law.delta, unknowns) ** 2
    jac = law.jacobian(theta, shares)
    size = np.sqrt((jac**2).sum(1))  # (S, P): unit columns keep the inverse exact
    unit = jac / size[:, None]
    inverse = np.linalg.inv(unit.swapaxes(1, 2) @ unit) / (size[:, :, None] * size[:, None, :])
    return spread[:, None, None] * inverse


def share_inside(
    r: Float[np.ndarray, "S N"], delta: float | int, unknowns: int
) -> Float[np.ndarray, " S"]:
    """Share of the errors within delta, by a window moved over the residuals."""
    if np.isinf(delta):
        return np.ones(len(r))
    points = r.shape[1]
    middle = 1.4826 * np.median(np.abs(r), 1) * math.sqrt(points / (points - unknowns))
    h = np.maximum(math.sqrt(3) * 1.06 * middle * points**-0.2, 1e-12)[:, None]
    overlap = np.minimum(r + h, delta) - np.maximum(r - h, -delta)
    inside = np.clip(overlap / (2 * h), 0, 1).mean(1)
    return inside * (1 - (1 - inside) * unknowns / points)  # some residuals are 0 by the fit


def resampled(law: LogSum, unknowns: int, resamples: int, rng: np.random.Generator) -> LogSum:
    """The law for points drawn anew, with replacement, many times over (pairs bootstrap).

    A point keeps its residual, so the spread may vary from point to point. A draw of fewer
    different points than one more than there are unknowns is drawn again.

    Args:
        law: What was fitted to one data set.
        unknowns: Of the law.
        resamples: How many data sets.
        rng: Draws them.

    Returns:
        The same law for all the drawn data sets.

    Raises:
        InputError: If there are fewer than 20 resamples, or fewer points than three more than
            there are unknowns: with one more every draw is the sample itself, and with two more
            the draws differ too little for an interval.

    References:
        Efron and Tibshirani (1993). An introduction to the bootstrap, section 9.5.
    """
    points = law.target.shape[1]
    require_resamples(resamples, points, unknowns)
    if points < unknowns + 3:
        raise InputError(
            f"intervals of {unknowns} constants need at least {unknowns + 3} runs, got "
            f"{points}: runs drawn anew hardly differ from so few; the fit itself needs no more"
        )
    counts = np.zeros((resamples, points))
    while len(few := np.flatnonzero((counts > 0).sum(1) <= unknowns)):
        counts[few] = rng.multinomial(points, np.full(points, 1 / points), len(few))
    return replace(law, target=np.repeat(law.target, resamples, 0), counts=counts)


def redrawn(
    law: LogSum,
    theta: Float[np.ndarray, "1 P"],
    resamples: int,
    rng: np.random.Generator,
) -> LogSum:
    """The fitted law with its residuals drawn anew, with replacement, many times over.

    The residuals are centred and multiplied by ``√(N / (N − P))``, which a fit takes from them.
    Each may go to any point, so they are taken to have one and the same spread.

    Args:
        law: What was fitted to one data set.
        theta: Its minimum.
        resamples: How many data sets.
        rng: Draws them.

    Returns:
        The same law for all the drawn data sets.

    Raises:
        InputError: If there are fewer than 20 resamples, or not more points than unknowns.
    """
    log_y, _ = law.curve(theta)
    points, unknowns = log_y.shape[1], theta.shape[1]
    require_resamples(resamples, points, unknowns)
    r = (law.target - log_y)[0] * math.sqrt(points / (points - unknowns))
    drawn = rng.choice(r - r.mean(), (resamples, points))
    return replace(law, target=log_y + drawn)


def require_resamples(resamples: int, points: int, unknowns: int) -> None:
    """Refuse too few draws, or too few points to draw from."""
    if resamples < 20 or points <= unknowns:
        raise InputError(
            f"resamples={resamples} must be at least 20, and {points} points must be more than "
            f"the {unknowns} unknowns"
        )


def expanded_ends(
    values: Float[np.ndarray, "R Q"], level: float | int, points: int, unknowns: int
) -> Float[np.ndarray, "2 Q"]:
    """Ends of the expanded percentile interval of the bootstrap.

    Computes::

        quantiles Φ(±√(N / (N − P)) t),   t = Student's (1 + level) / 2 quantile, ν = N − P

    The fit takes a part of the spread from the points, and few points tell little of it: plain
    quantiles are too narrow by the factor ``√((N − P) / N)``, and by t against a normal.

    Args:
        values: One row for each draw.
        level: Of the interval.
        points: N.
        unknowns: P.

    Returns:
        The low ends and the high ends.

    References:
        Hesterberg (2015), arXiv:1411.5279, section 5.3, with N − 1 there for N − P.
    """
    t = student_quantile(level, points - unknowns)
    low = float(ndtr(-t * math.sqrt(points / (points - unknowns))))
    return np.quantile(values, [low, 1 - low], axis=0)
