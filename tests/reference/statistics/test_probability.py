import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy import stats

from mathlm.errors import InputError, InputTypeError
from mathlm.reference import (
    chain_factors,
    conditional,
    dependence,
    expectation,
    joint_covariance,
    posterior,
    softmax,
    sum_distribution,
    variance,
    variance_by_moments,
)

DIE = np.full(6, 1 / 6)
LIVE = st.lists(st.floats(-20, 20), min_size=4, max_size=4)


@pytest.fixture
def joint(rng):
    return softmax(rng.normal(size=12)).reshape(3, 4)


def test_mean_and_variance_of_a_fair_die():
    """Mean 21/6; variance 91/6 - 49/4 = 35/12."""
    assert_allclose(expectation(np.arange(1, 7), DIE), 3.5)
    assert_allclose(variance(np.arange(1, 7), DIE), 35 / 12)


@given(x=LIVE, z=LIVE)
def test_both_formulas_of_the_variance_agree(x, z):
    p = softmax(z)
    assert_allclose(
        variance(x, p), variance_by_moments(x, p), atol=1e-12 * (1 + max(map(abs, x)) ** 2)
    )


def test_values_of_a_narrow_kind_are_squared_in_float64():
    """0 or 16 with the mean 8: (0 + 256)/2 - 64, where 256 is no number of eight bits."""
    assert variance_by_moments(np.array([0, 16], dtype=np.uint8), [0.5, 0.5]) == 64


def test_only_the_centered_formula_survives_a_large_mean():
    """Values 4, 5, 6 moved by 1e9 keep the variance 2/3; their squares need 19 digits."""
    x, p = np.array([4.0, 5.0, 6.0]) + 1e9, np.full(3, 1 / 3)
    assert_allclose(variance(x, p), 2 / 3, rtol=1e-6)
    assert abs(variance_by_moments(x, p) - 2 / 3) > 0.5


def test_squares_of_large_integers_are_those_of_numbers():
    """E[X²] - E[X]² = 2^80 / 2 - (2^40 / 2)² = 2^78, where 2^80 is beyond int64."""
    assert variance_by_moments(np.array([0, 2**40]), [0.5, 0.5]) == 2.0**78


def test_each_row_has_its_own_mean_and_variance(rng):
    x, p = rng.normal(size=(3, 5)), softmax(rng.normal(size=(3, 5)))
    rows = [stats.rv_discrete(values=(range(5), q)) for q in p]
    for i, row in enumerate(rows):
        assert_allclose(expectation(x, p)[i], row.expect(lambda k, i=i: x[i][k.astype(int)]))
    assert_allclose(variance(x, p), [variance(a, b) for a, b in zip(x, p, strict=True)])
    assert_allclose(variance_by_moments(x, p), variance(x, p))
    for f in (expectation, variance, variance_by_moments):
        assert_allclose(f(x[None], p), f(x, p)[None], strict=True)


def test_mean_of_a_sum_is_the_sum_of_means_for_dependent_variables(joint, rng):
    x, y = rng.normal(size=3), rng.normal(size=4)
    both = (2 * x[:, None] - 3 * y).ravel()
    expected = 2 * expectation(x, joint.sum(1)) - 3 * expectation(y, joint.sum(0))
    assert_allclose(expectation(both, joint.ravel()), expected)


def test_variance_of_a_sum_has_twice_the_covariance(joint, rng):
    x, y = rng.normal(size=3), rng.normal(size=4)
    total = variance((x[:, None] + y).ravel(), joint.ravel())
    apart = variance(x, joint.sum(1)) + variance(y, joint.sum(0))
    assert_allclose(total, apart + 2 * joint_covariance(x, y, joint))


def test_covariance_matches_weighted_numpy(joint, rng):
    x, y = rng.normal(size=3), rng.normal(size=4)
    pairs = np.array(list(itertools.product(x, y))).T
    expected = np.cov(pairs, aweights=joint.ravel(), ddof=0)[0, 1]
    assert_allclose(joint_covariance(x, y, joint), expected)


def test_uncorrelated_is_not_independent():
    """X uniform on -1, 0, 1 and Y = X²: covariance 0, but P(0, 0) = 1/3, not 1/9."""
    joint = np.array([[0.0, 1.0], [1.0, 0.0], [0.0, 1.0]]) / 3
    assert abs(joint_covariance([-1, 0, 1], [0, 1], joint)) < 1e-16
    assert_allclose(dependence(joint), 1 / 3 - 1 / 9)


def test_a_product_of_margins_is_independent(rng):
    p, q = softmax(rng.normal(size=3)), softmax(rng.normal(size=4))
    assert dependence(np.outer(p, q)) < 1e-16
    assert_allclose(conditional(np.outer(p, q)), np.tile(q, (3, 1)))


def test_hearts_are_red():
    """Rows heart, not heart; columns red, black; 52 cards. P(red|heart) = 1."""
    joint = np.array([[13.0, 0.0], [13.0, 26.0]]) / 52
    assert_allclose(conditional(joint), [[1, 0], [1 / 3, 2 / 3]])
    assert_allclose(dependence(joint), 1 / 4 - 1 / 8)


def test_conditional_rows_times_margin_give_the_joint_back(joint):
    assert_allclose(conditional(joint) * joint.sum(1)[:, None], joint)
    assert_allclose(conditional(joint).sum(1), 1)


def test_product_of_chain_factors_is_the_joint(rng):
    joint = softmax(rng.normal(size=24)).reshape(2, 3, 4)
    for outcome in itertools.product(range(2), range(3), range(4)):
        factors = chain_factors(joint, outcome)
        assert_allclose(factors.prod(), joint[outcome])
        assert len(factors) == 3
        assert_allclose(factors[1], joint[outcome[:2]].sum() / joint[outcome[0]].sum())


def test_chain_factors_of_half_the_digits_are_taken_in_float64(joint):
    half = joint.astype(np.float32)
    expected = chain_factors(half.astype(np.float64), (2, 1))
    assert chain_factors(half, (2, 1)).tolist() == expected.tolist()


def test_posterior_of_a_rare_disease():
    """1 in 1000 ill, 99 % of them found, 5 % false alarms: 0.00099 / (0.00099 + 0.04995)."""
    found = posterior([0.001, 0.999], np.log([0.99, 0.05]))
    assert_allclose(found[0], 0.00099 / (0.00099 + 0.04995))


def test_each_row_of_the_posterior_is_bayes_rule(rng):
    prior, log_likelihood = softmax(rng.normal(size=(3, 4))), rng.normal(size=(3, 4))
    joint = prior * np.exp(log_likelihood)
    expected = joint / joint.sum(1, keepdims=True)
    assert_allclose(posterior(prior, log_likelihood), expected, rtol=1e-13)


def test_posterior_after_two_data_is_the_posterior_of_the_posterior(rng):
    prior, first, second = softmax(rng.normal(size=5)), *rng.normal(size=(2, 5))
    assert_allclose(
        posterior(posterior(prior, first), second), posterior(prior, first + second)
    )


def test_likelihoods_below_the_smallest_float_do_no_harm():
    assert_allclose(posterior([0.5, 0.5], [-1e6, -1e6 + np.log(3)]), [0.25, 0.75])


def test_what_the_prior_forbids_stays_impossible():
    assert_allclose(posterior([0.0, 1.0], [0.0, -5.0]), [0, 1])
    assert_allclose(posterior([0.5, 0.5], [-np.inf, -5.0]), [0, 1])


def test_sum_of_dice_matches_enumeration():
    sums = [sum(roll) for roll in itertools.product(range(6), repeat=3)]
    assert_allclose(sum_distribution(DIE, 3), np.bincount(sums) / 6**3)


def test_sum_of_coins_is_binomial():
    assert_allclose(sum_distribution([0.3, 0.7], 40), stats.binom(40, 0.7).pmf(range(41)))
    assert_allclose(sum_distribution([0.3, 0.7], 1), [0.3, 0.7])


@pytest.mark.parametrize("f", [expectation, variance, variance_by_moments])
@pytest.mark.parametrize(
    ("x", "p", "message"),
    [
        ([1.0, 2.0], [0.5, 0.6], "p sums to 1.1"),
        ([1.0, 2.0], [1.5, -0.5], "the entry -0.5"),
        ([1.0, 2.0, 3.0], [0.5, 0.5], r"^x has shape \(3,\) and p \(2,\)"),
        ([1.0], [0.5, 0.5], r"^x has shape \(1,\) and p \(2,\)"),
        ([1.0, np.inf], [1.0, 0.0], "the entry inf"),
        ([np.nan, 1.0], [0.5, 0.5], "the entry nan"),
    ],
)
def test_averages_refuse_what_they_cannot_average(f, x, p, message):
    with pytest.raises(InputError, match=message):
        f(x, p)


@pytest.mark.parametrize("f", [conditional, dependence])
def test_tables_must_be_joint_distributions(f):
    with pytest.raises(InputError, match=r"joint has shape \(2,\); need a table"):
        f([0.5, 0.5])
    with pytest.raises(InputError, match="joint sums to 2 "):
        f([[0.5, 0.5], [0.5, 0.5]])


def test_what_is_no_distribution_is_refused_by_its_name():
    with pytest.raises(InputError, match=r"^joint sums to 2 "):
        chain_factors([[0.5, 0.5], [0.5, 0.5]], (0, 0))
    with pytest.raises(InputError, match=r"^prior sums to 1\.5 "):
        posterior([0.5, 1.0], [0.0, 0.0])
    with pytest.raises(InputError, match=r"^p sums to 1\.5 "):
        sum_distribution([0.5, 1.0], 2)


def test_a_condition_that_cannot_occur_is_refused():
    with pytest.raises(InputError, match="row 1 of joint has probability 0"):
        conditional([[0.5, 0.25], [0.0, 0.0], [0.25, 0.0]])
    with pytest.raises(
        InputError, match=r"outcome \(1, 0\) begins with what has probability 0"
    ):
        chain_factors([[0.5, 0.5], [0.0, 0.0]], (1, 0))


@pytest.mark.parametrize("shape", [(3,), (), (3, 2)])
def test_likelihoods_of_other_hypotheses_are_refused(shape):
    with pytest.raises(
        InputError, match=r"^log_likelihood has shape .* and prior \(2, 2\); the last axes"
    ):
        posterior(np.full((2, 2), 0.5), np.zeros(shape))


@pytest.mark.parametrize("outcome", [(0, 2), (-1, 0)])
def test_an_outcome_outside_of_the_table_is_refused(outcome):
    with pytest.raises(InputError, match=r"is outside of joint, shape \(2, 2\)"):
        chain_factors(np.full((2, 2), 0.25), outcome)


def test_an_outcome_that_is_no_place_is_refused(unchecked):
    with pytest.raises(InputTypeError, match=r"outcome \(0, 1\.0\) must hold integers"):
        chain_factors(np.full((2, 2), 0.25), (0, 1.0))


def test_an_outcome_of_another_length_is_refused():
    with pytest.raises(InputError, match="outcome has 1 values for 2 axes"):
        chain_factors([[0.5, 0.5], [0.0, 0.0]], (1,))


def test_data_that_no_hypothesis_allows_is_refused():
    with pytest.raises(InputError, match="probability 0 under every hypothesis"):
        posterior([1.0, 0.0], [-np.inf, 0.0])


@pytest.mark.parametrize("bad", [np.nan, np.inf])
@pytest.mark.parametrize("prior", [[0.5, 0.5], [0.0, 1.0]])
def test_likelihoods_that_are_no_numbers_are_refused(bad, prior):
    with pytest.raises(InputError, match=f"log_likelihood has the entry {bad}"):
        posterior(prior, [bad, 0.0])


def test_no_draws_have_no_sum():
    with pytest.raises(InputError, match="n=0"):
        sum_distribution(DIE, 0)
    with pytest.raises(InputError, match=r"shape \(1, 6\)"):
        sum_distribution([DIE], 2)
