"""Reference solution of the project of this page: a law, a plan, an interval."""

from collections.abc import Callable

import numpy as np
from numpy import ndarray
from scipy.optimize import least_squares
from scipy.stats import t as student

Predict = Callable[[ndarray, ndarray], ndarray]


def fit(n: ndarray, d: ndarray, loss: ndarray) -> Predict:
    """Kaplan's law, by Huber's loss of the log loss; logarithms are centred for the search."""
    log_n, log_d = np.log(n).mean(), np.log(d).mean()

    def log_loss(theta: ndarray, n: ndarray, d: ndarray) -> ndarray:
        a, b, alpha_n, alpha_d = theta
        q = alpha_n / alpha_d
        return alpha_d * np.logaddexp(a - q * (np.log(n) - log_n), b - (np.log(d) - log_d))

    def residuals(theta: ndarray) -> ndarray:
        return log_loss(theta, n, d) - np.log(loss)

    start = np.array([np.log(loss).mean() / 0.1, np.log(loss).mean() / 0.1, 0.1, 0.1])
    found = least_squares(
        residuals, start, loss="huber", f_scale=0.01, x_scale="jac", xtol=1e-12, ftol=1e-12
    )
    return lambda n, d: np.exp(log_loss(found.x, n, d))


def plan(
    predict: Predict, compute: float, sizes: ndarray, cost: ndarray
) -> tuple[int, float, float]:
    """Index of the best size, its tokens and its loss."""
    losses = predict(sizes, compute / cost)
    best = int(losses.argmin())
    return best, float(compute / cost[best]), float(losses[best])


def interval(
    fit: Callable,
    n: ndarray,
    d: ndarray,
    loss: ndarray,
    groups: ndarray,
    n_new: float,
    d_new: float,
) -> tuple[float, float]:
    """Low and high end of 95 % for the loss of a new run, one group left out after another."""
    new = np.array([n_new]), np.array([d_new])
    middle = np.log(fit(n, d, loss)(*new)[0])
    names, left = np.unique(groups), []
    for name in names:
        kept = groups != name
        left.append(np.log(fit(n[kept], d[kept], loss[kept])(*new)[0]))
    error = np.sqrt((len(names) - 1) * np.var(left))
    reach = student.ppf(0.975, len(names) - 1) * error
    return float(np.exp(middle - reach)), float(np.exp(middle + reach))
