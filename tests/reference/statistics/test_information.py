import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from sklearn.metrics import mutual_info_score

from mathlm.reference import (
    conditional_entropy,
    cross_entropy,
    entropy,
    js_divergence,
    kl_divergence,
    mutual_information,
    numerical_gradient,
    softmax,
)

PAIRS = [cross_entropy, kl_divergence, js_divergence]
SCORES = st.lists(st.floats(-30, 30), min_size=4, max_size=4)


def test_kl_and_cross_entropy_match_torch(rng):
    p, q = softmax(rng.normal(size=(2, 6, 5)))
    log_q = torch.tensor(q).log()
    kl = torch.nn.functional.kl_div(log_q, torch.tensor(p), reduction="none").sum(-1)
    assert_allclose(kl_divergence(p, q), kl, rtol=1e-12)
    theirs = torch.nn.functional.cross_entropy(log_q, torch.tensor(p), reduction="none")
    assert_allclose(cross_entropy(p, q), theirs, rtol=1e-12)


def test_entropy_matches_torch(rng):
    p = softmax(rng.normal(size=(6, 5)))
    theirs = torch.distributions.Categorical(torch.tensor(p)).entropy()
    assert_allclose(entropy(p), theirs, rtol=1e-12)


@pytest.mark.parametrize("n", [1, 2, 50])
def test_entropy_of_n_equal_outcomes_is_log_n(n):
    assert_allclose(entropy(np.full(n, 1 / n)), np.log(n), atol=1e-15)


def test_entropy_of_a_fair_coin_is_one_bit_and_of_a_sure_thing_zero():
    assert_allclose(entropy([[0.5, 0.5], [0.0, 1.0]]) / np.log(2), [1, 0])


def test_kl_by_hand_in_both_directions():
    """p = (1/2, 1/2), q = (1/4, 3/4): KL(p, q) = ln(2)/2 + ln(2/3)/2 = ln(4/3)/2,
    KL(q, p) = ln(1/2)/4 + 3 ln(3/2)/4."""
    p, q = [0.5, 0.5], [0.25, 0.75]
    assert_allclose(kl_divergence(p, q), np.log(4 / 3) / 2)
    assert_allclose(kl_divergence(q, p), np.log(0.5) / 4 + 3 * np.log(1.5) / 4)


def test_js_of_disjoint_distributions_is_log_two():
    assert_allclose(js_divergence([1.0, 0.0], [0.0, 1.0]), np.log(2))


def test_what_p_never_draws_costs_nothing_and_what_q_forbids_costs_everything():
    p, q = [0.5, 0.5, 0.0], [0.25, 0.25, 0.5]
    assert_allclose(kl_divergence(p, q), np.log(2))
    assert kl_divergence(q, p) == np.inf
    assert cross_entropy(q, p) == np.inf
    assert_allclose(cross_entropy(p, p), np.log(2))


def test_what_is_never_drawn_counts_nothing_whatever_was_in_memory():
    """NumPy leaves out entries by not writing them: here it would find NaN there."""
    p, q = np.array([0.0, 1.0, 0.0, 0.0]), np.full(4, 0.25)
    stale = [np.full(4, np.nan) for _ in range(20)]
    del stale
    assert_allclose(cross_entropy(p, q), np.log(4), rtol=1e-15)


def test_whole_numbers_and_half_the_digits_are_read_in_float64(rng):
    assert entropy([0, 1]) == 0
    joint = softmax(rng.normal(size=12)).reshape(3, 4).astype(np.float32)
    for f in (mutual_information, conditional_entropy):
        assert f(joint) == f(joint.astype(np.float64))


def test_no_rows_have_no_entropies():
    assert entropy(np.ones((0, 3))).shape == (0,)


@given(a=SCORES, b=SCORES)
def test_kl_is_cross_entropy_less_entropy_and_never_negative(a, b):
    p, q = softmax(a), softmax(b)
    assert_allclose(kl_divergence(p, q), cross_entropy(p, q) - entropy(p), atol=1e-12)
    assert kl_divergence(p, q) >= 0
    assert kl_divergence(p, p) == 0


def test_rounding_never_makes_a_divergence_negative(rng):
    p = rng.dirichlet(np.ones(5), 500)
    q = p * (1 + 1e-9 * rng.normal(size=p.shape))
    assert (kl_divergence(p, q) >= 0).all()
    assert (js_divergence(p, q) >= 0).all()


@given(a=SCORES, b=SCORES)
def test_js_is_symmetric_and_at_most_log_two(a, b):
    p, q = softmax(a), softmax(b)
    assert_allclose(js_divergence(p, q), js_divergence(q, p), atol=1e-14)
    assert 0 <= js_divergence(p, q) <= np.log(2) + 1e-14


def test_gradient_of_cross_entropy_in_the_scores_is_q_minus_p(rng):
    p, z = softmax(rng.normal(size=5)), rng.normal(size=5)
    numeric = numerical_gradient(lambda z: float(cross_entropy(p, softmax(z))), z)
    assert_allclose(softmax(z) - p, numeric, atol=1e-8)


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ([0.5, 0.6], "sums to 1.1"),
        ([1.5, -0.5], "the entry -0.5"),
        ([np.nan, 1.0], "the entry nan"),
        ([np.inf, 0.0], "sums to inf"),
        ([], "at least one outcome"),
        (np.array(1.0), "at least one outcome"),
    ],
)
def test_what_is_no_distribution_is_refused(bad, message):
    with pytest.raises(ValueError, match=f"p .*{message}"):
        entropy(bad)
    for f in PAIRS:
        with pytest.raises(ValueError, match=f"p .*{message}"):
            f(bad, [0.5, 0.5])
        with pytest.raises(ValueError, match=f"q .*{message}"):
            f([0.5, 0.5], bad)


@pytest.mark.parametrize("f", PAIRS)
def test_shapes_must_agree(f):
    with pytest.raises(ValueError, match=r"\(2,\) and q has shape \(1, 2\)"):
        f([0.5, 0.5], [[0.5, 0.5]])


@pytest.mark.parametrize(("row", "total"), [([0.4, 0.5], 0.9), ([0.5, 0.6], 1.1)])
def test_one_bad_row_among_good_ones_is_found(row, total):
    with pytest.raises(ValueError, match=f"sums to {total} "):
        entropy([[0.5, 0.5], row])


def test_mutual_information_of_a_copy_is_its_entropy_and_of_strangers_zero(rng):
    p, q = softmax(rng.normal(size=4)), softmax(rng.normal(size=3))
    assert_allclose(mutual_information(np.diag(p)), entropy(p))
    assert_allclose(mutual_information(np.outer(p, q)), 0, atol=1e-14)


def test_mutual_information_matches_scikit_learn(rng):
    counts = rng.integers(1, 9, size=(3, 4))
    expected = mutual_info_score(None, None, contingency=counts)
    assert_allclose(mutual_information(counts / counts.sum()), expected)


def test_conditional_entropy_is_the_mean_entropy_of_the_rows(rng):
    joint = softmax(rng.normal(size=12)).reshape(3, 4)
    rows = joint / joint.sum(1, keepdims=True)
    assert_allclose(conditional_entropy(joint), joint.sum(1) @ entropy(rows))
    information = entropy(joint.sum(0)) - conditional_entropy(joint)
    assert_allclose(mutual_information(joint), information)


def test_rounding_never_makes_a_conditional_entropy_negative(rng):
    """Of a copy nothing is left: p(x) on the diagonal, in the order of another sum."""
    for n in range(1, 40):
        p = rng.dirichlet(np.ones(n))
        joint = np.zeros((n, 3 * n))
        joint[np.arange(n), rng.permutation(3 * n)[:n]] = p
        assert 0 <= conditional_entropy(joint) < 1e-14


@pytest.mark.parametrize("f", [mutual_information, conditional_entropy])
def test_joint_tables_must_be_distributions(f):
    with pytest.raises(ValueError, match="joint sums to 2 "):
        f(np.full((2, 2), 0.5))
    with pytest.raises(ValueError, match=r"joint has shape \(2,\)"):
        f([0.5, 0.5])
