"""The joint law without a floor, against planted truths and published numbers."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.stats import norm, t

from mathlm.errors import InputError
from mathlm.scaling import (
    ChinchillaLaw,
    KaplanLaw,
    fit_kaplan,
    kaplan,
    kaplan_intervals,
    kaplan_loss,
)
from mathlm.scaling.fitting import (
    RaisedLogSum,
    expanded_ends,
    minimise,
    require_minimum,
    resampled,
    slopes,
)
from mathlm.scaling.kaplan import constants, joint, lowest, warm

PAPER = KaplanLaw(N_c=6.4e13, D_c=1.8e13, alpha_n=0.076, alpha_d=0.103)
STEEP = KaplanLaw(N_c=2e9, D_c=5e11, alpha_n=0.4, alpha_d=0.2)
N = np.repeat(np.geomspace(1e6, 1e9, 7), 7)
D = np.tile(np.geomspace(1e7, 1e10, 7), 7)


def values(law):
    return law.N_c, law.D_c, law.alpha_n, law.alpha_d


def runs(rng, spread=0.01):
    return PAPER.loss(N, D) * np.exp(spread * rng.standard_normal(len(N)))


@pytest.mark.parametrize("truth", [PAPER, STEEP], ids=["paper", "steep"])
def test_planted_constants_are_recovered(truth):
    assert values(fit_kaplan(N, D, truth.loss(N, D))) == pytest.approx(values(truth), rel=1e-6)


def test_the_scale_of_the_loss_does_not_change_the_answer(rng):
    loss = runs(rng)
    fits = [fit_kaplan(N, D, loss, scale=s) for s in (1, 1 / len(N), 1e6, 1e-6)]
    for other in fits[1:]:
        assert values(other) == pytest.approx(values(fits[0]), rel=1e-5)
        assert other.huber == pytest.approx(fits[0].huber, rel=1e-10)


def test_no_search_of_scipy_s_goes_lower(rng):
    loss = runs(rng)
    fit = fit_kaplan(N, D, loss)

    def huber(p):
        there = kaplan_loss(N, D, *np.exp(p[:2]).tolist(), *p[2:].tolist())
        r = np.abs(np.log(there / loss))
        return np.where(r < 1e-3, r**2 / 2, 1e-3 * (r - 5e-4)).sum()

    start = np.array([*np.log(values(fit)[:2]), fit.alpha_n, fit.alpha_d])
    found = minimize(lambda p: 1e4 * huber(p), start * 1.01, method="Nelder-Mead").fun / 1e4
    assert fit.huber == pytest.approx(huber(start), rel=1e-9)
    assert fit.huber <= found


def test_each_start_of_the_search_foretells_the_mean_in_the_middle(rng, monkeypatch):
    """At the mean of log n and of log d the loss is e to the mean of the log losses."""
    starts = []

    def kept(law, grid, names):
        starts.extend(grid)
        return grid[:1]

    monkeypatch.setattr(kaplan, "least_minimum", kept)
    loss = runs(rng)
    law, middles = joint(N, D, loss, 1e-3)
    lowest(law)
    n, d = np.exp(middles)[:, None]
    for log_n, log_d, *alphas, _ in constants(np.array(starts), middles).tolist():
        there = kaplan_loss(n, d, np.exp(log_n).item(), np.exp(log_d).item(), *alphas)
        assert there[0] == pytest.approx(np.exp(np.log(loss).mean()), rel=1e-9)


def test_the_order_of_the_runs_is_of_no_matter(rng):
    loss, order = runs(rng), rng.permutation(len(N))
    there = fit_kaplan(N[order], D[order], loss[order])
    assert values(there) == pytest.approx(values(fit_kaplan(N, D, loss)), rel=1e-5)


def test_slopes_are_those_of_finite_differences(rng):
    law, middles = joint(N, D, runs(rng), 0.005)
    theta, h = warm(PAPER, middles) * 1.003, 1e-6 * np.eye(4)
    there = slopes(law, theta)
    ups, downs = (RaisedLogSum(law.design, np.repeat(law.target, 4, 0), 0.005) for _ in "ud")
    gradient = (ups.value(theta + h) - downs.value(theta - h)) / 2e-6
    hessian = (slopes(ups, theta + h).gradient - slopes(downs, theta - h).gradient) / 2e-6
    np.testing.assert_allclose(there.gradient[0], gradient, rtol=1e-5)
    np.testing.assert_allclose(there.hessian[0], hessian, rtol=1e-3, atol=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("steep", [0.0, 4.0], ids=["one spread", "small runs scatter more"])
def test_intervals_cover(rng, steep):
    """100 sweeps, each drawn anew 100 times; the residuals are heavy-tailed."""
    one, middles = joint(N, D, PAPER.loss(N, D), 0.01)
    truth, size = warm(PAPER, middles), np.log(N * D)
    spread = 0.003 * np.exp(steep * (0.5 - (size - size.min()) / np.ptp(size)))
    target = one.target + spread * rng.standard_t(3, (100, len(N)))
    law, hits = RaisedLogSum(one.design, target, 0.01), []
    true = constants(truth, middles)[0]
    theta = minimise(law, np.repeat(truth, 100, 0))
    for i in range(100):
        many = resampled(law.rows(np.array([i])), 4, 100, rng)
        found = constants(minimise(many, np.repeat(theta[[i]], 100, 0)), middles)
        low, high = expanded_ends(found, 0.95, len(N), 4)
        hits.append((low <= true) & (true <= high))
    assert np.mean(hits, 0).min() >= 0.90


def test_intervals_hold_the_fit(rng):
    loss = runs(rng)
    fit = fit_kaplan(N, D, loss)
    ends = kaplan_intervals(N, D, loss, fit)
    assert all(ends[k][0] < getattr(fit, k) < ends[k][1] for k in ends if k != "share")
    assert ends["share"][0] < fit.alpha_d / (fit.alpha_n + fit.alpha_d) < ends["share"][1]


def test_seven_runs_leave_three_degrees_of_freedom_to_the_ends(rng):
    """Quantiles at Φ(−√(7 / 3) t) of the exponents that draws give, t with ν = 7 − 4."""
    few = [0, 6, 16, 24, 32, 42, 48]
    n, d, loss = N[few], D[few], runs(rng)[few]
    fit = fit_kaplan(n, d, loss, delta=1.0)
    ends = kaplan_intervals(n, d, loss, fit, delta=1.0, level=0.5, resamples=40)
    law, middles = joint(n, d, loss, 1.0)
    theta = np.repeat(warm(fit, middles), 40, 0)
    drawn = minimise(resampled(law, 4, 40, np.random.default_rng(0)), theta)
    low = norm.cdf(-np.sqrt(7 / 3) * t.ppf(0.75, 3))
    expected = np.quantile(constants(drawn, middles)[:, 2], [low, 1 - low])
    assert ends["alpha_n"] == pytest.approx(tuple(expected), rel=1e-6)


def test_a_fit_gives_the_intervals_of_its_own_runs(rng):
    loss, few = runs(rng), {"level": 0.8, "resamples": 25, "seed": 3}
    fit = fit_kaplan(N, D, loss, delta=0.01)
    assert isinstance(fit, KaplanLaw)
    assert fit.intervals(**few) == kaplan_intervals(N, D, loss, fit, delta=0.01, **few)


def test_intervals_are_of_95_percent_and_400_draws_unless_others_are_asked_for(rng):
    loss, said = runs(rng), {"delta": 1e-3, "level": 0.95, "resamples": 400, "seed": 0}
    fit = fit_kaplan(N, D, loss)
    expected = kaplan_intervals(N, D, loss, fit, **said)
    assert fit.intervals() == expected
    assert kaplan_intervals(N, D, loss, fit) == expected


def test_kaplan_s_law_by_hand():
    """With data without end, N = N_c / 2 gives 2^0.076; likewise for D."""
    assert kaplan_loss([3.2e13], [1e300])[0] == pytest.approx(2**0.076, rel=1e-9)
    assert kaplan_loss([1e300], [0.9e13])[0] == pytest.approx(2**0.103, rel=1e-9)


def test_the_paper_s_constants_give_a_loss_of_1_nat():
    assert kaplan_loss([6.4e13], [1e300])[0] == 1
    assert kaplan_loss([1e300], [1.8e13])[0] == 1


def test_equal_terms_of_the_sum_double_it():
    """N = N_c and D = D_c: [1 + 1]^α_D, whatever α_N is."""
    assert STEEP.loss([2e9], [5e11])[0] == pytest.approx(2**0.2, rel=1e-12)


def test_a_law_without_a_floor_foretells_too_little_of_one_with_a_floor():
    truth = ChinchillaLaw(A=406.4, B=410.7, E=1.69, alpha=0.34, beta=0.28)
    fit = fit_kaplan(N, D, truth.loss(N, D))
    assert fit.loss([1e12], [1e13])[0] < truth.loss([1e12], [1e13])[0] - 0.05


def test_a_point_that_is_no_minimum_is_refused():
    law, middles = joint(N, D, PAPER.loss(N, D), 1e-3)
    with pytest.raises(InputError, match="the fit has not ended: a gradient of"):
        require_minimum(law, warm(PAPER, middles) * 1.01, ["N_c", "D_c"])


def test_a_loss_that_rises_with_size_is_refused():
    with pytest.raises(InputError, match=r"does not fall with size|do not determine|not ended"):
        fit_kaplan(N, D, 3 * (N / 1e6) ** 0.1 * (D / 1e6) ** -0.1)


def test_a_loss_that_no_size_changes_is_refused():
    with pytest.raises(InputError, match=r"does not fall|data do not determine|not ended"):
        fit_kaplan(N, D, 3 * (D / 1e6) ** -0.1)


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
        fit_kaplan(n, d, loss)


CONSTANTS = [{"N_c": -1.0}, {"D_c": float("inf")}, {"alpha_n": 0.0}, {"alpha_d": 0.0}]


@pytest.mark.parametrize("change", CONSTANTS)
def test_bad_constants_are_refused(change):
    good = {"N_c": 1.0, "D_c": 1.0, "alpha_n": 0.3, "alpha_d": 0.3}
    with pytest.raises(InputError, match="must be a positive, finite number"):
        KaplanLaw(**good | change)


@pytest.mark.parametrize("name", ["n_c", "d_c", "alpha_n", "alpha_d"])
def test_a_constant_of_the_loss_that_is_not_positive_is_named(name):
    with pytest.raises(InputError, match=f"{name}=-1.0 must be a positive, finite number"):
        kaplan_loss([1e9], [1e10], **{name: -1.0})


def test_a_size_or_a_text_of_nothing_is_named():
    with pytest.raises(InputError, match=r"^n\[1\]=0.0 must be positive"):
        kaplan_loss([1e9, 0], [1e10, 1e10])
    with pytest.raises(InputError, match=r"^d\[0\]=0.0 must be positive"):
        kaplan_loss([1e9], [0])
