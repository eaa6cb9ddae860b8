"""The additive law of parameters and tokens, against planted truths and published numbers."""

import numpy as np
import pytest
from scipy.optimize import minimize

from mathlm.errors import InputError
from mathlm.scaling import (
    ChinchillaLaw,
    bootstrap_chinchilla,
    chinchilla_intervals,
    fit_chinchilla,
)
from mathlm.scaling.chinchilla import additive, warm
from mathlm.scaling.fitting import (
    LogSum,
    covariance,
    minimise,
    require_minimum,
    slopes,
    student_quantile,
)

PAPER = ChinchillaLaw(A=406.4, B=410.7, E=1.69, alpha=0.34, beta=0.28)
N = np.repeat(np.geomspace(1e6, 1e9, 7), 7)
D = np.tile(np.geomspace(1e8, 1e11, 7), 7)


def constants(law):
    return law.A, law.B, law.E, law.alpha, law.beta


def runs(rng, spread=0.01):
    return PAPER.loss(N, D) * np.exp(spread * rng.standard_normal(len(N)))


@pytest.mark.parametrize(
    "truth", [PAPER, ChinchillaLaw(A=20, B=3000, E=0.5, alpha=0.2, beta=0.5)]
)
def test_planted_constants_are_recovered(truth):
    assert constants(fit_chinchilla(N, D, truth.loss(N, D))) == pytest.approx(
        constants(truth), rel=1e-8
    )


def test_the_scale_of_the_loss_does_not_change_the_answer(rng):
    """A sum, a mean and a million times: the published fit had stopped early at the mean."""
    loss = runs(rng)
    fits = [fit_chinchilla(N, D, loss, scale=s) for s in (1, 1 / len(N), 1e6, 1e-6)]
    for other in fits[1:]:
        assert constants(other) == pytest.approx(constants(fits[0]), rel=1e-6)
        assert other.huber == pytest.approx(fits[0].huber, rel=1e-10)


def test_no_search_of_scipy_s_goes_lower(rng):
    loss = runs(rng)
    fit = fit_chinchilla(N, D, loss)

    def huber(p):
        log_l = np.logaddexp.reduce(
            [p[0] - p[3] * np.log(N), p[1] - p[4] * np.log(D), 0 * N + p[2]]
        )
        r = np.abs(log_l - np.log(loss))
        return np.where(r < 1e-3, r**2 / 2, 1e-3 * (r - 5e-4)).sum()

    start = np.array([*np.log([fit.A, fit.B, fit.E]), fit.alpha, fit.beta])
    found = minimize(lambda p: 1e4 * huber(p), start * 1.01, method="Nelder-Mead").fun / 1e4
    assert fit.huber == pytest.approx(huber(start), rel=1e-9)
    assert fit.huber <= found


def test_the_order_of_the_runs_is_of_no_matter(rng):
    loss, order = runs(rng), rng.permutation(len(N))
    there = fit_chinchilla(N[order], D[order], loss[order])
    assert constants(there) == pytest.approx(constants(fit_chinchilla(N, D, loss)), rel=1e-6)


def test_slopes_are_those_of_finite_differences(rng):
    law, middles = additive(N, D, runs(rng), 0.005)
    theta, h = warm(PAPER, middles) + 0.01, 1e-6 * np.eye(5)
    there = slopes(law, theta)
    ups, downs = (LogSum(law.design, np.repeat(law.target, 5, 0), 0.005) for _ in "ud")
    gradient = (ups.value(theta + h) - downs.value(theta - h)) / 2e-6
    hessian = (slopes(ups, theta + h).gradient - slopes(downs, theta - h).gradient) / 2e-6
    np.testing.assert_allclose(there.gradient[0], gradient, rtol=1e-5)
    np.testing.assert_allclose(there.hessian[0], hessian, rtol=1e-3, atol=1e-5)


@pytest.mark.parametrize("delta", [1e-3, 0.01, float("inf")])
def test_intervals_of_the_delta_method_cover(rng, delta):
    """200 sweeps fitted at once, each from a warm start."""
    one, middles = additive(N, D, PAPER.loss(N, D), delta)
    truth = warm(PAPER, middles)
    target = one.target + 0.01 * rng.standard_normal((200, len(N)))
    law = LogSum(one.design, target, delta)
    theta = minimise(law, np.repeat(truth, 200, 0))
    errors = np.sqrt(np.diagonal(covariance(law, theta), axis1=1, axis2=2))
    hits = np.abs(theta - truth) < student_quantile(0.95, len(N) - 5) * errors
    assert hits.mean(0).min() >= 0.90
    assert hits.mean(0).max() <= 0.99


def test_both_kinds_of_interval_agree_about_their_width(rng):
    loss = runs(rng)
    fit = fit_chinchilla(N, D, loss)
    delta = chinchilla_intervals(N, D, loss, fit)
    drawn = bootstrap_chinchilla(N, D, loss, fit)
    widths = [np.log(np.ptp(delta[k]) / np.ptp(drawn[k])) for k in delta]
    assert set(delta) == {"A", "B", "E", "alpha", "beta", "share"}
    assert np.abs(widths).max() < np.log(2)


def test_intervals_hold_the_fit(rng):
    loss = runs(rng)
    fit = fit_chinchilla(N, D, loss)
    ends = chinchilla_intervals(N, D, loss, fit)
    assert all(ends[k][0] < getattr(fit, k) < ends[k][1] for k in ("A", "B", "E", "alpha"))


def test_the_share_of_compute_is_that_of_the_tokens_exponent(rng):
    """0.28 / 0.62 = 0.45 goes to the parameters, not 0.55."""
    loss = runs(rng, 0.003)
    fit = fit_chinchilla(N, D, loss)
    for ends in (chinchilla_intervals(N, D, loss, fit), bootstrap_chinchilla(N, D, loss, fit)):
        assert ends["share"][0] < 0.28 / 0.62 < ends["share"][1] < 0.5


def test_a_point_that_is_no_minimum_is_refused():
    law, middles = additive(N, D, PAPER.loss(N, D), 1e-3)
    with pytest.raises(InputError, match="the fit has not ended: a gradient of"):
        require_minimum(law, warm(PAPER, middles) + 0.01, ["A", "B", "E"])


def test_a_law_without_a_floor_is_refused():
    loss = 400 * N**-0.34 + 400 * D**-0.28
    with pytest.raises(InputError, match=r"the data do not determine E|has not ended"):
        fit_chinchilla(N, D, loss)


BAD = {
    "lengths": (N, D[1:], N, "have 49, 48 and 49 numbers"),
    "few": (N[:5], D[:5], N[:5], "at least 6 runs"),
    "zero": (N, D, 0 * N, r"loss\[0\]=0.0 must be positive"),
    "one size": (0 * N + 5, D, D, "n and d must both vary"),
    "fixed ratio": (N, 20 * N, N**-0.1, "not in one fixed relation"),
}


@pytest.mark.parametrize(("n", "d", "loss", "message"), BAD.values(), ids=BAD.keys())
def test_bad_runs_are_refused(n, d, loss, message):
    with pytest.raises(InputError, match=message):
        fit_chinchilla(n, d, loss)


@pytest.mark.parametrize("change", [{"alpha": 0.0}, {"E": -1.0}, {"B": float("nan")}])
def test_bad_constants_are_refused(change):
    good = {"A": 1.0, "B": 1.0, "E": 1.0, "alpha": 0.3, "beta": 0.3}
    with pytest.raises(InputError, match="must be a positive, finite number"):
        ChinchillaLaw(**good | change)
