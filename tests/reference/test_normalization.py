import numpy as np
import pytest

from mathlm import functional as F
from mathlm.errors import InputError
from mathlm.reference import (
    layer_norm,
    layer_norm_backward,
    numerical_vjp,
    rms_norm,
    rms_norm_backward,
)

SHAPES = pytest.mark.parametrize("shape", [(6,), (3, 6), (2, 3, 6)])


@SHAPES
@pytest.mark.parametrize("eps", [1e-5, 0.5])
def test_layer_norm_backward_matches_finite_differences(shape, eps, rng):
    x, gamma, beta, dy = (rng.normal(size=s) for s in (shape, 6, 6, shape))
    gradients = layer_norm_backward(dy, layer_norm(x, gamma, beta, eps)[1])
    numerical = numerical_vjp(lambda *a: layer_norm(*a, eps)[0], (x, gamma, beta), dy)
    for ours, theirs in zip(gradients, numerical, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-6, atol=1e-8)


@SHAPES
@pytest.mark.parametrize("eps", [1e-5, 0.5])
def test_rms_norm_backward_matches_finite_differences(shape, eps, rng):
    x, gamma, dy = (rng.normal(size=s) for s in (shape, 6, shape))
    gradients = rms_norm_backward(dy, rms_norm(x, gamma, eps)[1])
    numerical = numerical_vjp(lambda *a: rms_norm(*a, eps)[0], (x, gamma), dy)
    for ours, theirs in zip(gradients, numerical, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("eps", [1e-12, 1e-6, 1e-5])
def test_both_norms_match_torch_on_small_activations(eps, rng):
    torch = pytest.importorskip("torch")
    x, gamma, beta = 1e-4 * rng.normal(size=(4, 8)), rng.normal(size=8), rng.normal(size=8)
    tensors = [torch.from_numpy(a) for a in (x, gamma, beta)]
    ours, theirs = layer_norm(x, gamma, beta, eps)[0], F.layer_norm(*tensors, eps)
    np.testing.assert_allclose(ours, theirs.numpy(), rtol=1e-12, atol=1e-14)
    ours, theirs = rms_norm(x, gamma, eps)[0], F.rms_norm(*tensors[:2], eps)
    np.testing.assert_allclose(ours, theirs.numpy(), rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("name", ["layer_norm", "rms_norm"])
def test_both_backward_passes_match_autograd(name, rng):
    torch = pytest.importorskip("torch")
    forward, backward, arrays = {
        "layer_norm": (layer_norm, layer_norm_backward, [(2, 3, 6), 6, 6]),
        "rms_norm": (rms_norm, rms_norm_backward, [(2, 3, 6), 6]),
    }[name]
    arrays, dy = [rng.normal(size=s) for s in arrays], rng.normal(size=(2, 3, 6))
    leaves = [torch.from_numpy(a).requires_grad_() for a in arrays]
    theirs = torch.autograd.grad(getattr(F, name)(*leaves), leaves, torch.from_numpy(dy))
    for ours, expected in zip(backward(dy, forward(*arrays)[1]), theirs, strict=True):
        np.testing.assert_allclose(ours, expected.numpy(), rtol=1e-10, atol=1e-12)


def test_layer_norm_of_1_2_3_4_by_hand():
    """Mean 5/2, biased variance 5/4: (1 - 5/2) / √(5/4) = -3/√5 = -1.34164079."""
    y, _ = layer_norm(np.array([1.0, 2, 3, 4]), np.ones(4), np.zeros(4), eps=0.0)
    np.testing.assert_allclose(y, np.array([-3, -1, 1, 3]) / np.sqrt(5), rtol=1e-14)
    assert round(float(y[0]), 8) == -1.34164079


@pytest.mark.parametrize("constant", [0.0, 0.1, 3.0, 1e6 / 3])
def test_layer_norm_of_equal_entries_is_the_shift(constant, rng):
    beta = rng.normal(size=7)
    y, _ = layer_norm(np.full((2, 7), constant), rng.normal(size=7), beta)
    assert (y == beta).all()


def test_rms_norm_does_not_see_scale(rng):
    x, gamma = rng.normal(size=(3, 6)), rng.normal(size=6)
    y, scaled = rms_norm(x, gamma, eps=0.0)[0], rms_norm(7 * x, gamma, eps=0.0)[0]
    np.testing.assert_allclose(scaled, y, rtol=1e-12)


def test_gradient_of_layer_norm_is_orthogonal_to_ones_and_to_the_normalized_vector(rng):
    """Shift and scale of x change nothing, so the gradient has no part along them."""
    x, gamma, beta, dy = (rng.normal(size=s) for s in ((4, 6), 6, 6, (4, 6)))
    _, cache = layer_norm(x, gamma, beta, eps=0.0)
    dx = layer_norm_backward(dy, cache)[0]
    np.testing.assert_allclose(dx.sum(-1), 0, atol=1e-12)
    np.testing.assert_allclose((dx * cache[0]).sum(-1), 0, atol=1e-12)


def test_a_vector_that_cannot_be_divided_is_named():
    x = np.array([[1.0, 2.0], [3.0, 3.0]])
    with pytest.raises(InputError, match=r"variance at \(1,\) is 0 and eps=0"):
        layer_norm(x, np.ones(2), np.zeros(2), eps=0.0)
    with pytest.raises(InputError, match=r"mean square at \(0,\) is 0 and eps=0"):
        rms_norm(np.zeros((2, 2)), np.ones(2), eps=0.0)


def test_negative_eps_is_refused():
    with pytest.raises(InputError, match=r"eps=-1\.0 must not be negative"):
        rms_norm(np.ones(2), np.ones(2), eps=-1.0)
