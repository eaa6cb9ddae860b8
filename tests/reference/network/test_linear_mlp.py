import itertools
import math

import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose, assert_array_equal

from mathlm import reference as ref
from mathlm.errors import ConfigError, InputError
from mathlm.reference import multilayer_perceptron, multilayer_perceptron_backward

F = torch.nn.functional
TORCH = {
    "relu": F.relu,
    "sigmoid": torch.sigmoid,
    "tanh": torch.tanh,
    "gelu": F.gelu,
    "gelu_tanh": lambda x: F.gelu(x, approximate="tanh"),
    "silu": F.silu,
    "identity": lambda x: x,
}
BATCHES = pytest.mark.parametrize("batch", [(), (4,), (2, 3)], ids=str)
STACKS = pytest.mark.parametrize(
    "names",
    [["relu", "identity"], ["sigmoid", "tanh", "gelu"], ["gelu_tanh", "silu", "sigmoid"]],
    ids="-".join,
)


def network(names, rng, bias=True):
    """Weights of widths 3, 4, 5, ...; the second layer has no bias unless all have one."""
    widths = range(3, 4 + len(names))
    return [
        (rng.normal(size=(o, i)), rng.normal(size=o) if bias or k != 1 else None)
        for k, (i, o) in enumerate(itertools.pairwise(widths))
    ]


def by_torch(x, weights, names, dy):
    """Value, gradient in x, and those in (W, b) of each layer, by autograd."""
    leaf = torch.tensor(x, requires_grad=True)
    leaves = [
        [None if p is None else torch.tensor(p, requires_grad=True) for p in pair]
        for pair in weights
    ]
    h = leaf
    for (W, b), name in zip(leaves, names, strict=True):
        h = TORCH[name](F.linear(h, W, b))
    h.backward(torch.tensor(dy))
    return (
        h.detach(),
        leaf.grad,
        [[p if p is None else p.grad for p in pair] for pair in leaves],
    )


@BATCHES
@STACKS
@pytest.mark.parametrize("bias", [True, False])
def test_value_and_gradients_are_those_of_autograd(batch, names, bias, rng):
    weights, x = network(names, rng, bias), rng.normal(size=(*batch, 3))
    y, cache = multilayer_perceptron(x, weights, names)
    dy = rng.normal(size=y.shape)
    value, dx_torch, gradients_torch = by_torch(x, weights, names, dy)
    dx, gradients = multilayer_perceptron_backward(dy, cache)
    assert_allclose(y, value, rtol=1e-12, atol=1e-14)
    assert_allclose(dx, dx_torch, rtol=1e-12, atol=1e-12)
    for ours, theirs in zip(gradients, gradients_torch, strict=True):
        assert_allclose(ours[0], theirs[0], rtol=1e-12, atol=1e-12)
        assert (ours[1] is None) == (theirs[1] is None)
        if ours[1] is not None:
            assert_allclose(ours[1], theirs[1], rtol=1e-12, atol=1e-12)


@BATCHES
@STACKS
def test_gradients_are_those_of_finite_differences(batch, names, rng):
    weights, x = network(names, rng), rng.normal(size=(*batch, 3))
    flat = (x, *(p for pair in weights for p in pair))
    pairs = lambda a: list(zip(a[::2], a[1::2], strict=True))  # noqa: E731
    y, cache = multilayer_perceptron(x, weights, names)
    dy = rng.normal(size=y.shape)
    value = lambda x, *p: multilayer_perceptron(x, pairs(p), names)[0]  # noqa: E731
    dx, gradients = multilayer_perceptron_backward(dy, cache)
    ours = (dx, *(p for pair in gradients for p in pair))
    for found, right in zip(ours, ref.numerical_vjp(value, flat, dy), strict=True):
        assert_allclose(found, right, rtol=1e-6, atol=1e-8)


def test_the_trace_of_a_2_2_1_network_by_hand():
    """x = (1.0, 0.5), label 1, all in exact decimals up to the sigmoid:

    z1 = (0.15·1 + 0.20·0.5 + 0.35, 0.25·1 + 0.30·0.5 + 0.35) = (0.60, 0.75) = h1 after ReLU
    z2 = 0.40·0.60 + 0.45·0.75 + 0.60 = 0.24 + 0.3375 + 0.60 = 1.1775
    e^-1.1775 = 0.3080478965, p = 1/1.3080478965 = 0.7644979994, loss = ln 1.3080478965
    = 0.2685358705, δ2 = p - 1 = -0.2355020006
    dW2 = δ2 (0.60, 0.75) = (-0.1413012004, -0.1766265004), db2 = δ2
    δ1 = δ2 (0.40, 0.45) = (-0.0942008002, -0.1059759003) = db1, both ReLU open
    dW1 = δ1 times (1.0, 0.5) = (-0.0942008002, -0.0471004001; -0.1059759003, -0.0529879501)
    """
    x, weights, target = trace()
    z2, cache = multilayer_perceptron(x, weights, ["relu", "identity"])
    loss, loss_cache = ref.binary_cross_entropy_with_logits(z2, target)
    delta2 = ref.binary_cross_entropy_with_logits_backward(np.ones(1), loss_cache)
    _, ((dW1, db1), (dW2, db2)) = multilayer_perceptron_backward(delta2, cache)
    assert_allclose(z2, [1.1775], rtol=1e-14)
    assert_allclose(loss, [0.2685358705], atol=6e-11)
    assert_allclose(db2, [-0.2355020006], atol=6e-11)
    assert_allclose(dW2, [[-0.1413012004, -0.1766265004]], atol=6e-11)
    assert_allclose(db1, [-0.0942008002, -0.1059759003], atol=6e-11)
    expected = [[-0.0942008002, -0.0471004001], [-0.1059759003, -0.0529879501]]
    assert_allclose(dW1, expected, atol=6e-11)


def trace():
    """Input, weights and label of the traced network."""
    first = np.array([[0.15, 0.20], [0.25, 0.30]]), np.array([0.35, 0.35])
    second = np.array([[0.40, 0.45]]), np.array([0.60])
    return np.array([1.0, 0.5]), [first, second], [1]


def test_the_traced_network_after_one_step_of_a_half_by_hand():
    """Weights less half of their gradients, δ2 = -0.2355020006:

    W2 = 0.40 + 0.30·0.2355020006, 0.45 + 0.375·0.2355020006 = (0.4706506002, 0.5383132502)
    b2 = 0.60 + 0.1177510003 = 0.7177510003
    W1 = (0.15 + 0.0471004001, 0.20 + 0.0235502001; 0.25 + 0.0529879501, 0.30 + 0.0264939751)
    b1 = (0.35 + 0.0471004001, 0.35 + 0.0529879501)
    """
    x, weights, target = trace()
    p, cache = multilayer_perceptron(x, weights, ["relu", "sigmoid"])
    dp = ref.binary_cross_entropy_backward([1.0], ref.binary_cross_entropy(p, target)[1])
    _, gradients = multilayer_perceptron_backward(dp, cache)
    after = [
        [p - 0.5 * dp for p, dp in zip(*pairs, strict=True)]
        for pairs in zip(weights, gradients, strict=True)
    ]
    first = [[0.1971004001, 0.2235502001], [0.3029879501, 0.3264939751]]
    assert_allclose(after[0][0], first, atol=1e-10)
    assert_allclose(after[0][1], [0.3971004001, 0.4029879501], atol=1e-10)
    assert_allclose(after[1][0], [[0.4706506002, 0.5383132502]], atol=1e-10)
    assert_allclose(after[1][1], [0.7177510003], atol=1e-10)


def test_a_2_3_1_network_by_hand_with_a_unit_that_relu_closes():
    """x = (1, 0.5), label 1: z1 = (0.5, -0.45, 0.2), h1 = (0.5, 0, 0.2), z2 = 0.4 - 0.2 = 0.2

    p = σ(0.2) = 0.5498339973; half the square has δ2 = (p - 1) p (1 - p)
    = -0.4501660027 · 0.2475165727 = -0.1114235461
    dW2 = δ2 h1 = (-0.0557117731, 0, -0.0222847092)
    δ1 = δ2 (0.6, -0.4, 0.5), closed in the middle = (-0.0668541277, 0, -0.0557117731)
    dW1 = δ1 times (1, 0.5): second column -0.0334270638, 0, -0.0278558865
    """
    W1 = np.array([[0.2, 0.4], [-0.5, 0.3], [0.1, -0.2]])
    W2 = np.array([[0.6, -0.4, 0.5]])
    weights = [(W1, np.array([0.1, -0.1, 0.2])), (W2, np.array([-0.2]))]
    p, cache = multilayer_perceptron(np.array([1.0, 0.5]), weights, ["relu", "sigmoid"])
    dp = ref.half_squared_error_backward([1.0], ref.half_squared_error(p, [1.0])[1])
    _, ((dW1, db1), (dW2, db2)) = multilayer_perceptron_backward(dp, cache)
    assert_allclose(p, [0.5498339973], atol=6e-11)
    assert_allclose(db2, [-0.1114235461], atol=6e-11)
    assert_allclose(dW2, [[-0.0557117731, 0, -0.0222847092]], atol=6e-11)
    assert_allclose(db1, [-0.0668541277, 0, -0.0557117731], atol=6e-11)
    assert_allclose(dW1[:, 1], [-0.0334270638, 0, -0.0278558865], atol=6e-11)
    assert_array_equal(dW1[:, 0], db1)


def test_exclusive_or_takes_two_relu_units_by_hand():
    """relu(a + b) - 2 relu(a + b - 1): 0, 1, 1, 2 - 2 = 0 for 00, 01, 10, 11."""
    bits = np.array([[0.0, 0], [0, 1], [1, 0], [1, 1]])
    weights = [(np.ones((2, 2)), np.array([0.0, -1.0])), (np.array([[1.0, -2.0]]), None)]
    y, _ = multilayer_perceptron(bits, weights, ["relu", "identity"])
    assert_array_equal(y[:, 0], [0, 1, 1, 0])


def test_layers_without_activation_collapse_to_one_matrix(rng):
    weights = [(W, None) for W, _ in network(["identity"] * 3, rng)]
    x = rng.normal(size=(4, 3))
    y, _ = multilayer_perceptron(x, weights, ["identity"] * 3)
    product = weights[2][0] @ weights[1][0] @ weights[0][0]
    assert_allclose(y, x @ product.T, rtol=1e-12, atol=1e-13)


def test_the_backward_pass_changes_none_of_its_arguments(rng):
    weights, x = network(["relu", "identity"], rng), rng.normal(size=(4, 3))
    y, cache = multilayer_perceptron(x, weights, ["relu", "identity"])
    dy = np.ones_like(y)
    first, second = (multilayer_perceptron_backward(dy, cache) for _ in range(2))
    assert_array_equal(dy, 1)
    assert_array_equal(first[0], second[0])
    assert_array_equal(first[1][0][0], second[1][0][0])


def changed(weights, layer, W=None, b=None):
    new = list(weights)
    old_W, old_b = weights[layer]
    new[layer] = (old_W if W is None else W, old_b if b is None else b)
    return new


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"layer": 1, "W": np.ones((5, 3))},
         r"layer 2 of 2: W of shape \(5, 3\).* input of shape \(4, 4\) from layer 1"),
        ({"layer": 0, "W": np.ones((3, 4))},
         r"layer 1 of 2: W of shape \(3, 4\).* input of shape \(4, 3\) from x"),
        ({"layer": 1, "b": np.ones(4)}, r"layer 2 of 2: b has shape \(4,\), expected \(5,\)"),
        ({"layer": 1, "b": np.ones((1, 5))}, r"layer 2 of 2: b has shape \(1, 5\), expected"),
        ({"layer": 0, "W": np.full((4, 3), math.nan)}, "W of layer 1 of 2 holds 12 NaN"),
        ({"layer": 1, "b": np.full(5, math.inf)}, "b of layer 2 of 2 holds 5 NaN or infinite"),
        ({"layer": 0, "W": np.ones((0, 3))}, r"W of layer 1 of 2 is empty, of shape \(0, 3\)"),
    ],
)  # fmt: skip
def test_a_layer_that_does_not_fit_is_named(change, message, rng):
    weights = changed(network(["relu", "identity"], rng), **change)
    with pytest.raises(InputError, match=message):
        multilayer_perceptron(np.ones((4, 3)), weights, ["relu", "identity"])


def test_a_layer_of_three_parts_is_named(rng, unchecked):
    weights = network(["relu", "identity"], rng)
    weights[1] = (*weights[1], np.ones(4))
    with pytest.raises(InputError, match="layer 2 of 2 has 3 parts, expected two: W and b"):
        multilayer_perceptron(np.ones((4, 3)), weights, ["relu", "identity"])


@pytest.mark.parametrize(
    ("names", "error", "message"),
    [
        (["relu", "softmax"], ConfigError,
         "'softmax' of layer 2 of 2 is not one of relu, sigmoid, tanh, gelu, gelu_tanh, silu"),
        (["relu"], InputError, r"2 layers and activations=\['relu'\] do not fit"),
        ("relu", InputError, "2 layers and activations='relu' do not fit"),
        ("ab", InputError, "2 layers and activations='ab' do not fit"),
        (["relu", ["relu"]], ConfigError, r"activation \['relu'\] of layer 2 of 2 is not one"),
    ],
)  # fmt: skip
def test_activations_that_are_not_known_or_not_one_a_layer_are_refused(
    names, error, message, rng, unchecked
):
    with pytest.raises(error, match=message):
        multilayer_perceptron(np.ones((4, 3)), network(["relu"] * 2, rng), names)


def test_no_layers_and_no_input_are_refused(rng, unchecked):
    with pytest.raises(InputError, match=r"layer 1 of 1: .* input of shape \(\) from x"):
        multilayer_perceptron(np.array(1.0), network(["relu"], rng), ["relu"])
    with pytest.raises(InputError, match=r"layer 1 of 1: W of shape \(2, 4, 3\)"):
        multilayer_perceptron(np.ones(3), [(np.ones((2, 4, 3)), None)], ["relu"])
    with pytest.raises(InputError, match="there are no layers"):
        multilayer_perceptron(np.ones(3), [], [])
    with pytest.raises(InputError, match=r"x is empty, of shape \(0, 3\)"):
        multilayer_perceptron(np.ones((0, 3)), network(["relu"], rng), ["relu"])


def test_a_gradient_of_another_shape_is_refused(rng):
    _, cache = multilayer_perceptron(np.ones((4, 3)), network(["identity"], rng), ["identity"])
    with pytest.raises(InputError, match=r"dy has shape \(4,\), but y has \(4, 4\)"):
        multilayer_perceptron_backward(np.ones(4), cache)
