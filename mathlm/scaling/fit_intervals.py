"""How well the unknowns of a fitted law are known."""

import math
from dataclasses import replace
from functools import cache

import numpy as np

from ..errors import InputError
from ..shapes import Float
from .log_sums import LogSum


@cache
def student_quantile(level: float | int, dof: int) -> float:
    """How many standard errors hold a share of Student's distribution on both sides of 0.

    With ``t = √ν tan θ`` the density becomes ``cos^(ν-1) θ``, integrated by Gauss' rule. A
    quantile is computed once: fits of the same size share it.

    Args:
        level: Share inside, such as 0.95.
        dof: Degrees of freedom ν.

    Returns:
        The quantile.

    Raises:
        InputError: If the share is not between 0 and 1, or no degree of freedom is left.
    """
    if not 0 < level < 1 or dof < 1:
        raise InputError(f"level={level} must lie between 0 and 1, and dof={dof} be at least 1")
    nodes, weights = np.polynomial.legendre.leggauss(200)
    factor = math.exp(math.lgamma((dof + 1) / 2) - math.lgamma(dof / 2)) / math.sqrt(math.pi)
    low, high = 0.0, math.pi / 2
    for _ in range(60):
        theta = (low + high) / 2
        inside = factor * theta * (weights @ np.cos(theta * (nodes + 1) / 2) ** (dof - 1))
        low, high = (theta, high) if inside < level else (low, theta)
    return math.sqrt(dof) * math.tan((low + high) / 2)


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


def redrawn(
    law: LogSum,
    theta: Float[np.ndarray, "1 P"],
    resamples: int,
    rng: np.random.Generator,
) -> LogSum:
    """The fitted law with its residuals drawn anew, with replacement, many times over.

    The residuals are centred and multiplied by ``√(N / (N − P))``, which a fit takes from them.

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
    if resamples < 20 or points <= unknowns:
        raise InputError(
            f"resamples={resamples} must be at least 20, and {points} points must be more than "
            f"the {unknowns} unknowns"
        )
    r = (law.target - log_y)[0] * math.sqrt(points / (points - unknowns))
    drawn = rng.choice(r - r.mean(), (resamples, points))
    return replace(law, target=log_y + drawn)
