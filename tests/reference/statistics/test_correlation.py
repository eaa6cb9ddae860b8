import numpy as np
import pytest
import scipy.stats

from mathlm.errors import InputError, InputTypeError
from mathlm.reference import average_ranks, bootstrap_interval, pearson, spearman

BOTH = pytest.mark.parametrize("f", [pearson, spearman])


def test_ranks_are_scipy_s_with_ties(rng):
    x = rng.integers(10, size=50)
    np.testing.assert_array_equal(average_ranks(x), scipy.stats.rankdata(x))


@pytest.mark.parametrize("values", [3, 1000])
def test_both_correlations_are_scipy_s(values, rng):
    x, y = rng.integers(values, size=(2, 40)) + rng.integers(2, size=40)
    assert pearson(x, y) == pytest.approx(scipy.stats.pearsonr(x, y)[0], rel=1e-12)
    assert spearman(x, y) == pytest.approx(scipy.stats.spearmanr(x, y)[0], rel=1e-12)


def test_without_ties_spearman_is_the_formula_of_squared_differences():
    """ρ = 1 - 6 Σd²/(n(n² - 1)): ranks 1 2 3 4 5 against 2 1 4 3 5, Σd² = 4, ρ = 0.8."""
    assert spearman([1, 2, 3, 4, 5], [20, 10, 40, 30, 50]) == pytest.approx(0.8, rel=1e-12)


def test_spearman_does_not_see_an_increasing_map(rng):
    x, y = rng.normal(size=(2, 30))
    assert spearman(np.exp(5 * x), y**3) == pytest.approx(spearman(x, y), rel=1e-12)


@BOTH
def test_the_ends_of_the_scale_are_one_and_minus_one(f, rng):
    x = rng.normal(size=20)
    assert (f(x, 3 * x + 1), f(x, -x)) == pytest.approx((1.0, -1.0), rel=1e-12)


def test_rounding_leaves_no_correlation_beyond_one(rng):
    found = [(pearson(x, x), pearson(x, -x)) for x in rng.normal(size=(300, 7))]
    assert (np.max(found), np.min(found)) == (1, -1)


@pytest.mark.parametrize("scale", [1e200, 1e-200])
def test_numbers_whose_squares_leave_float64_are_correlated(scale):
    assert pearson([scale, 2 * scale, 4 * scale], [1, 2, 4]) == pytest.approx(1.0, rel=1e-12)


@BOTH
def test_a_constant_list_is_refused(f):
    with pytest.raises(InputError, match=r"all 3 entries of y are 0\.1"):
        f([1, 2, 3], [0.1] * 3)
    with pytest.raises(InputError, match=r"all 3 entries of x are 0\.1"):
        f([0.1] * 3, [1, 2, 3])


@BOTH
@pytest.mark.parametrize(("x", "y", "match"), [
    ([1, 2], [1, 2, 3], "must agree"),
    ([1], [1], "at least 2 entries"),
    ([[1, 2]], [[1, 2]], "expected one axis"),
    ([[1, 2], [3, 4]], [[1, 2], [3, 4]], "expected one axis"),
    ([1, np.nan], [1, 2], "x holds 1 NaN or infinite"),
    ([1, 2], [1, np.nan], "y holds 1 NaN or infinite"),
    ([], [], "x is empty"),
])  # fmt: skip
def test_what_is_no_two_lists_is_refused(f, x, y, match):
    with pytest.raises(InputError, match=match):
        f(x, y)


def test_words_have_no_ranks():
    with pytest.raises(InputTypeError, match="expected real numbers"):
        average_ranks(["a", "b"])
    with pytest.raises(InputError, match="expected one axis"):
        average_ranks([[1, 2]])


def test_intervals_hold_the_truth_as_often_as_they_say(rng):
    """Two normals of correlation 0.6, 100 times: 90 % intervals miss about 10 times."""
    missed = 0
    for _ in range(100):
        x, noise = rng.normal(size=(2, 80))
        low, high = bootstrap_interval(pearson, x, 0.6 * x + 0.8 * noise, rng, 200, 0.9)
        missed += not low < 0.6 < high
    assert 4 <= missed <= 20


def test_ends_of_the_interval_leave_out_equal_shares(rng):
    """Samples with the values 0 to 100: a share of 0.05 lies below 5, and above 95."""
    values = iter(range(101))
    found = bootstrap_interval(lambda x, y: next(values), [1, 2], [1, 2], rng, 101, 0.9)
    assert found == pytest.approx((5, 95), rel=1e-12)


def test_one_sample_is_an_interval_of_its_own(rng):
    assert bootstrap_interval(lambda x, y: 7.0, [1, 2], [1, 2], rng, draws=1) == (7, 7)


def test_interval_draws_pairs_and_not_lists(rng):
    """Entries drawn apart would have a correlation around 0."""
    x = rng.normal(size=30)
    assert bootstrap_interval(spearman, x, x, rng, draws=20) == pytest.approx((1.0, 1.0))


def test_interval_is_drawn_from_its_generator(rng):
    x, y = rng.normal(size=(2, 20))
    again = [bootstrap_interval(pearson, x, y, np.random.default_rng(3)) for _ in range(2)]
    assert again[0] == again[1]


@pytest.mark.parametrize("bad", [{"draws": 0}, {"level": 1.0}, {"level": 0.0}])
def test_intervals_of_nothing_are_refused(bad, rng):
    with pytest.raises(InputError, match="must be positive, and level"):
        bootstrap_interval(pearson, [1, 2], [1, 2], rng, **bad)


def test_two_neighboring_numbers_correlate_fully():
    """Their mean is no number of the machine, so that one subtraction does not center them."""
    assert pearson([1 - 2**-53, 1.0], [1, 2]) == pytest.approx(1.0, abs=1e-15)


def test_a_statistic_that_is_not_finite_is_refused(rng):
    with pytest.raises(InputError, match="statistic of 5 samples is not finite"):
        bootstrap_interval(lambda x, y: float("nan"), [1, 2, 3], [1, 3, 2], rng, draws=5)
