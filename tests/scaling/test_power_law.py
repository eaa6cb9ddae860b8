"""Power laws, against planted ones and scipy."""

import math

import numpy as np
import pytest
import scipy.stats
from scipy.integrate import quad
from scipy.optimize import least_squares

from mathlm.errors import InputError
from mathlm.scaling import bootstrap_exponent, fit_power_law, held_out_errors
from mathlm.scaling.fitting import LogSum, covariance, minimise, redrawn, student_quantile
from mathlm.scaling.power_law import PowerLaw, straight

X = np.geomspace(10, 1e6, 16)


def noisy(rng, y, spread=0.02):
    return y * np.exp(spread * rng.standard_normal(y.shape))


def test_a_planted_law_is_recovered():
    law = fit_power_law(X, 3 * X**-0.3)
    assert (law.coefficient, law.exponent) == pytest.approx((3, -0.3), rel=1e-12)


def test_the_line_and_its_interval_are_scipy_s(rng):
    y = noisy(rng, 3 * X**-0.3)
    law, line = fit_power_law(X, y), scipy.stats.linregress(np.log(X), np.log(y))
    reach = scipy.stats.t.ppf(0.975, len(X) - 2) * line.stderr
    assert (math.log(law.coefficient), law.exponent) == pytest.approx(
        (line.intercept, line.slope), rel=1e-10
    )
    assert law.interval == pytest.approx((line.slope - reach, line.slope + reach), rel=1e-8)


def test_two_sizes_are_enough_for_a_line():
    """Twice at 1, with the geometric mean 4, and 0.4 at 10."""
    law = fit_power_law([1, 1, 10], [2, 8, 0.4])
    assert (law.coefficient, law.exponent) == pytest.approx((4, -1), rel=1e-9)


def test_a_law_is_asked_only_about_positive_sizes():
    with pytest.raises(InputError, match=r"^x\[1\]=0.0 must be positive"):
        fit_power_law(X, 3 * X**-0.3).predict([1, 0])


@pytest.mark.parametrize("exponent", [-0.3, -0.05, -1.0, 0.5])
def test_a_planted_law_with_an_offset_is_recovered(exponent):
    law = fit_power_law(X, 2 + 3 * X**exponent, offset=True)
    found = (law.offset, law.coefficient, law.exponent)
    assert found == pytest.approx((2, 3, exponent), rel=1e-6)


def test_the_offset_is_that_of_scipy_s_least_squares(rng):
    y = noisy(rng, 2 + 3 * X**-0.3)
    law = fit_power_law(X, y, offset=True)

    def residuals(p):
        return np.log(p[0] + p[1] * X ** p[2]) - np.log(y)

    there = least_squares(residuals, [2, 3, -0.3], xtol=1e-14, ftol=1e-14, gtol=1e-14).x
    assert (law.offset, law.coefficient, law.exponent) == pytest.approx(there, rel=1e-5)


def test_one_bad_point_does_not_decide_a_robust_fit(rng):
    y = noisy(rng, 3 * X**-0.3, 0.005)
    y[-1] *= 3
    plain, robust = fit_power_law(X, y), fit_power_law(X, y, delta=0.005)
    assert abs(robust.exponent + 0.3) < 0.003 < 0.02 < abs(plain.exponent + 0.3)


def test_the_order_of_the_points_is_of_no_matter(rng):
    y, order = noisy(rng, 2 + 3 * X**-0.3), rng.permutation(len(X))
    laws = [fit_power_law(X[i], y[i], offset=True) for i in (slice(None), order)]
    assert laws[0].exponent == pytest.approx(laws[1].exponent, rel=1e-8)


def sweeps(rng, trials=200):
    """As many noisy data sets of one law, and their fits."""
    one, _ = straight(X, 3 * X**-0.3, False, math.inf)
    law = LogSum(
        one.design, one.target + 0.02 * rng.standard_normal((trials, len(X))), math.inf
    )
    return law, minimise(law, np.zeros((trials, 2)))


def test_intervals_of_the_line_cover(rng):
    law, theta = sweeps(rng)
    reach = student_quantile(0.95, len(X) - 2) * covariance(law, theta)[:, 1, 1] ** 0.5
    assert 0.90 <= np.mean(np.abs(theta[:, 1] + 0.3) <= reach) <= 0.99


@pytest.mark.parametrize("delta", [0.002, 0.02, math.inf])
def test_intervals_of_a_law_with_an_offset_cover(rng, delta):
    """200 data sets of 2 + 3 X^-0.3 with X centred, fitted at once, by the delta method."""
    one, middle = straight(X, 2 + 3 * X**-0.3, True, delta)
    truth = np.array([[math.log(3) - 0.3 * middle, -0.3, math.log(2)]])
    target = one.target + 0.002 * rng.standard_normal((200, len(X)))
    law = LogSum(one.design, target, delta)
    theta = minimise(law, np.repeat(truth, 200, 0))
    errors = np.sqrt(np.diagonal(covariance(law, theta), axis1=1, axis2=2))
    hits = np.abs(theta - truth) < student_quantile(0.95, len(X) - 3) * errors
    assert hits.mean(0).min() >= 0.90
    assert hits.mean(0).max() <= 0.99


@pytest.mark.parametrize("factor", [1e-6, 1e6])
def test_the_unit_of_the_loss_does_not_change_the_exponent(rng, factor):
    y = noisy(rng, 2 + 3 * X**-0.3, 0.002)
    here, there = (fit_power_law(X, u * y, offset=True, delta=0.002) for u in (1, factor))
    assert there.exponent == pytest.approx(here.exponent, rel=1e-5)
    assert there.interval == pytest.approx(here.interval, rel=1e-5)
    assert there.offset == pytest.approx(factor * here.offset, rel=1e-5)


def test_intervals_of_the_bootstrap_cover(rng):
    """200 data sets, each redrawn 99 times; the fits start at the fit of their own data."""
    law, theta = sweeps(rng)
    sets = [redrawn(law.rows(i), theta[i], 99, rng).target for i in np.arange(200)[:, None]]
    many = LogSum(law.design, np.concatenate(sets), math.inf)
    slopes = minimise(many, np.repeat(theta, 99, 0))[:, 1].reshape(200, 99)
    low, high = np.quantile(slopes, [0.025, 0.975], axis=1)
    assert 0.90 <= np.mean((low <= -0.3) & (high >= -0.3)) <= 0.99


def test_the_bootstrap_is_about_as_wide_as_student_s(rng):
    y = noisy(rng, 3 * X**-0.3)
    ends = bootstrap_exponent(X, y)
    assert np.ptp(ends) == pytest.approx(np.ptp(fit_power_law(X, y).interval), rel=0.15)


def test_the_bootstrap_s_ends_are_quantiles_of_lines_through_residuals_drawn_anew(rng):
    y = noisy(rng, 3 * X**-0.3)
    law, _ = straight(X, y, False, math.inf)
    theta = minimise(law, np.zeros((1, 2)))
    drawn = redrawn(law, theta, 99, np.random.default_rng(5)).target
    slopes = np.polyfit(np.log(X), drawn.T, 1)[0]
    ends = bootstrap_exponent(X, y, level=0.5, resamples=99, seed=5)
    assert ends == pytest.approx(np.quantile(slopes, [0.25, 0.75]).tolist(), rel=1e-8)


def test_the_bootstrap_draws_999_times_unless_another_number_is_asked_for(rng):
    y = noisy(rng, 3 * X**-0.3)
    expected = bootstrap_exponent(X, y, level=0.95, resamples=999, seed=0)
    assert bootstrap_exponent(X, y) == expected


def test_points_held_out_of_an_exact_law_are_foretold():
    assert np.abs(held_out_errors(X, 3 * X**-0.3, 4)).max() < 1e-12


def test_one_point_is_held_out():
    y = 3 * X**-0.3
    y[-1] *= 2
    assert held_out_errors(X, y, 1) == pytest.approx([-math.log(2)])


def test_runs_of_one_size_are_held_out_in_the_order_given(rng):
    """All are foretold as 1, so the errors are those of the runs themselves."""
    x, y, errors = np.tile([100.0, 1.0, 10.0], 40), np.ones(120), rng.standard_normal(40)
    y[::3] = np.exp(errors)
    assert held_out_errors(x, y, 40) == pytest.approx(-errors, abs=1e-9)


def test_a_bad_point_among_the_small_does_not_decide_a_robust_forecast(rng):
    y = noisy(rng, 3 * X**-0.3, 0.002)
    y[0] *= 3
    plain, robust = (held_out_errors(X, y, 4, delta=d) for d in (math.inf, 0.002))
    assert np.abs(robust).max() < 0.02 < np.abs(plain).max()


def test_the_largest_sizes_are_held_out_wherever_they_stand(rng):
    """An exact law but for its two largest points, which are twice as high: log(1/2) each."""
    y = 3 * X**-0.3
    y[-2:] *= 2
    order = rng.permutation(len(X))
    assert held_out_errors(X[order], y[order], 2) == pytest.approx([-math.log(2)] * 2)


def test_a_line_through_a_law_with_a_floor_foretells_too_little():
    y = 2 + 3 * X**-0.3
    assert held_out_errors(X, y, 4)[-1] < -0.02
    assert np.abs(held_out_errors(X, y, 4, offset=True)).max() < 1e-6


@pytest.mark.parametrize(("top", "short"), [(9.0, True), (1000.0, False)])
def test_a_range_of_less_than_ten_is_called_too_short(top, short):
    x = np.geomspace(1, top, 8)
    assert fit_power_law(x, 3 * x**-0.3).too_short is short


@pytest.mark.parametrize(
    ("interval", "open_sign"),
    [((-0.3, -0.1), False), ((-0.2, 0.0), True), ((-0.1, 0.1), True), ((0.0, 0.2), True)],
)
def test_an_interval_that_reaches_zero_leaves_the_sign_open(interval, open_sign):
    law = PowerLaw(1.0, sum(interval) / 2, interval, 0.0, decades=2.0, points=9)
    assert law.too_short is open_sign


def test_an_exponent_lost_in_noise_is_called_too_short():
    up_and_down = np.where(np.arange(len(X)) % 4 < 2, 0.5, 2.0)
    assert fit_power_law(X, up_and_down).too_short


@pytest.mark.parametrize(
    ("dof", "expected"),
    [(1, math.tan(0.475 * math.pi)), (2, 0.95 / math.sqrt(2 * 0.975 * 0.025))],
)
def test_quantiles_are_the_closed_forms_of_one_and_two_degrees(dof, expected):
    assert student_quantile(0.95, dof) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("dof", [1, 7, 59, 3000])
@pytest.mark.parametrize("level", [0.5, 0.95, 0.999])
def test_a_quantile_holds_its_share_of_the_density(level, dof):
    reach = student_quantile(level, dof)
    share, _ = quad(scipy.stats.t(dof).pdf, -reach, reach, epsabs=1e-12, limit=200)
    assert share == pytest.approx(level, rel=1e-9)


BAD = {
    "negative": ([1, 2, -3], [1, 2, 3], {}, r"x\[2\]=-3.0 must be positive"),
    "zero": ([1, 0, 3], [1, 2, 3], {}, r"x\[1\]=0.0 must be positive"),
    "nan": ([1, 2, 3], [1, float("nan"), 3], {}, r"y\[1\]=nan must be positive"),
    "lengths": ([1, 2, 3], [1, 2], {}, "x has 3 numbers and y has 2"),
    "few": ([1, 2], [1, 2], {}, "2 points at 2 different x cannot give 2 unknowns"),
    "one x": ([2, 2, 2], [1, 2, 3], {}, "3 points at 1 different x"),
    "delta": ([1, 2, 3], [1, 2, 3], {"delta": 0.0}, "delta=0.0 must be positive"),
    "level": ([1, 2, 3], [1, 2, 4], {"level": 1.0}, "level=1.0 must lie between 0 and 1"),
    "table": (np.ones((2, 2)), [1, 2], {}, r"x has shape \(2, 2\)"),
}


@pytest.mark.parametrize(("x", "y", "options", "message"), BAD.values(), ids=BAD.keys())
def test_bad_points_are_refused(x, y, options, message):
    with pytest.raises(InputError, match=message):
        fit_power_law(x, y, **options)


def test_an_offset_that_is_not_there_is_refused():
    with pytest.raises(InputError, match=r"the data do not determine the offset|has not ended"):
        fit_power_law(X, 3 * X**-0.3, offset=True)


@pytest.mark.parametrize("held", [0, 16])
def test_too_many_or_no_points_held_out_are_refused(held):
    with pytest.raises(InputError, match=f"held={held} must be at least 1"):
        held_out_errors(X, X, held)


def test_too_few_resamples_are_refused():
    with pytest.raises(InputError, match="resamples=5 must be at least 20"):
        bootstrap_exponent(X, X, resamples=5)


@pytest.mark.parametrize("start", [1.0, 2.0, 4 / 7, 1e5])
def test_exactly_one_decade_is_not_too_short(start):
    x = start * np.array([1.0, 2.0, 4.0, 8.0, 10.0])
    assert not fit_power_law(x, 12 * x**-0.1).too_short
    assert fit_power_law(x[:4], 12 * x[:4] ** -0.1).too_short


def test_a_coefficient_that_no_float_holds_is_said():
    """A power of -60 about 10⁸: e^(60 · 18.4) = e^1105."""
    x = np.linspace(1, 1.2, 9)
    with pytest.raises(InputError, match=r"coefficient = e\^1105 is larger than any float"):
        fit_power_law(1e8 * x, x**-60)
