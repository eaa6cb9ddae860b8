"""The additive law of parameters and tokens, against planted truths and published numbers."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.stats
from scipy.optimize import minimize

from mathlm.errors import InputError
from mathlm.scaling import (
    ChinchillaLaw,
    chinchilla_intervals,
    fit_chinchilla,
)
from mathlm.scaling.chinchilla import additive, named, warm, with_share
from mathlm.scaling.fitting import (
    LogSum,
    covariance,
    expanded_ends,
    minimise,
    require_minimum,
    resampled,
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


@pytest.mark.parametrize("unit", [1e-4, 1e4])
def test_the_unit_of_the_loss_does_not_change_the_exponents(rng, unit):
    loss = runs(rng)
    here, there = fit_chinchilla(N, D, loss), fit_chinchilla(N, D, unit * loss)
    A, B, E, *exponents = constants(here)
    expected = (unit * A, unit * B, unit * E, *exponents)
    assert constants(there) == pytest.approx(expected, rel=1e-6)


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


def covered(rng, law, truth, middles, draws):
    """How often an interval of the bootstrap holds each true constant, over many sweeps."""
    theta = minimise(law, np.repeat(truth, len(law.target), 0))
    true, hits = with_share(truth, middles)[0], []
    for i in range(len(theta)):
        many = resampled(law.rows(np.array([i])), 5, draws, rng)
        found = with_share(minimise(many, np.repeat(theta[[i]], draws, 0)), middles)
        low, high = expanded_ends(found, 0.95, law.target.shape[1], 5)
        hits.append((low <= true) & (true <= high))
    return np.mean(hits, 0)


@pytest.mark.slow
@pytest.mark.parametrize("delta", [1e-3, 0.01, float("inf")])
def test_intervals_cover_where_the_residuals_are_alike(rng, delta):
    one, middles = additive(N, D, PAPER.loss(N, D), delta)
    target = one.target + 0.01 * rng.standard_normal((100, len(N)))
    law = LogSum(one.design, target, delta)
    hits = covered(rng, law, warm(PAPER, middles), middles, 100)
    assert hits.min() >= 0.90


@pytest.mark.slow
@pytest.mark.parametrize("signs", [True, False], ids=["signs", "fresh"])
def test_intervals_cover_where_the_spread_varies_and_the_tails_are_heavy(rng, signs):
    """Nine budgets of 25 sizes; small runs scatter 50 times as far as large ones.

    Residuals that may go to any run gave 52 to 78 of 100.
    """
    best = 0.3 * np.sqrt(np.geomspace(6e18, 3e21, 9) / 6)
    n = np.outer(best, np.geomspace(1 / 6, 6, 25))
    d = (np.geomspace(1e18, 5e20, 9)[:, None] / n).ravel()
    flops = np.log(n.ravel() * d)
    spread = 0.003 * np.exp(4 * (0.5 - (flops - flops.min()) / np.ptp(flops)))
    one, middles = additive(n.ravel(), d, PAPER.loss(n.ravel(), d), 1e-3)
    tails = rng.standard_t(2, (1 if signs else 100, len(d)))
    residuals = np.clip(spread * tails, -0.25, 0.25) * rng.choice([-1, 1], (100, len(d)))
    law = LogSum(one.design, one.target + residuals, 1e-3)
    assert covered(rng, law, warm(PAPER, middles), middles, 60).min() >= 0.90


def test_intervals_are_about_as_wide_as_those_of_alike_residuals(rng):
    """Where all residuals are alike, the delta method of least squares is right."""
    loss = runs(rng)
    fit = fit_chinchilla(N, D, loss, delta=np.inf)
    found = chinchilla_intervals(N, D, loss, fit, delta=np.inf)
    law, middles = additive(N, D, loss, np.inf)
    spread = covariance(law, warm(fit, middles))[0]
    reach = student_quantile(0.95, len(N) - 5) * np.sqrt(np.diag(spread))
    widths = [np.ptp(found[name]) / 2 for name in ("alpha", "beta")]
    assert set(found) == {"A", "B", "E", "alpha", "beta", "share"}
    assert widths == pytest.approx(reach[3:], rel=0.35)


def test_an_interval_of_a_mean_is_students(rng):
    """Bootstrap means of 8 normal points: its half-width is about t s / √8, not 1.96 s / 3."""
    x = rng.standard_normal(8)
    means = x[rng.integers(8, size=(200_000, 8))].mean(1, keepdims=True)
    low, high = expanded_ends(means, 0.95, 8, 1)[:, 0]
    reach = student_quantile(0.95, 7) * x.std(ddof=1) / np.sqrt(8)
    assert (high - low) / 2 == pytest.approx(reach, rel=0.1)


def test_the_ends_are_quantiles_of_fits_to_runs_drawn_anew(rng):
    """Half of the fits to draws from 16 runs, and more for what 5 constants take from them."""
    some = rng.permutation(len(N))[:16]
    n, d, loss = N[some], D[some], runs(rng)[some]
    fit = fit_chinchilla(n, d, loss)
    law, middles = additive(n, d, loss, 1e-3)
    drawn = resampled(law, 5, 40, np.random.default_rng(2))
    alpha = minimise(drawn, np.repeat(minimise(law, warm(fit, middles)), 40, 0))[:, 3]
    t = scipy.stats.t.ppf(0.75, 16 - 5)
    outside = scipy.stats.norm.cdf(-t * np.sqrt(16 / (16 - 5)))
    expected = np.quantile(alpha, [outside, 1 - outside])
    assert fit.intervals(level=0.5, resamples=40, seed=2)["alpha"] == pytest.approx(expected)


def test_a_point_that_counts_twice_is_a_point_that_stands_there_twice(rng):
    one, middles = additive(N, D, runs(rng), 1e-3)
    counts = rng.multinomial(len(N), np.full(len(N), 1 / len(N)))
    drawn = replace(one, counts=counts[None].astype(float))
    rows = np.repeat(np.arange(len(N)), counts)
    again = LogSum(one.design[:, rows], one.target[:, rows], 1e-3)
    start = warm(PAPER, middles)
    assert drawn.value(start)[0] == pytest.approx(again.value(start)[0], rel=1e-12)
    assert minimise(drawn, start) == pytest.approx(minimise(again, start), rel=1e-8)


def test_a_draw_has_more_different_points_than_unknowns(rng):
    n, d = np.repeat([1e7, 1e8, 1e9], 3), np.tile([1e9, 1e10, 1e11], 3)
    law, _ = additive(n, d, PAPER.loss(n, d), 1e-3)
    counts = resampled(law, 5, 200, rng).times
    assert (counts.sum(1) == 9).all()
    assert (counts > 0).sum(1).min() == 6


@pytest.mark.parametrize(
    ("options", "message"),
    [({"level": 1.0}, "level=1.0 must lie"), ({"resamples": 5}, "resamples=5 must be at lea")],
)
def test_bad_options_of_intervals_are_refused(options, message):
    with pytest.raises(InputError, match=message):
        chinchilla_intervals(N, D, PAPER.loss(N, D), PAPER, **options)


@pytest.mark.parametrize("runs", [6, 7])
def test_intervals_of_too_few_runs_are_refused(rng, runs):
    """Of 6 runs a draw of 6 different ones is the sample itself: each fit would be the same."""
    few = rng.permutation(len(N))[:runs]
    fit = fit_chinchilla(N[few], D[few], PAPER.loss(N[few], D[few]))
    with pytest.raises(InputError, match=f"5 constants need at least 8 runs, got {runs}"):
        fit.intervals()
    few = rng.permutation(len(N))[:8]
    ends = fit_chinchilla(
        N[few], D[few], PAPER.loss(N[few], D[few]) * np.exp(0.003 * rng.standard_normal(8))
    ).intervals(resamples=50)
    assert all(low < high for low, high in ends.values())


@pytest.mark.filterwarnings("error")
def test_an_end_beyond_the_largest_number_is_infinite():
    ends = named(np.array([[-800.0, 0, 0, 0.1, 0.1, 0.1], [800.0, 1, 1, 0.2, 0.2, 0.2]]))
    assert ends["A"] == (0.0, float("inf"))


def test_intervals_hold_the_fit(rng):
    loss = runs(rng)
    fit = fit_chinchilla(N, D, loss)
    ends = chinchilla_intervals(N, D, loss, fit)
    assert all(ends[k][0] < getattr(fit, k) < ends[k][1] for k in ("A", "B", "E", "alpha"))


@pytest.mark.parametrize("delta", [1e-3, 0.01])
def test_a_fit_gives_the_intervals_of_its_own_runs(rng, delta):
    loss, few = runs(rng), {"level": 0.8, "resamples": 25, "seed": 3}
    sizes = N.astype(int)
    fit = fit_chinchilla(sizes, D, loss, delta=delta)
    assert {row.dtype for row in fit.runs} == {np.dtype(float)}
    expected = chinchilla_intervals(sizes, D, loss, fit, delta=delta, **few)
    loss *= 2  # the fit keeps what it was fitted to
    assert fit.intervals(**few) == expected
    assert fit.intervals(**few | {"seed": 4}) != expected


def test_what_is_not_said_is_400_draws_of_seed_0_and_a_level_of_95_percent(rng):
    some, loss = rng.permutation(len(N))[:16], runs(rng)
    args = N[some], D[some], loss[some]
    fit = fit_chinchilla(*args)
    said = {"delta": 1e-3, "level": 0.95, "resamples": 400, "seed": 0}
    expected = chinchilla_intervals(*args, fit, **said)
    assert fit.intervals() == chinchilla_intervals(*args, fit) == expected


def test_a_fit_is_a_law_and_prints_as_short_as_one():
    fit = fit_chinchilla(N, D, PAPER.loss(N, D), delta=0.5)
    assert isinstance(fit, ChinchillaLaw)
    assert fit.loss(N, D) == pytest.approx(PAPER.loss(N, D))
    assert repr(fit).startswith("ChinchillaFit(A=")
    assert repr(fit).endswith(", delta=0.5)")


def test_the_share_of_compute_is_that_of_the_tokens_exponent(rng):
    """0.28 / 0.62 = 0.45 goes to the parameters, not 0.55."""
    loss = runs(rng, 0.003)
    fit = fit_chinchilla(N, D, loss)
    low, high = chinchilla_intervals(N, D, loss, fit)["share"]
    assert low < 0.28 / 0.62 < high < 0.5


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
    "no size": (0 * N, D, N, r"^n\[0\]=0.0 must be positive"),
    "no tokens": (N, 0 * D, N, r"^d\[0\]=0.0 must be positive"),
    "more worse": (N, D, 1 + 400 * N**-0.34 + D**0.1, "loss does not fall with size and"),
    "larger worse": (N, D, 1 + 400 * D**-0.28 + N**0.1, "loss does not fall with size and"),
    "one size": (0 * N + 5, D, D, "n and d must both vary"),
    "fixed ratio": (N, 20 * N, N**-0.1, "not in one fixed relation"),
}


@pytest.mark.parametrize(("n", "d", "loss", "message"), BAD.values(), ids=BAD.keys())
def test_bad_runs_are_refused(n, d, loss, message):
    with pytest.raises(InputError, match=message):
        fit_chinchilla(n, d, loss)


@pytest.mark.parametrize("bad", [0.0, -1.0, float("nan")])
@pytest.mark.parametrize("name", ["A", "B", "E", "alpha", "beta"])
def test_bad_constants_are_refused(name, bad):
    good = {"A": 1.0, "B": 1.0, "E": 1.0, "alpha": 0.3, "beta": 0.3}
    with pytest.raises(InputError, match=f"^{name}={bad} must be a positive, finite number"):
        ChinchillaLaw(**good | {name: bad})


def test_a_law_has_no_loss_for_models_or_texts_of_nothing():
    with pytest.raises(InputError, match=r"^n\[1\]=0.0 must be positive"):
        PAPER.loss([1, 0], [1, 1])
    with pytest.raises(InputError, match=r"^d\[1\]=0.0 must be positive"):
        PAPER.loss([1, 1], [1, 0])


@pytest.mark.parametrize(("powers", "message"), [((60, 50), "^A"), ((10, 60), "^B")])
def test_a_constant_that_no_float_holds_is_said(powers, message):
    """A power of 60 about 10⁸: e^(60 · 18.4) = e^1105."""
    n, d = np.repeat(np.linspace(1, 1.2, 4), 4), np.tile(np.linspace(1, 1.2, 4), 4)
    with pytest.raises(InputError, match=rf"{message} = e\^1105 is larger than any float"):
        fit_chinchilla(1e8 * n, 1e8 * d, 1.7 + n ** -powers[0] + d ** -powers[1])
