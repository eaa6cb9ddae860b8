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


def test_a_cap_is_never_passed_and_large_scores_do_not_overflow():
    y, _ = ref.soft_cap([-1e9, -1.0, 0.0, 1.0, 1e9], 50.0)
    np.testing.assert_allclose(y, [-50, -0.99987, 0, 0.99987, 50], rtol=1e-5)
    A, _ = ref.sink_softmax(np.array([[[1e9, 1e9]]]), np.array([-1e9]))
    np.testing.assert_allclose(A, [[[0.5, 0.5]]])


@pytest.mark.usefixtures("unchecked")
def test_errors_name_the_numbers(rng):
    with pytest.raises(InputError, match="cap=0"):
        ref.soft_cap([1.0], 0)
    with pytest.raises(InputError, match=r"\(2, 3, 3\).*\(3,\)"):
        ref.sink_softmax(rng.normal(size=(2, 3, 3)), np.zeros(3))
    with pytest.raises(InputError, match="gamma holds 1 NaN"):
        ref.centered_rms_norm(np.ones(2), np.array([0.0, np.nan]))
    with pytest.raises(InputError, match="y has shape"):
        ref.attention_gate([1.0, 2.0], [1.0])
