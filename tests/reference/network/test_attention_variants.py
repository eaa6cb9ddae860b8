import numpy as np
import pytest

from mathlm import reference as ref
from mathlm.errors import InputError


def compare(forward, backward, arguments, rng):
    y, cache = forward(*arguments)
    dy = rng.normal(size=y.shape)
    grads = backward(dy, cache)
    grads = grads if isinstance(grads, tuple) else (grads,)
    numeric = ref.numerical_vjp(lambda *a: forward(*a)[0], tuple(arguments), dy)
    numeric = numeric if isinstance(numeric, tuple) else (numeric,)
    for ours, right in zip(grads, numeric, strict=True):
        np.testing.assert_allclose(ours, right, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("batch", [(), (3,), (2, 3)])
def test_backward_of_the_cap_and_the_gate_match_central_differences(rng, batch):
    x, g = rng.normal(size=(2, *batch, 5))
    compare(lambda x: ref.soft_cap(x, 1.5), ref.soft_cap_backward, [x], rng)
    compare(ref.attention_gate, ref.attention_gate_backward, [x, g], rng)


@pytest.mark.parametrize("batch", [(), (3,), (2, 3)])
def test_backward_of_the_sink_matches_central_differences(rng, batch):
    z, b, mask = rng.normal(size=(*batch, 2, 4, 4)), rng.normal(size=2), np.tri(4, dtype=bool)
    compare(lambda z, b: ref.sink_softmax(z, b, mask), ref.sink_softmax_backward, [z, b], rng)


@pytest.mark.parametrize("batch", [(), (3,), (2, 3)])
def test_backward_of_the_centered_norm_matches_central_differences(rng, batch):
    x, gamma = rng.normal(size=(*batch, 5)), rng.normal(size=5)
    compare(ref.centered_rms_norm, ref.centered_rms_norm_backward, [x, gamma], rng)


def test_the_worked_example_of_the_sink():
    """Scores log 1, log 2 and a sink log 1: shares 1/4 and 1/2, and 1/4 that reads nothing."""
    A, _ = ref.sink_softmax(np.log([[[1.0, 2.0]]]), np.log([1.0]))
    np.testing.assert_allclose(A, [[[0.25, 0.5]]], rtol=1e-12)


def test_a_hidden_score_takes_no_share_of_the_sink_or_of_the_others():
    seen = np.array([[True, False], [False, False]])
    A, _ = ref.sink_softmax(np.log([[[1.0, 2.0], [3.0, 4.0]]]), np.log([3.0]), seen)
    np.testing.assert_allclose(A, [[[0.25, 0], [0, 0]]], rtol=1e-12)


@pytest.mark.parametrize(("options", "eps"), [({}, 1e-5), ({"eps": 7.0}, 7.0)])
def test_a_centered_gain_is_one_more_than_what_is_stored(options, eps):
    """Mean square 9: (1 + γ) 3 / √(9 + ε)."""
    y, _ = ref.centered_rms_norm(np.array([3.0, -3.0]), np.array([0.0, 1.0]), **options)
    np.testing.assert_allclose(y, np.array([3, -6]) / np.sqrt(9 + eps), rtol=1e-12)


def test_a_gate_lets_through_the_share_of_its_sigmoid():
    """σ(ln 3) = 3/4."""
    np.testing.assert_allclose(ref.attention_gate([8.0], [np.log(3)])[0], [6.0], rtol=1e-12)


def test_a_cap_is_never_passed_and_large_scores_do_not_overflow():
    y, _ = ref.soft_cap([-1e9, -1.0, 0.0, 1.0, 1e9], 50.0)
    np.testing.assert_allclose(y, [-50, -0.99987, 0, 0.99987, 50], rtol=1e-5)
    A, _ = ref.sink_softmax(np.array([[[1e9, 1e9]]]), np.array([-1e9]))
    np.testing.assert_allclose(A, [[[0.5, 0.5]]])
    A, _ = ref.sink_softmax(np.array([[[-1e9, 0.0]]]), np.array([1e9]))
    np.testing.assert_array_equal(A, [[[0, 0]]])
    A, _ = ref.sink_softmax(np.array([[[0.0, 0.0], [1e4, 1e4]]]), np.zeros(1))  # a row each
    np.testing.assert_allclose(A, [[[1 / 3] * 2, [1 / 2] * 2]], rtol=1e-12)


@pytest.mark.usefixtures("unchecked")
def test_errors_name_the_numbers(rng):
    with pytest.raises(InputError, match="cap=0"):
        ref.soft_cap([1.0], 0)
    with pytest.raises(InputError, match="cap=inf must be positive and finite"):
        ref.soft_cap([1.0], np.inf)
    with pytest.raises(InputError, match=r"^x holds 1 NaN"):
        ref.soft_cap([np.nan], 1.0)
    with pytest.raises(InputError, match="scores holds 1 NaN"):
        ref.sink_softmax(np.full((1, 1, 1), np.nan), np.zeros(1))
    with pytest.raises(InputError, match="sinks holds 1 NaN"):
        ref.sink_softmax(np.zeros((1, 1, 1)), np.full(1, np.nan))
    with pytest.raises(InputError, match=r"scores \(3, 3\) and sinks \(\) must be"):
        ref.sink_softmax(np.zeros((3, 3)), np.zeros(()))
    with pytest.raises(InputError, match=r"^y holds 1 NaN"):
        ref.attention_gate([np.nan], [1.0])
    with pytest.raises(InputError, match="gate holds 1 NaN"):
        ref.attention_gate([1.0], [np.nan])
    with pytest.raises(InputError, match=r"\(2, 3, 3\).*\(3,\)"):
        ref.sink_softmax(rng.normal(size=(2, 3, 3)), np.zeros(3))
    with pytest.raises(InputError, match="gamma holds 1 NaN"):
        ref.centered_rms_norm(np.ones(2), np.array([0.0, np.nan]))
    with pytest.raises(InputError, match="y has shape"):
        ref.attention_gate([1.0, 2.0], [1.0])
