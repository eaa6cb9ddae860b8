"""Strengths from wins: by hand, by two methods, by scikit-learn, and where there are none."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mathlm.align import count_wins, fit_linear_reward, fit_strengths, fit_strengths_by_mm
from mathlm.align.reward.bradley_terry import maximize
from mathlm.errors import InputError


@pytest.fixture
def wins(rng):
    """Five items, each pair compared a few times."""
    w = rng.integers(1, 9, (5, 5)).astype(float)
    np.fill_diagonal(w, 0)
    return w


def regression(x, penalty=None):
    """Weights of scikit-learn for choices with these differences, and their mirror images."""
    sklearn = pytest.importorskip("sklearn.linear_model")
    rows, labels = np.concatenate((x, -x)), np.repeat([1, 0], len(x))
    options = {"C": np.inf} if penalty is None else {"C": 1 / (2 * penalty)}
    model = sklearn.LogisticRegression(
        fit_intercept=False, solver="newton-cholesky", tol=1e-12, max_iter=1000, **options
    )
    return model.fit(rows, labels).coef_[0]


def test_two_items_differ_by_the_log_of_their_odds():
    """3 wins of 4: odds of 3, and a variance of 1/3 + 1 of the logarithm of the odds."""
    fit = fit_strengths([[0, 3], [1, 0]])
    assert fit.values.tolist() == pytest.approx([np.log(3) / 2, -np.log(3) / 2], abs=1e-10)
    assert fit.difference(0, 1) == pytest.approx((np.log(3), np.sqrt(4 / 3)), abs=1e-9)
    assert fit.standard_errors.tolist() == pytest.approx([np.sqrt(1 / 3)] * 2, abs=1e-9)
    assert fit.log_likelihood == pytest.approx(3 * np.log(0.75) + np.log(0.25), abs=1e-12)


def test_the_error_of_a_difference_shrinks_with_the_wins():
    """30 wins of 40: a variance of 1/30 + 1/10."""
    found = fit_strengths([[0, 30], [10, 0]]).difference(0, 1)
    assert found == pytest.approx((np.log(3), np.sqrt(4 / 30)), abs=1e-9)


def test_each_item_wins_as_often_as_its_strength_says(wins):
    """Where the slope is zero: wins = Σ_j n_ij σ(s_i - s_j); the sum is zero."""
    s = fit_strengths(wins).values
    expected = ((wins + wins.T) / (1 + np.exp(s - s[:, None]))).sum(1)
    np.testing.assert_allclose(expected, wins.sum(1), rtol=1e-10)
    assert abs(s.sum()) < 1e-12


def test_newton_and_zermelo_agree(wins):
    values, steps = fit_strengths_by_mm(wins)
    newton = fit_strengths(wins)
    np.testing.assert_allclose(values, newton.values, atol=1e-10)
    assert newton.steps < steps


def test_zermelo_takes_as_many_steps_as_it_needs():
    """Equal items stay as they are: one step of 0, which no tolerance is too small for."""
    assert fit_strengths_by_mm([[0, 2], [2, 0]], tolerance=0.0, most=1)[1] == 1
    _, steps = fit_strengths_by_mm([[0, 3], [1, 0]])
    assert fit_strengths_by_mm([[0, 3], [1, 0]], most=steps)[1] == steps
    with pytest.raises(InputError, match=f"after {steps - 1} steps a strength still changes"):
        fit_strengths_by_mm([[0, 3], [1, 0]], most=steps - 1)
    with pytest.raises(InputError, match="most=0 must be an integer of at least 1"):
        fit_strengths_by_mm([[0, 3], [1, 0]], most=0)


def test_zermelo_never_lowers_the_likelihood(wins):
    s, before = np.zeros(5), -np.inf
    for _ in range(12):
        now = -(wins * np.logaddexp(0, s - s[:, None])).sum()
        assert now >= before
        before = now
        pi = np.exp(s)
        s = np.log(wins.sum(1) / ((wins + wins.T) / (pi[:, None] + pi)).sum(1))
        s -= s.mean()
    np.testing.assert_allclose(s, fit_strengths_by_mm(wins)[0], atol=0.05)


def test_strengths_are_a_logistic_regression_of_scikit_learn(wins):
    i, j = np.nonzero(wins)
    rows = np.repeat(np.eye(5)[i] - np.eye(5)[j], wins[i, j].astype(int), axis=0)
    theirs = np.append(regression(rows[:, :-1]), 0.0)  # the last item is their zero
    np.testing.assert_allclose(fit_strengths(wins).values, theirs - theirs.mean(), atol=1e-6)


def test_covariance_is_the_spread_of_many_repetitions():
    """Of 400 tournaments between three items with known strengths."""
    rng, true = np.random.default_rng(3), np.array([0.5, 0.0, -0.5])
    p = 1 / (1 + np.exp(true - true[:, None]))
    fits = []
    for _ in range(400):
        w = np.triu(rng.binomial(200, p), 1)
        fits.append(fit_strengths(w + np.triu(200 - w, 1).T))
    spread = np.cov(np.stack([f.values for f in fits]).T)
    expected = np.mean([f.covariance for f in fits], 0)
    np.testing.assert_allclose(expected, spread, atol=0.2 * spread.max())
    np.testing.assert_allclose(fits[0].covariance.sum(1), 0, atol=1e-12)
    np.testing.assert_allclose(np.mean([f.values for f in fits], 0), true, atol=0.02)


def test_a_prior_is_a_ridge_of_scikit_learn(wins):
    i, j = np.nonzero(wins)
    rows = np.repeat(np.eye(5)[i] - np.eye(5)[j], wins[i, j].astype(int), axis=0)
    fit = fit_strengths(wins, prior_std=0.7)
    np.testing.assert_allclose(fit.values, regression(rows, 1 / 0.49), atol=1e-6)


def test_a_prior_gives_strengths_to_who_never_lost():
    one = fit_strengths([[0, 4], [0, 0]], prior_std=1.0)
    s = one.values[0]
    assert 4 / (1 + np.exp(2 * s)) == pytest.approx(s, abs=1e-9)  # slope of the posterior
    p = 1 / (1 + np.exp(-2 * s))  # along (1, -1) the curvature is 2 · 4 p (1 - p) + 1
    assert one.covariance[0, 0] == pytest.approx(0.5 / (8 * p * (1 - p) + 1), abs=1e-9)


@pytest.mark.parametrize("std", [0, -1.0])
def test_a_prior_without_width_is_refused(std):
    with pytest.raises(InputError, match=f"prior_std={std} must be positive"):
        fit_strengths([[0, 1], [1, 0]], std)


@pytest.mark.parametrize("fit", [fit_strengths, fit_strengths_by_mm])
def test_who_never_lost_is_named(fit):
    """0 and 1 beat each other and everyone; nobody else beats them."""
    wins = np.ones((5, 5)) - np.eye(5)
    wins[2:, :2] = 0
    with pytest.raises(InputError, match=r"the numbers \{0, 1\} never lost to any other"):
        fit(wins)


def test_who_never_won_is_found_by_those_who_never_lost():
    wins = np.ones((4, 4)) - np.eye(4)
    wins[3] = 0
    with pytest.raises(InputError, match=r"the numbers \{0, 1, 2\} never lost"):
        fit_strengths(wins)


def test_who_was_never_compared_is_named():
    wins = np.zeros((4, 4))
    wins[0, 1] = wins[1, 0] = wins[2, 3] = wins[3, 2] = 1
    with pytest.raises(InputError, match=r"\{0, 1\} were never compared with any other"):
        fit_strengths(wins)


def test_the_smallest_of_the_sets_that_never_lost_is_named():
    """0 and 1 beat each other and 3, as 2 does, which is fewer."""
    wins = np.zeros((4, 4))
    wins[0, 1] = wins[1, 0] = wins[0, 3] = wins[2, 3] = 1
    with pytest.raises(InputError, match=r"the numbers \{2\} never lost"):
        fit_strengths(wins)


@pytest.mark.parametrize(("unbeaten", "more"), [(8, ""), (9, " …")])
def test_not_more_than_eight_are_named(unbeaten, more):
    """A circle, the first of which beats one item outside it."""
    wins = np.zeros((unbeaten + 1, unbeaten + 1))
    wins[:-1, :-1] = np.roll(np.eye(unbeaten), 1, axis=1)
    wins[0, -1] = 1
    with pytest.raises(InputError, match=rf"\{{0, 1, 2, 3, 4, 5, 6, 7{more}\}} never lost"):
        fit_strengths(wins)


def test_a_cycle_of_single_wins_is_enough():
    """Each beats the next one once: all are equally strong."""
    fit = fit_strengths(np.roll(np.eye(6), 1, axis=1))
    np.testing.assert_allclose(fit.values, 0, atol=1e-12)


@settings(deadline=None, max_examples=50)
@given(st.integers(0, 10_000))
def test_there_is_a_maximum_exactly_if_nobody_is_unbeaten(seed):
    """Sets of items, all of them, against the search along wins."""
    w = (np.random.default_rng(seed).random((4, 4)) < 0.35) * 1.0
    np.fill_diagonal(w, 0)
    sets = [[i for i in range(4) if k >> i & 1] for k in range(1, 15)]
    rest = [[i for i in range(4) if i not in s] for s in sets]
    exists = all(w[np.ix_(r, s)].any() for s, r in zip(sets, rest, strict=True))
    try:
        s = fit_strengths(w).values
    except InputError:
        assert not exists
    else:
        assert exists
        assert np.isfinite(s).all()


@pytest.mark.parametrize(
    ("wins", "message"),
    [
        ([[0, 1, 2], [1, 0, 1]], "must be square"),
        ([[1, 1], [1, 0]], "zero diagonal"),
        ([[0, -1], [1, 0]], "at least 0"),
        ([[0, np.nan], [1, 0]], "finite counts"),
    ],
    ids=["oblong", "self", "negative", "nan"],
)
def test_what_is_no_table_of_wins_is_refused(wins, message):
    with pytest.raises(InputError, match=message):
        fit_strengths(wins)


def test_wins_are_counted():
    assert count_wins([0, 0, 2], [1, 1, 0], 3).tolist() == [[0, 2, 0], [0, 0, 0], [1, 0, 0]]
    with pytest.raises(InputError, match="comparison 1 is of item 2 with itself"):
        count_wins([0, 2], [1, 2], 3)
    with pytest.raises(InputError, match="numbered 0 to 2; found 0 to 3"):
        count_wins([0], [3], 3)
    for winners, losers in (([0], [1, 2]), ([[0]], [[1]])):
        with pytest.raises(InputError, match="must be equally long rows"):
            count_wins(winners, losers, 3)


def choices(rng, n=300):
    """Pairs with four features, and choices by known weights."""
    a, b = rng.normal(size=(2, n, 4))
    better = (a - b) @ np.array([1.0, -0.5, 0.0, 2.0]) + rng.logistic(size=n) > 0
    return np.where(better[:, None], a, b), np.where(better[:, None], b, a)


def test_a_linear_reward_is_the_logistic_regression_of_scikit_learn(rng):
    chosen, rejected = choices(rng)
    fit = fit_linear_reward(chosen, rejected)
    np.testing.assert_allclose(fit.weights, regression(chosen - rejected), atol=1e-6)


def test_a_ridge_is_that_of_scikit_learn(rng):
    chosen, rejected = choices(rng)
    fit = fit_linear_reward(chosen, rejected, ridge=3.0)
    np.testing.assert_allclose(fit.weights, regression(chosen - rejected, 3.0), atol=1e-6)


def test_a_small_ridge_decides_about_the_last_steps():
    """They shorten the weights: the likelihood falls, and the penalty falls by more."""
    rows = np.array([[1.0, 0], [1, -1], [-1, 27], [-1, -7]])
    fit = fit_linear_reward(rows, np.zeros((4, 2)), ridge=1e-3)
    np.testing.assert_allclose(fit.weights, regression(rows, 1e-3), atol=1e-6)


def test_one_choice_by_one_feature_with_a_ridge():
    """No exception is needed: w = σ(-w), where log σ(w) - w²/2 bends by w (1 - w) + 1."""
    fit = fit_linear_reward([[1.0]], [[0.0]], ridge=1)
    w = fit.weights[0]
    assert w == pytest.approx(1 / (1 + np.exp(w)), abs=1e-10)
    assert fit.covariance[0, 0] == pytest.approx(1 / (w * (1 - w) + 1), abs=1e-10)
    assert fit.log_likelihood == pytest.approx(np.log(1 - w), abs=1e-10)


@pytest.mark.parametrize("unit", [1e-16, 1e-9, 1e9])
def test_the_unit_of_a_feature_does_not_matter(rng, unit):
    """Of one feature, and of all: the weights are for other units, and otherwise the same."""
    chosen, rejected = choices(rng)
    first = np.array([unit, 1, 1, 1])
    usual = fit_linear_reward(chosen, rejected)
    for units in (first, np.full(4, unit)):
        fit = fit_linear_reward(chosen * units, rejected * units)
        np.testing.assert_allclose(fit.weights * units, usual.weights, atol=1e-10)
        errors = fit.standard_errors * units
        np.testing.assert_allclose(errors, usual.standard_errors, rtol=1e-8)


def test_errors_of_weights_are_those_of_the_second_derivatives(rng):
    """The curvature by differences of the likelihood, in the middle of a small cube."""
    chosen, rejected = choices(rng)
    fit, x, h = fit_linear_reward(chosen, rejected), chosen - rejected, 1e-4

    def value(w):
        return -np.logaddexp(0, -(x @ w)).sum()

    assert value(fit.weights) == pytest.approx(fit.log_likelihood)
    steps = h * np.eye(4)
    bend = [
        [
            sum(s * t * value(fit.weights + s * a + t * b) for s in (1, -1) for t in (1, -1))
            for b in steps
        ]
        for a in steps
    ]
    expected = np.linalg.inv(-np.array(bend) / (4 * h * h))
    np.testing.assert_allclose(fit.covariance, expected, rtol=1e-4, atol=1e-7)


def test_a_linear_reward_can_be_asked(rng):
    chosen, rejected = choices(rng)
    fit = fit_linear_reward(chosen, rejected)
    np.testing.assert_allclose(fit(chosen), chosen @ fit.weights)
    assert (fit(chosen) > fit(rejected)).mean() > 0.8


def test_features_that_tell_every_choice_have_no_maximum(rng):
    chosen, rejected = choices(rng)
    chosen[:, 2] = rejected[:, 2] + np.abs(chosen[:, 2])
    with pytest.raises(InputError, match="put none of the 300 choices on the wrong side"):
        fit_linear_reward(chosen, rejected)
    assert fit_linear_reward(chosen, rejected, ridge=1.0).weights[2] > 1


def test_weights_that_tell_every_choice_are_named():
    """The first step from 0 is 2 for the first feature and 2/3 for the other."""
    rows = 1e-3 * np.array([[1.0, 0.0], [0.0, 3.0]])
    with pytest.raises(InputError, match=r"the weights \[1\.0, 0\.333\] put none of the 2"):
        fit_linear_reward(rows, np.zeros((2, 2)))


def test_a_feature_that_never_speaks_against_its_pairs_has_no_maximum_either(rng):
    """Quasi-separation: 20 choices are told by feature 2, of which the others have nothing."""
    chosen, rejected = choices(rng)
    chosen[:, 2], rejected[:, 2] = 0, 0
    chosen[:20, 2] = 1
    with pytest.raises(InputError, match="grows without end"):
        fit_linear_reward(chosen, rejected)


def test_a_step_that_is_too_long_is_halved():
    """Log cosh(w - 2): the first Newton step from 0 goes to sinh(4)/2; a quarter is taken."""
    places = []
    w, steps = maximize(
        lambda w: -np.log(np.cosh(w[0] - 2)),
        lambda w: (-np.tanh(w - 2), np.cosh(w - 2)[None] ** -2),
        1,
        watch=lambda w, move: places.append((w[0], move[0])),
    )
    assert w[0] == pytest.approx(2.0, abs=1e-10)
    assert steps < 12
    assert places[0] == pytest.approx((0, np.sinh(4) / 2))
    assert places[1][0] == pytest.approx(np.sinh(4) / 8)


def parabola(w):
    """Slope and curvature of -(w - 3)²/2."""
    return 3 - w, np.eye(1)


def test_the_maximum_of_a_parabola_takes_a_step_to_it_and_one_to_see_it():
    w, steps = maximize(lambda w: -((w[0] - 3) ** 2) / 2, parabola, 1)
    assert (w.tolist(), steps) == ([3.0], 2)


def test_a_ridge_makes_the_parabola_steeper():
    """-(w - 3)²/2 - w² is largest at 1."""
    w, steps = maximize(lambda w: -((w[0] - 3) ** 2) / 2, parabola, 1, ridge=2)
    assert (w.tolist(), steps) == ([1.0], 2)


def test_a_value_may_fall_by_its_rounding():
    """1e-14 of it."""
    w, _ = maximize(lambda w: 1e6 - 1e-8 * (w[0] > 0), parabola, 1)
    assert w.tolist() == [3.0]


def test_a_step_that_is_small_beside_the_solution_is_none():
    """From a thousand million it would go on and on by 0.01, a part in 10^11."""
    slope = lambda w: np.full(1, 0.01 if w[0] else 1e9)  # noqa: E731
    w, steps = maximize(lambda w: w[0], lambda w: (slope(w), np.eye(1)), 1)
    assert (w.tolist(), steps) == ([1e9 + 0.01], 2)


def test_what_has_no_maximum_is_given_up_after_a_hundred_steps():
    """A line, with a curvature that makes each step 1."""
    places = []
    with pytest.raises(InputError, match="no maximum was found in 100 steps"):
        maximize(
            lambda w: w[0],
            lambda w: (np.ones(1), np.eye(1)),
            1,
            watch=lambda w, _: places.append(w),
        )
    assert [w[0] for w in places] == list(range(100))


def test_features_that_say_nothing_are_named(rng):
    chosen, rejected = choices(rng)
    rejected[:, 1] = chosen[:, 1]
    with pytest.raises(InputError, match="feature 1 never differs"):
        fit_linear_reward(chosen, rejected)
    chosen, rejected = choices(rng)
    chosen[:, 3], rejected[:, 3] = chosen[:, 0] + 2, rejected[:, 0]
    rejected[:, 3] += 2
    with pytest.raises(InputError, match="4 features have rank 3"):
        fit_linear_reward(chosen, rejected)


def test_features_that_do_not_fit_are_refused(rng):
    for chosen, rejected in (
        ((3, 2), (4, 2)),
        ((3,), (3,)),
        ((0, 2), (0, 2)),
        ((2, 0), (2, 0)),
    ):
        with pytest.raises(InputError, match=r"must both be \(N, F\)"):
            fit_linear_reward(np.ones(chosen), np.ones(rejected))
    with pytest.raises(InputError, match="NaN"):
        fit_linear_reward(np.full((3, 2), np.nan), np.ones((3, 2)))
    with pytest.raises(InputError, match="ridge=-1"):
        fit_linear_reward(*choices(rng), ridge=-1)
