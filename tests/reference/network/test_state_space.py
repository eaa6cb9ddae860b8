import numpy as np
import pytest

from mathlm.errors import InputError
from mathlm.reference import (
    delta_rule,
    delta_rule_backward,
    numerical_vjp,
    selective_scan,
    selective_scan_backward,
)

T, N, P = 5, 3, 2


def drawn(rng, batch=()):
    q, k = rng.normal(size=(2, *batch, T, N))
    k = k / np.linalg.norm(k, axis=-1, keepdims=True)
    beta, decay = rng.uniform(size=(2, *batch, T))
    return q, k, rng.normal(size=(*batch, T, P)), beta, -decay


@pytest.mark.parametrize("batch", [(), (2,), (2, 2)])
def test_backward_of_the_scan_matches_central_differences(rng, batch):
    q, k, v, _, log_decay = drawn(rng, batch)
    y, cache = selective_scan(q, k, v, log_decay)
    dy = rng.normal(size=y.shape)
    right = numerical_vjp(lambda *a: selective_scan(*a)[0], (q, k, v, log_decay), dy)
    for ours, numeric in zip(selective_scan_backward(dy, cache), right, strict=True):
        np.testing.assert_allclose(ours, numeric, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("batch", [(), (2,)])
def test_backward_of_the_delta_rule_matches_central_differences(rng, batch):
    args = drawn(rng, batch)
    y, cache = delta_rule(*args)
    dy = rng.normal(size=y.shape)
    right = numerical_vjp(lambda *a: delta_rule(*a)[0], args, dy)
    for ours, numeric in zip(delta_rule_backward(dy, cache), right, strict=True):
        np.testing.assert_allclose(ours, numeric, rtol=1e-6, atol=1e-7)


def test_two_tokens_by_hand():
    q, k, v = np.array([[1.0], [3.0]]), np.array([[2.0], [1.0]]), np.array([[5.0], [7.0]])
    y, _ = selective_scan(q, k, v, np.log([0.25, 0.5]))
    np.testing.assert_allclose(y, [[10.0], [36.0]])  # M: 10, then 0.5 · 10 + 7 = 12


def test_two_tokens_of_the_delta_rule_by_hand():
    """M = 2 · 5/2 = 5 at first; then 2.5 is kept, 7 - 2.5 is the error, half of it is added."""
    q, k, v = np.array([[1.0], [3.0]]), np.array([[2.0], [1.0]]), np.array([[5.0], [7.0]])
    y, _ = delta_rule(q, k, v, np.array([0.5, 0.5]), np.log([0.25, 0.5]))
    np.testing.assert_allclose(y, [[5.0], [14.25]], rtol=1e-12)


def test_the_delta_rule_returns_the_value_that_was_written(rng):
    _, k, v, _, log_decay = drawn(rng)
    y, _ = delta_rule(k, k, v, np.ones(T), log_decay)
    np.testing.assert_allclose(y, v, rtol=1e-12)


def test_a_single_token_reads_what_it_writes_and_no_decay_matters():
    """y = q k v, from the state 0, and β of it with the delta rule."""
    q, k, v = np.array([[3.0]]), np.array([[2.0]]), np.array([[5.0]])
    y, cache = selective_scan(q, k, v, np.array([-1.0]))
    dq, dk, dv, decay = selective_scan_backward(np.ones((1, 1)), cache)
    assert [y.item(), dq.item(), dk.item(), dv.item(), decay.item()] == [30, 10, 15, 6, 0]
    y, cache = delta_rule(q, k, v, np.array([0.5]), np.array([-1.0]))
    dq, dk, dv, dbeta, decay = delta_rule_backward(np.ones((1, 1)), cache)
    assert [y.item(), dq.item(), dk.item(), dv.item()] == [15, 5, 7.5, 3]
    assert [dbeta.item(), decay.item()] == [30, 0]


def test_shapes_that_do_not_fit_are_refused(rng, unchecked):
    q, k, v, beta, log_decay = drawn(rng)
    with pytest.raises(InputError, match=r"shapes \(5, 3\), \(4, 3\)"):
        selective_scan(q, k[1:], v, log_decay)
    with pytest.raises(InputError, match=r"log_decay has shape \(4,\), expected \(5,\)"):
        selective_scan(q, k, v, log_decay[1:])
    with pytest.raises(InputError, match=r"beta has shape \(4,\)"):
        delta_rule(q, k, v, beta[1:], log_decay)
    with pytest.raises(InputError, match=r"shapes \(5, 3\), \(5, 3\), \(4, 2\)"):
        selective_scan(q, k, v[1:], log_decay)
    with pytest.raises(InputError, match=r"shapes \(3,\), \(3,\), \(2,\)"):
        selective_scan(q[0], k[0], v[0], log_decay[0])


def test_numbers_that_are_not_finite_are_refused_by_name(rng):
    args = dict(zip(("q", "k", "v", "beta", "log_decay"), drawn(rng), strict=True))
    for name, array in args.items():
        bad = array.copy()
        bad[-1] = np.nan
        with pytest.raises(InputError, match=f"^{name} holds"):
            delta_rule(**args | {name: bad})
