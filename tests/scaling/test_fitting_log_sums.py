"""The search that all fits share, on a law whose minimum is known."""

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import uniform

from mathlm.errors import InputError
from mathlm.scaling import fitting
from mathlm.scaling.fitting import (
    LogSum,
    covariance,
    least_minimum,
    minimise,
    redrawn,
    require_minimum,
    resampled,
    share_inside,
    slopes,
    solved,
    student_quantile,
)
from mathlm.scaling.power_law import straight

X = np.geomspace(10, 1e6, 16)
LAW, MIDDLE = straight(X, 2 + 3 * X**-0.3, True, math.inf)
TRUTH = np.array([[math.log(3) - 0.3 * MIDDLE, -0.3, math.log(2)]])
NAMES = ["the power", "the offset"]
NO_OFFSET = np.array([[1.0, -0.1, -800.0]])  # exp(-800) is 0: nothing pulls it back


@pytest.mark.parametrize("order", [1, -1])
def test_the_least_of_the_ends_is_taken(order):
    starts = np.concatenate([TRUTH + 0.1, NO_OFFSET])[::order]
    assert least_minimum(LAW, starts, NAMES) == pytest.approx(TRUTH, rel=1e-7)


def test_a_term_that_is_nowhere_seen_is_refused():
    end = minimise(LAW, NO_OFFSET)
    with pytest.raises(InputError, match="do not determine the offset: its share of the fit"):
        require_minimum(LAW, end, NAMES)


def test_each_data_set_of_many_has_its_own_end():
    many = LAW.rows(np.array([0, 0]))
    many.target[1] += 1  # e times the law
    ends = minimise(many, np.repeat(TRUTH + 0.1, 2, 0))
    assert ends[:1] == pytest.approx(TRUTH, rel=1e-6)
    assert ends[1:] == pytest.approx(TRUTH + np.array([1, 0, 1]), rel=1e-6)


@pytest.mark.parametrize("r", [0.2, 0.002])
def test_residuals_of_one_sign_leave_the_whole_gradient(r):
    """All are alike: of what they pull at a term, nothing cancels, so the share left is 1."""
    off = TRUTH + np.array([r, 0, r])
    two = slopes(LAW.rows(np.array([0, 0])), np.concatenate([off, TRUTH]))
    assert two.unevenness == pytest.approx([1, 0], abs=1e-4)


def test_exact_data_end_the_search_at_once(monkeypatch):
    looked = []
    monkeypatch.setattr(fitting, "slopes", lambda *at: looked.append(1) or slopes(*at))
    assert minimise(LAW, TRUTH + 0.1) == pytest.approx(TRUTH, rel=1e-7)
    assert len(looked) < 15


def test_data_sets_of_far_apart_sizes_have_finite_logarithms():
    """log(e^1000 + 1) beside log(1 + 1)."""
    log_y, _ = LAW.curve(np.array([[1000.0, 0, 0], [0, 0, 0]]))
    assert log_y == pytest.approx(np.repeat([[1000.0], [math.log(2)]], len(X), 1))


def test_no_step_is_longer_than_four():
    """The Newton step, halved by the first damping, would be 10 of the 20 that are wanted."""
    there = minimise(LAW, TRUTH + np.array([20.0, 0, 20.0]), steps=1)
    assert np.abs(there - TRUTH - np.array([20.0, 0, 20.0])).max() == pytest.approx(4)


def test_a_search_ends_where_the_gradient_is_zero_to_rounding(rng):
    law = replace(LAW, target=LAW.target + 0.01 * rng.standard_normal((60, len(X))))
    assert slopes(law, minimise(law, np.repeat(TRUTH, 60, 0))).unevenness.max() < 1e-10


def test_a_metric_weighs_each_residual_by_what_the_loss_makes_of_it():
    """Σ counts · min(1, δ / |r|) j jᵀ, whose columns are a constant and a centred logarithm."""
    line, _ = straight(X, np.ones(16), False, 0.1)
    r = np.array([0.0, 0.05, 0.2, -0.4] * 4)
    counts = np.array([[1.0, 2.0, 0.0, 3.0] * 4])
    law = replace(line, target=-r[None], counts=counts)
    weight = counts[0] * np.array([1, 1, 0.5, 0.25] * 4)
    columns = np.stack([np.ones(16), np.log(X) - np.log(X).mean()])
    expected = (columns * weight) @ columns.T
    assert slopes(law, np.zeros((1, 2))).metric[0] == pytest.approx(expected, rel=1e-6)


def test_a_metric_is_positive_where_no_point_sees_a_term():
    """It is in proportion there to the rest: data that count twice have twice as much."""
    once, twice = (
        slopes(replace(LAW, counts=np.full((1, 16), c)), NO_OFFSET).metric for c in (1.0, 2.0)
    )
    assert np.linalg.eigvalsh(once).min() > 0
    assert twice[0, 2, 2] == pytest.approx(2 * once[0, 2, 2], rel=1e-9)


def test_the_loss_itself_settles_which_end_is_the_least(monkeypatch):
    """Residuals that are alike have the least squares, uneven ones the smaller sum.

    With a rise of 0.093 for each nat of log x they have a root mean square of 0.33 against 0.3
    and a mean size of 0.29.
    """
    monkeypatch.setattr(fitting, "minimise", lambda law, start, steps=0: start)
    monkeypatch.setattr(fitting, "require_minimum", lambda *_: None)
    line, _ = straight(X, np.ones(16), False, 0.001)
    starts = np.array([[0.3, 0], [0, 0.093]])
    assert least_minimum(line, starts, ["the power"]).tolist() == [[0, 0.093]]


def test_a_system_is_solved_and_a_singular_one_by_its_shortest_solution():
    small = np.array([[[1.0, 0], [0, 1e-20]]])
    assert solved(small, np.array([[1.0, 1e-20]])) == pytest.approx(np.ones((1, 2)))
    ones = np.ones((1, 2, 2))
    assert solved(ones, np.array([[2.0, 2.0]])) == pytest.approx(np.ones((1, 2)))


@pytest.mark.parametrize("level", [0.0, 1.0])
def test_an_interval_that_holds_nothing_or_all_is_refused(level):
    with pytest.raises(InputError, match=f"level={level} must lie between 0 and 1"):
        student_quantile(level, 3)


R = np.array([[0.0, 0.1, -0.1, 0.2, 0.3, -0.4, 5.0, -7.0]])


def test_the_share_inside_is_that_of_residuals_moved_by_a_window():
    """Uniform, as wide as Silverman's 1.06 σ N^-0.2 is a standard deviation; σ from the median.

    The absolute residuals have the median 0.25.
    """
    sigma = 1.4826 * 0.25 * math.sqrt(8 / 5)
    h = math.sqrt(3) * 1.06 * sigma / 8**0.2
    moved = uniform(-h, 2 * h)
    inside = (moved.cdf(0.35 - R) - moved.cdf(-0.35 - R)).mean()
    expected = inside * (1 - (1 - inside) * 3 / 8)
    assert share_inside(R, 0.35, 3) == pytest.approx(expected, rel=1e-12)


def test_the_variance_of_a_robust_mean_is_that_of_the_cut_residuals():
    """Σ ψ² / (N − 1) / s² / N, with residuals cut at 0.35 and s the share inside."""
    law = LogSum(np.ones((1, 8, 1)), -R, 0.35)
    squares = 0.1**2 + 0.1**2 + 0.2**2 + 0.3**2 + 3 * 0.35**2
    expected = squares / 7 / share_inside(R, 0.35, 1)[0] ** 2 / 8
    assert covariance(law, np.zeros((1, 1)))[0, 0, 0] == pytest.approx(expected, rel=1e-12)


def test_as_many_points_as_unknowns_leave_no_spread():
    three = LogSum(LAW.design[:, :3], LAW.target[:, :3], math.inf)
    with pytest.raises(InputError, match="3 points leave no spread to 3 unknowns"):
        covariance(three, TRUTH)
    with pytest.raises(InputError, match="3 points must be more than the 3 unknowns"):
        redrawn(three, TRUTH, 20, np.random.default_rng(0))


def test_twenty_draws_are_enough(rng):
    assert resampled(LAW, 3, 20, rng).times.shape == (20, 16)
    with pytest.raises(InputError, match="resamples=19 must be at least 20"):
        resampled(LAW, 3, 19, rng)


def test_residuals_drawn_anew_are_centred_and_larger_by_what_the_fit_took(rng):
    """Residuals of 9 and seven of 1 are 7 and -1 about their mean, times √(8 / 7)."""
    law = LogSum(np.ones((1, 8, 1)), np.array([[9.0, 1, 1, 1, 1, 1, 1, 1]]), math.inf)
    drawn = redrawn(law, np.zeros((1, 1)), 50, rng).target
    assert np.unique(drawn) == pytest.approx(np.array([-1, 7]) * math.sqrt(8 / 7))
