import numpy as np
import pytest
import torch

from lab.multi_head_attention.linearized import (
    causal_linear_attention,
    linear_attention,
    positive_features,
)
from mathlm.errors import InputError

BATCHES = pytest.mark.parametrize("batch", [(), (2,), (2, 3)])


def arrays(rng, batch, T=5, S=5, K=3, V=2):
    return (rng.normal(size=(*batch, n, d)) for n, d in ((T, K), (S, K), (S, V)))


def by_weights(q, k, v, mask=None):
    """The quadratic form: all weights φ(q)·φ(k), each row divided by its sum."""
    weights = positive_features(q) @ positive_features(k).mT
    weights = weights if mask is None else weights * mask
    return weights / weights.sum(-1, keepdims=True) @ v


def test_features_are_elu_plus_one(rng):
    x = rng.normal(size=100) * 10
    expected = torch.nn.functional.elu(torch.from_numpy(x)).numpy() + 1
    np.testing.assert_allclose(positive_features(x), expected, rtol=1e-12, atol=1e-15)
    assert positive_features(np.array([1e4]))[0] == 10_001  # no overflow in the other branch


@BATCHES
def test_two_running_sums_give_the_weighted_average(rng, batch):
    q, k, v = arrays(rng, batch, T=4, S=7)
    np.testing.assert_allclose(linear_attention(q, k, v), by_weights(q, k, v), rtol=1e-12)


@BATCHES
def test_the_recurrence_is_the_masked_quadratic_form(rng, batch):
    q, k, v = arrays(rng, batch)
    expected = by_weights(q, k, v, np.tril(np.ones((5, 5))))
    np.testing.assert_allclose(causal_linear_attention(q, k, v), expected, rtol=1e-12)


def test_equal_values_come_back(rng):
    q, k, _ = arrays(rng, ())
    v = np.full((5, 2), 3.0)
    np.testing.assert_allclose(linear_attention(q, k, v), 3.0, rtol=1e-14)
    np.testing.assert_allclose(causal_linear_attention(q, k, v), 3.0, rtol=1e-14)


def test_order_of_the_keys_does_not_matter(rng):
    q, k, v = arrays(rng, ())
    order = rng.permutation(5)
    np.testing.assert_allclose(
        linear_attention(q, k[order], v[order]), linear_attention(q, k, v), rtol=1e-12
    )


@pytest.mark.parametrize(
    ("shapes", "message"),
    [
        (((5, 3), (5, 2), (5, 2)), "one common width"),
        (((5, 3), (4, 3), (5, 2)), "each key needs its value"),
        (((5, 3), (0, 3), (0, 2)), "at least one"),
        (((2, 5, 3), (5, 3), (5, 2)), "one common batch"),
    ],
)
@pytest.mark.parametrize("attend", [linear_attention, causal_linear_attention])
def test_shapes_that_do_not_fit_are_refused(unchecked, attend, shapes, message):
    with pytest.raises(InputError, match=message):
        attend(*(np.ones(shape) for shape in shapes))


def test_causal_order_needs_a_query_for_each_key(unchecked):
    with pytest.raises(InputError, match="q has 4 positions and k has 5"):
        causal_linear_attention(np.ones((4, 3)), np.ones((5, 3)), np.ones((5, 2)))


@pytest.mark.parametrize("place", range(3))
def test_numbers_that_are_not_finite_are_refused(place):
    arguments = [np.ones((2, 2)) for _ in range(3)]
    arguments[place][0, 0] = np.nan
    with pytest.raises(InputError, match=f"{'qkv'[place]} holds 1 NaN"):
        linear_attention(*arguments)


@pytest.mark.parametrize("attend", [linear_attention, causal_linear_attention])
def test_weights_that_all_underflow_are_refused_instead_of_giving_nan(attend):
    """e^-900 is 0 in float64, so that the answer would be 0 / 0."""
    q, k, v = (np.ones((2, 2)) for _ in range(3))
    for pair in ((q - 901, k), (q, k - 901)):
        with pytest.raises(InputError, match=r"all weights of query \(0,\) are 0"):
            attend(*pair, v)


@pytest.mark.parametrize("attend", [linear_attention, causal_linear_attention])
def test_sums_that_overflow_are_refused(attend):
    q, k, v = np.ones((2, 2)), np.full((2, 2), 1e300), np.full((2, 2), 1e10)
    with pytest.raises(InputError, match=r"sums of query \(0,\) overflow"):
        attend(q, k, v)


def test_features_of_nan_are_refused():
    with pytest.raises(InputError, match="x holds 1 NaN"):
        positive_features(np.array([np.nan, 1.0]))
