import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose

from mathlm.errors import ConfigError, InputError
from mathlm.reference import feed_forward, feed_forward_backward, numerical_vjp

D, F, OUT = 3, 5, 2
NAMES = ["relu", "gelu", "gelu_tanh", "silu", "swiglu"]
ACTIVATIONS = pytest.mark.parametrize("activation", NAMES)
BATCHES = pytest.mark.parametrize("batch", [(), (4,), (2, 3)], ids=str)
TORCH = {
    "relu": torch.relu,
    "gelu": torch.nn.functional.gelu,
    "gelu_tanh": lambda z: torch.nn.functional.gelu(z, approximate="tanh"),
    "silu": torch.nn.functional.silu,
}


def draw_weights(rng, activation, bias=True):
    rows = {"W_in": (F, D), "W_gate": (F, D), "W_out": (OUT, F)}
    if activation != "swiglu":
        del rows["W_gate"]
    weights = {f"{n}.weight": rng.normal(size=s) for n, s in rows.items()}
    biases = {f"{n}.bias": rng.normal(size=s[0]) for n, s in rows.items()}
    return weights | (biases if bias else {})


def by_torch(x, leaves, activation):
    def apply(z, name):
        return torch.nn.functional.linear(
            z, leaves[f"{name}.weight"], leaves.get(f"{name}.bias")
        )

    if activation == "swiglu":
        hidden = TORCH["silu"](apply(x, "W_gate")) * apply(x, "W_in")
    else:
        hidden = TORCH[activation](apply(x, "W_in"))
    return apply(hidden, "W_out")


@ACTIVATIONS
@BATCHES
@pytest.mark.parametrize("bias", [True, False])
def test_value_and_gradients_match_torch(activation, batch, bias, rng):
    weights = draw_weights(rng, activation, bias)
    x, dy = rng.normal(size=(*batch, D)), rng.normal(size=(*batch, OUT))
    leaves = {n: torch.tensor(w, requires_grad=True) for n, w in weights.items()}
    leaf = torch.tensor(x, requires_grad=True)
    theirs = by_torch(leaf, leaves, activation)
    theirs.backward(torch.tensor(dy))
    y, cache = feed_forward(x, weights, activation)
    dx, dweights = feed_forward_backward(dy, cache)
    assert_allclose(y, theirs.detach(), rtol=1e-12, atol=1e-13)
    assert_allclose(dx, leaf.grad, rtol=1e-12, atol=1e-13)
    assert list(dweights) == list(weights)
    for name, gradient in dweights.items():
        assert_allclose(gradient, leaves[name].grad, rtol=1e-12, atol=1e-13)


@ACTIVATIONS
@BATCHES
def test_backward_matches_central_differences(activation, batch, rng):
    weights = draw_weights(rng, activation)
    x, dy = rng.normal(size=(*batch, D)), rng.normal(size=(*batch, OUT))

    def forward(x, *rest):
        return feed_forward(x, dict(zip(weights, rest, strict=True)), activation)[0]

    dx, dweights = feed_forward_backward(dy, feed_forward(x, weights, activation)[1])
    numeric = numerical_vjp(forward, (x, *weights.values()), dy)
    for ours, theirs in zip((dx, *dweights.values()), numeric, strict=True):
        assert_allclose(ours, theirs, rtol=1e-6, atol=1e-8)


def test_two_hidden_units_by_hand():
    """Hidden (3, -1) + bias (0, 0) through relu is (3, 0); 2·3 + 5·0 + 1 = 7."""
    weights = {"W_in.weight": np.array([[1.0, 1.0], [1.0, -1.0]]), "W_in.bias": np.zeros(2)}
    weights |= {"W_out.weight": np.array([[2.0, 5.0]]), "W_out.bias": np.ones(1)}
    y, cache = feed_forward([1.0, 2.0], weights)
    assert y.tolist() == [7.0]
    assert cache[1].tolist() == [3.0, 0.0]
    dx, dweights = feed_forward_backward([1.0], cache)
    assert dx.tolist() == [2.0, 2.0]
    assert dweights["W_in.weight"].tolist() == [[2.0, 4.0], [0.0, 0.0]]


@ACTIVATIONS
def test_each_position_is_treated_alone(activation, rng):
    weights, x = draw_weights(rng, activation), rng.normal(size=(2, 4, D))
    together = feed_forward(x, weights, activation)[0]
    for place in np.ndindex(2, 4):
        alone = feed_forward(x[place], weights, activation)[0]
        assert_allclose(together[place], alone, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"W_in.weight": np.ones((F, 4))}, r"W_in.weight'\] has shape \(5, 4\), .*\(out, 3\)"),
        (
            {"W_out.weight": np.ones((OUT, 4))},
            r"W_out.weight'\] has shape \(2, 4\), .*\(out, 5\)",
        ),
        ({"W_in.bias": np.ones(4)}, r"W_in.bias'\] has shape \(4,\), expected \(5,\)"),
        ({"W_gate.weight": np.ones((F, D))}, r"unknown names \['W_gate.weight'\]"),
        ({"W_out.weight": np.full((OUT, F), np.nan)}, r"W_out.weight'\] holds 10 NaN"),
    ],
)
def test_weights_that_do_not_fit_are_refused(change, message, rng):
    with pytest.raises(InputError, match=message):
        feed_forward(np.ones((4, D)), draw_weights(rng, "relu") | change)


def test_a_gate_is_needed_and_must_have_the_rows_of_the_other_half(rng):
    weights = draw_weights(rng, "relu", bias=False)
    with pytest.raises(InputError, match=r"weights lacks \['W_gate.weight'\]"):
        feed_forward(np.ones(D), weights, "swiglu")
    weights["W_gate.weight"] = np.ones((F + 1, D))
    with pytest.raises(InputError, match=r"differ: \{'W_gate': 6, 'W_in': 5\}"):
        feed_forward(np.ones(D), weights, "swiglu")


@pytest.mark.parametrize("name", ["tanh", "ReLU", ""])
def test_an_unknown_activation_is_refused(name, rng):
    with pytest.raises(ConfigError, match=f"activation='{name}' is not one of relu, gelu"):
        feed_forward(np.ones(D), draw_weights(rng, "relu"), name)


@pytest.mark.parametrize(
    ("x", "message"),
    [
        (np.full(D, np.nan), "x holds 3 NaN"),
        (np.ones(()), "x is a single number"),
        (np.ones((0, D)), "x is empty"),
    ],
)
def test_input_that_does_not_fit_is_refused(x, message, rng):
    with pytest.raises(InputError, match=message):
        feed_forward(x, draw_weights(rng, "relu"))


@pytest.mark.parametrize(
    ("dy", "message"), [(np.ones(3), r"dy has shape \(3,\), but y has \(2,\)"), (np.nan, "NaN")]
)
def test_a_gradient_that_does_not_fit_is_refused(dy, message, rng):
    with pytest.raises(InputError, match=message):
        feed_forward_backward(dy, feed_forward(np.ones(D), draw_weights(rng, "relu"))[1])
