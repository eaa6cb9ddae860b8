import numpy as np
import pytest

from mathlm import functional as F
from mathlm.errors import InputError, InputTypeError
from mathlm.reference import (
    batch_norm,
    batch_norm_backward,
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


@pytest.mark.parametrize("eps", [1e-12, 1e-6, 1e-5])
def test_layer_norm_is_that_of_torch_for_this_eps_and_no_other(eps, rng):
    torch = pytest.importorskip("torch")
    x, gamma, beta = 1e-4 * rng.normal(size=(4, 8)), rng.normal(size=8), rng.normal(size=8)
    x_t, gamma_t, beta_t = (torch.from_numpy(a) for a in (x, gamma, beta))
    theirs = torch.nn.functional.layer_norm(x_t, (8,), gamma_t, beta_t, eps).numpy()
    assert relative(layer_norm(x, gamma, beta, eps)[0], theirs) < 1e-12
    for other in {1e-12, 1e-6, 1e-5} - {eps}:
        assert relative(layer_norm(x, gamma, beta, other)[0], theirs) > 1e-6


def relative(ours, theirs):
    return np.linalg.norm(ours - theirs) / np.linalg.norm(theirs)


MASK = np.array([[True, True, False], [True, False, True]])


@pytest.mark.parametrize(
    ("shape", "mask"), [((5, 6), None), ((2, 3, 6), None), ((2, 3, 6), MASK)]
)
@pytest.mark.parametrize("eps", [1e-5, 0.5])
def test_batch_norm_backward_matches_finite_differences(shape, mask, eps, rng):
    x, gamma, beta, dy = (rng.normal(size=s) for s in (shape, 6, 6, shape))
    gradients = batch_norm_backward(dy, batch_norm(x, gamma, beta, eps, mask)[1])
    numerical = numerical_vjp(lambda *a: batch_norm(*a, eps, mask)[0], (x, gamma, beta), dy)
    for ours, theirs in zip(gradients, numerical, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("eps", [1e-12, 1e-6, 1e-5])
def test_batch_norm_and_its_gradients_are_those_of_torch_for_this_eps_and_no_other(eps, rng):
    torch = pytest.importorskip("torch")
    x, gamma, beta, dy = (rng.normal(size=s) for s in ((9, 6), 6, 6, (9, 6)))
    leaves = [torch.from_numpy(a).requires_grad_() for a in (1e-4 * x, gamma, beta)]
    theirs = torch.nn.functional.batch_norm(leaves[0], None, None, *leaves[1:], True, eps=eps)
    y, cache = batch_norm(1e-4 * x, gamma, beta, eps)
    expected = [theirs, *torch.autograd.grad(theirs, leaves, torch.from_numpy(dy))]
    for a, b in zip([y, *batch_norm_backward(dy, cache)], expected, strict=True):
        assert relative(a, b.detach().numpy()) < 1e-12
    other = batch_norm(1e-4 * x, gamma, beta, 2 * eps)[0]
    assert relative(other, theirs.detach().numpy()) > 1e-6 or eps == 1e-12


def test_batch_norm_of_two_vectors_by_hand():
    """Feature 1: 1 and 5, mean 3, variance 4. Feature 2: 2 and 2, no variance: only β."""
    x = np.array([[1.0, 2.0], [5.0, 2.0]])
    y, _ = batch_norm(x, np.array([10.0, 10.0]), np.array([0.5, 7.0]), eps=1e-300)
    assert y.tolist() == [[-9.5, 7.0], [10.5, 7.0]]


def test_batch_norm_of_columns_is_layer_norm_of_rows(rng):
    x, one, zero = rng.normal(size=(6, 6)), np.ones(6), np.zeros(6)
    np.testing.assert_allclose(
        batch_norm(x.T, one, zero)[0].T, layer_norm(x, one, zero)[0], rtol=1e-12, atol=1e-14
    )


def test_padding_takes_no_part_in_batch_norm(rng):
    """Neither its numbers, NaN included, nor the gradient that arrives there."""
    x, gamma, beta, dy = (rng.normal(size=s) for s in ((2, 3, 6), 6, 6, (2, 3, 6)))
    alone, cache = batch_norm(x[MASK], gamma, beta)
    x[~MASK] = np.nan
    y, masked = batch_norm(x, gamma, beta, mask=MASK)
    np.testing.assert_array_equal(y[MASK], alone)
    assert (y[~MASK] == 0).all()
    expected = batch_norm_backward(dy[MASK], cache)
    for padding in (1e6, np.nan):
        found = batch_norm_backward(np.where(MASK[..., None], dy, padding), masked)
        np.testing.assert_allclose(found[0][MASK], expected[0], rtol=1e-12, atol=1e-14)
        assert (found[0][~MASK] == 0).all()
        for a, b in zip(found[1:], expected[1:], strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-12)
    dy[0, 0] = np.nan
    with pytest.raises(InputError, match="dy holds 6 NaN"):
        batch_norm_backward(dy, masked)


def test_every_vector_of_a_batch_changes_the_others(rng):
    """What layer norm does not do: here y of one vector depends on all."""
    x = rng.normal(size=(4, 6))
    moved = x.copy()
    moved[3] += 1
    one, zero = np.ones(6), np.zeros(6)
    changed = batch_norm(x, one, zero)[0][:3] - batch_norm(moved, one, zero)[0][:3]
    assert (np.abs(changed) > 1e-6).all()
    np.testing.assert_array_equal(
        layer_norm(x, one, zero)[0][:3], layer_norm(moved, one, zero)[0][:3]
    )


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize(
    ("x", "options", "error", "message"),
    [
        (np.ones((1, 6)), {}, InputError, r"1 of the vectors of x \(1, 6\) count"),
        (np.ones(6), {}, InputError, r"1 of the vectors of x \(6,\) count"),
        (np.ones((2, 6)), {"mask": np.array([True, False])}, InputError, "1 of the vectors"),
        (np.ones((2, 6)), {"mask": np.ones((2, 1), bool)}, InputError, r"must be \(2,\)"),
        (np.ones((2, 6)), {"mask": np.ones(2)}, InputTypeError, "got float64"),
        (np.ones((2, 6)), {"mask": [True, True]}, InputTypeError, "got list"),
        (np.full((2, 6), np.nan), {}, InputError, "x where it counts holds 12 NaN"),
        (np.ones((2, 6)), {"eps": 0.0}, InputError, r"variance over the batch at \(0,\) is 0"),
        (np.ones((2, 6)), {"eps": -1.0}, InputError, r"eps=-1\.0 must not be negative"),
    ],
)
def test_batches_without_a_variance_are_refused(x, options, error, message):
    with pytest.raises(error, match=message):
        batch_norm(x, np.ones(6), np.zeros(6), **options)


def test_a_gradient_of_another_shape_is_refused(rng):
    _, cache = batch_norm(rng.normal(size=(3, 6)), np.ones(6), np.zeros(6))
    with pytest.raises(InputError, match=r"dy has shape \(1, 6\), but y has \(3, 6\)"):
        batch_norm_backward(np.ones((1, 6)), cache)


@pytest.mark.parametrize("constant", [0.1, 3.0, 1e6 / 3])
def test_batch_norm_of_a_feature_with_one_value_is_its_shift(constant, rng):
    x, beta = rng.normal(size=(7, 6)), rng.normal(size=6)
    x[:, 2] = constant
    assert (batch_norm(x, rng.normal(size=6), beta)[0][:, 2] == beta[2]).all()


@pytest.mark.parametrize("norm", [layer_norm, rms_norm, batch_norm])
@pytest.mark.parametrize(
    ("change", "eps", "message"),
    [
        (np.nan, 1e-5, "NaN"),
        (1e200, 1e-5, "squares"),
        (0.0, np.nan, "eps=nan"),
        (0.0, np.inf, "eps=inf"),
    ],
)
def test_numbers_that_would_give_nan_are_refused(norm, change, eps, message, rng):
    x, parameters = rng.normal(size=(3, 4)), [np.ones(4)] * (1 if norm is rms_norm else 2)
    x[1, 2] += change
    with pytest.raises(InputError, match=message):
        norm(x, *parameters, eps)


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize(
    ("norm", "name"),
    [
        (layer_norm, "gamma"),
        (layer_norm, "beta"),
        (rms_norm, "gamma"),
        (batch_norm, "gamma"),
        (batch_norm, "beta"),
    ],
)
def test_gains_and_shifts_are_not_broadcast(norm, name, rng):
    parameters = {n: np.ones(4) for n in ("gamma", "beta")[: 1 if norm is rms_norm else 2]}
    with pytest.raises(InputError, match=rf"{name} has shape \(1,\), but x \(3, 4\) needs"):
        norm(rng.normal(size=(3, 4)), **parameters | {name: np.ones(1)})


@pytest.mark.parametrize("backward", [layer_norm_backward, rms_norm_backward])
def test_a_gradient_of_one_vector_is_not_broadcast(backward, rng):
    x, one = rng.normal(size=(3, 4)), np.ones(4)
    cache = (rms_norm(x, one) if backward is rms_norm_backward else layer_norm(x, one, one))[1]
    with pytest.raises(InputError, match="but y has"):
        backward(x[:1], cache)
