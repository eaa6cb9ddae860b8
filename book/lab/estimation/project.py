"""Grader of the project of this page: a mixture of normals, fitted by EM.

from lab.estimation.project import grade
grade(responsibilities, em_step)
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy import ndarray

from lab.grading import Case, FaultError, Report, grade_by
from mathlm.reference import normal_log_density, posterior

Parameters = tuple[ndarray, ndarray, ndarray]
X = np.array([-3.0, -2.0, -2.5, 0.5, 2.0, 4.0])
START: Parameters = (np.array([0.3, 0.7]), np.array([-2.0, 1.0]), np.array([0.5, 2.0]))
TRUTH: Parameters = (np.array([0.6, 0.4]), np.array([-2.8, 2.8]), np.array([0.7, 0.9]))


def mixture(n: int = 2000) -> ndarray:
    """Draws from the mixture of two normals that the page fits, always the same."""
    rng = np.random.default_rng(0)
    weights, means, stds = TRUTH
    k = rng.choice(2, size=n, p=weights)
    return means[k] + stds[k] * rng.normal(size=n)


def log_likelihood(x: ndarray, weights: ndarray, means: ndarray, stds: ndarray) -> float:
    """Mean log-density of the points under a mixture of normals [nats per point]."""
    logs = np.log(weights) + _log_densities(x, means, stds)
    return float(np.logaddexp.reduce(logs, axis=1).mean())


def _log_densities(x: ndarray, means: ndarray, stds: ndarray) -> ndarray:
    """Log-density of each point under each component, (N, K)."""
    columns = [
        normal_log_density(x, float(m), float(s)) for m, s in zip(means, stds, strict=True)
    ]
    return np.stack(columns, axis=1)


def grade(responsibilities: Callable[..., Any], em_step: Callable[..., Any]) -> Report:
    """Test the two halves of EM for a mixture of normals in one dimension.

    Args:
        responsibilities: ``responsibilities(x, weights, means, stds)`` returns the posterior
            probability of each component for each point, (N, K).
        em_step: ``em_step(x, weights, means, stds)`` returns new weights, means and stds.

    Returns:
        A report: print it, or read ``passed`` and ``faults``.
    """
    return grade_by(TESTS, responsibilities, em_step)


def _posteriors(responsibilities: Callable[..., Any], _: Any) -> None:
    found = np.asarray(responsibilities(X, *_start()), dtype=float)
    weights, means, stds = START
    logs = _log_densities(X, means, stds)
    expected = posterior(weights, logs)
    if found.shape != (6, 2):
        raise FaultError(f"6 points and 2 components give the shape {found.shape}, not (6, 2).")
    if np.allclose(found, expected, atol=1e-8):
        return
    wrong = {
        "the weights of the components are missing: they are the prior.": posterior(
            np.array([0.5, 0.5]), logs
        ),
        "the factor 1 / σ of the density is missing, and it differs by component.": posterior(
            weights, logs + np.log(stds)
        ),
        "stds are standard deviations; the exponent divides by their square.": posterior(
            weights, _log_densities(X, means, np.sqrt(stds))
        ),
        "each row must sum to 1: divide by the sum over the components.": (
            weights * np.exp(logs)
        ),
        "the columns sum to 1; normalize over the components, not over the points.": (
            weights * np.exp(logs) / (weights * np.exp(logs)).sum(0)
        ),
    }
    for said, values in wrong.items():
        if np.allclose(found, values, atol=1e-6):
            raise FaultError(said)
    raise FaultError(
        f"the point -3 belongs to the first component with {found[0, 0]:.4f}, expected "
        f"{expected[0, 0]:.4f}: weight times density, divided by the sum of both."
    )


def _far(responsibilities: Callable[..., Any], _: Any) -> None:
    found = np.asarray(responsibilities(np.array([0.0, 300.0]), *_start()), dtype=float)
    if not np.isfinite(found).all():
        raise FaultError(
            f"a point at 300 gives {found[1]}: both densities underflow to 0. Work with "
            "logarithms and subtract the largest."
        )
    if not np.allclose(found[1], [0, 1]):
        raise FaultError(f"a point at 300 gives {found[1]}; it belongs to the wide component.")


def _step(x: ndarray, weights: ndarray, means: ndarray, stds: ndarray) -> Parameters:
    share = posterior(weights, _log_densities(x, means, stds))
    mass = share.sum(0)
    new = (share * x[:, None]).sum(0) / mass
    return mass / len(x), new, np.sqrt((share * (x[:, None] - new) ** 2).sum(0) / mass)


def _one_step(_: Any, em_step: Callable[..., Any]) -> None:
    found = em_step(X, *_start())
    if len(found) != 3:
        raise FaultError("em_step must return three arrays: weights, means and stds.")
    weights, means, stds = (np.asarray(part, dtype=float) for part in found)
    expected = _step(X, *START)
    share = posterior(START[0], _log_densities(X, START[1], START[2]))
    _compare("weights", weights, expected[0], {"they sum to N; divide by N.": share.sum(0)})
    hard = np.array([X[share.argmax(1) == k].mean() for k in range(2)])
    _compare(
        "means",
        means,
        expected[1],
        {
            "each point goes to one component whole; its share must count.": hard,
            "the sum is divided by N, not by the sum of the shares.": (share * X[:, None]).mean(
                0
            ),
        },
    )
    around_old = (share * (X[:, None] - START[1]) ** 2).sum(0) / share.sum(0)
    _compare(
        "stds",
        stds,
        expected[2],
        {
            "these are variances; take the root.": expected[2] ** 2,
            "the deviations must be taken from the new means.": np.sqrt(around_old),
        },
    )


def _compare(name: str, found: ndarray, expected: ndarray, wrong: dict[str, ndarray]) -> None:
    if found.shape == expected.shape and np.allclose(found, expected, atol=1e-8):
        return
    for said, values in wrong.items():
        if found.shape == values.shape and np.allclose(found, values, atol=1e-6):
            raise FaultError(f"{name}: {said}")
    raise FaultError(
        f"{name} are {found.round(4)} after one step, expected {expected.round(4)}."
    )


def _start() -> Parameters:
    """A copy of the start, so that nobody's code can change it."""
    weights, means, stds = START
    return weights.copy(), means.copy(), stds.copy()


def _untouched(_: Any, em_step: Callable[..., Any]) -> None:
    start = _start()
    em_step(X.copy(), *start)
    if not all(np.array_equal(a, b) for a, b in zip(start, START, strict=True)):
        raise FaultError("em_step changes its arguments in place; return new arrays.")


def _rises(_: Any, em_step: Callable[..., Any]) -> None:
    x = mixture(300)
    theta: Any = _start()
    before = log_likelihood(x, *theta)
    for step in range(30):
        theta = em_step(x, *theta)
        after = log_likelihood(x, *theta)
        if not after >= before - 1e-12:
            raise FaultError(
                f"step {step + 1} changes the mean log-likelihood from {before:.6f} to "
                f"{after:.6f}; a step of EM never lowers it."
            )
        before = after


def _recovers(_: Any, em_step: Callable[..., Any]) -> None:
    x = mixture()
    theta: Any = _start()
    for _ in range(100):
        theta = em_step(x, *theta)
    off = max(np.abs(np.asarray(a) - b).max() for a, b in zip(theta, TRUTH, strict=True))
    if not off < 0.1:
        raise FaultError(
            f"after 100 steps on 2000 draws a parameter is off by {off:.2f}; the standard "
            "errors are about 0.03."
        )


SIX, SAME, ONE = "responsibilities of six points", "arguments stay as they are", "one step"
RISES = "the likelihood never falls"
TESTS = (
    Case(SIX, _posteriors),
    Case("a point far from everything", _far, (SIX,)),
    Case(SAME, _untouched, (SIX,)),  # a step is built on the responsibilities
    Case(ONE, _one_step, (SAME,)),
    Case(RISES, _rises, (ONE,)),
    Case("two thousand points", _recovers, (RISES,)),
)

__all__ = ["FaultError", "Report", "grade", "log_likelihood", "mixture"]
