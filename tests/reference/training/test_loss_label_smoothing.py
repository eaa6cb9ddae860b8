import math

import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose, assert_array_equal

from mathlm.errors import InputError, InputTypeError
from mathlm.reference import (
    label_smoothed_cross_entropy,
    label_smoothed_cross_entropy_backward,
    numerical_gradient,
    token_cross_entropy,
)


def test_half_a_label_on_two_classes_by_hand():
    """p = (1/4, 3/4), y = 0, ε = 1/2: q = (3/4, 1/4), ℓ = 3/4 log 4 + 1/4 log 4/3."""
    logits = [[math.log(1.0), math.log(3.0)]]
    loss, cache = label_smoothed_cross_entropy(logits, [0], 0.5)
    assert_allclose(loss, 0.75 * math.log(4) + 0.25 * math.log(4 / 3), rtol=1e-14)
    assert_allclose(label_smoothed_cross_entropy_backward(1, cache), [[-0.5, 0.5]], rtol=1e-14)


@pytest.mark.parametrize("smoothing", [0.0, 0.1, 1.0])
def test_loss_and_gradient_equal_those_of_torch(smoothing, rng):
    logits, labels = rng.normal(size=(3, 4, 6)), rng.integers(0, 6, (3, 4))
    mask = rng.random((3, 4)) < 0.6
    loss, cache = label_smoothed_cross_entropy(logits, labels, smoothing, mask)
    z = torch.tensor(logits, requires_grad=True)
    y = torch.tensor(np.where(mask, labels, -100)).flatten()
    expected = torch.nn.functional.cross_entropy(
        z.flatten(0, 1), y, label_smoothing=smoothing, ignore_index=-100
    )
    (2.5 * expected).backward()
    assert_allclose(loss, expected.item(), rtol=1e-12)
    gradient = label_smoothed_cross_entropy_backward(2.5, cache)
    assert_allclose(gradient, z.grad.numpy(), rtol=1e-12, atol=1e-16)
    assert_array_equal(gradient[~mask], 0)


def test_it_is_the_mean_of_the_unreduced_loss_of_the_package(rng):
    logits, labels = rng.normal(size=(5, 6)), rng.integers(0, 6, 5)
    losses, _ = token_cross_entropy(logits, labels, label_smoothing=0.3)
    loss, _ = label_smoothed_cross_entropy(logits, labels, 0.3)
    assert_allclose(loss, losses.mean(), rtol=1e-13)
    plain, _ = label_smoothed_cross_entropy(logits, labels)
    assert_allclose(plain, token_cross_entropy(logits, labels)[0].mean(), rtol=1e-13)


def test_one_label_has_one_row_of_logits():
    loss, cache = label_smoothed_cross_entropy([0.0, math.log(3.0)], 0)
    assert_allclose(loss, math.log(4), rtol=1e-14)
    gradient = label_smoothed_cross_entropy_backward(1, cache)
    assert_allclose(gradient, [-0.75, 0.75], rtol=1e-14)


def test_backward_matches_central_differences(rng):
    logits, labels = rng.normal(size=(2, 3, 4)), rng.integers(0, 4, (2, 3))
    mask = np.array([[True, False, True], [True, True, False]])

    def value(z):
        return -0.7 * label_smoothed_cross_entropy(z, labels, 0.2, mask)[0]

    _, cache = label_smoothed_cross_entropy(logits, labels, 0.2, mask)
    gradient = label_smoothed_cross_entropy_backward(-0.7, cache)
    assert_allclose(gradient, numerical_gradient(value, logits), rtol=1e-6, atol=1e-9)


def test_each_row_of_the_gradient_sums_to_zero(rng):
    _, cache = label_smoothed_cross_entropy(rng.normal(size=(4, 5)), [0, 1, 2, 4], 0.1)
    assert_allclose(label_smoothed_cross_entropy_backward(1.0, cache).sum(-1), 0, atol=1e-15)


def test_the_smoothed_loss_is_least_at_the_smoothed_label_and_grows_with_confidence():
    """Its least value is the entropy of q, here with V = 3 and ε = 0.3 of (0.8, 0.1, 0.1)."""
    q = np.array([0.8, 0.1, 0.1])
    least, cache = label_smoothed_cross_entropy(np.log(q)[None], [0], 0.3)
    assert_allclose(least, -(q * np.log(q)).sum(), rtol=1e-14)
    assert_allclose(label_smoothed_cross_entropy_backward(1.0, cache), 0, atol=1e-15)
    sure, _ = label_smoothed_cross_entropy([[1000.0, 0.0, 0.0]], [0], 0.3)
    assert_allclose(sure, 200.0, rtol=1e-14)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([[1.0, 2.0]], [[0]]), r"logits \(1, 2\) and labels \(1, 1\) do not fit"),
        ((1.0, 0), r"logits \(\) and labels \(\) do not fit"),
        (([[1.0, 2.0]], [2]), r"label 2 at \[0\] is outside 0..1"),
        (([[1.0, np.inf]], [0]), "logits holds 1 NaN or infinite"),
        (([[1.0, 2.0]], [0], 1.5), "smoothing=1.5 is outside 0..1"),
        (([[1.0, 2.0]], [0], -0.1), "smoothing=-0.1 is outside 0..1"),
        (([[1.0, 2.0]], [0], np.nan), "smoothing=nan is outside 0..1"),
        (([[1.0, 2.0]], [0], 0.1, np.array([False])), "none of the 1 labels is real"),
        (([[1.0, 2.0]], [0], 0.1, np.array([[True]])), r"mask has shape \(1, 1\), expected"),
    ],
)
def test_what_does_not_fit_is_refused(arguments, message):
    with pytest.raises(InputError, match=message):
        label_smoothed_cross_entropy(*arguments)


def test_wrong_kinds_are_refused(unchecked):
    with pytest.raises(InputTypeError, match="labels must be integers, got float64"):
        label_smoothed_cross_entropy([[1.0, 2.0]], [0.0])
    with pytest.raises(InputTypeError, match="mask has dtype int64; give booleans"):
        label_smoothed_cross_entropy([[1.0, 2.0]], [0], 0.0, np.array([1]))
    _, cache = label_smoothed_cross_entropy([[1.0, 2.0]], [0])
    with pytest.raises(InputError, match="dloss=nan must be finite"):
        label_smoothed_cross_entropy_backward(math.nan, cache)
    with pytest.raises(InputError, match=r"dloss has shape \(2,\), but y has \(\)"):
        label_smoothed_cross_entropy_backward(np.ones(2), cache)
