import dataclasses
from typing import get_args

import pytest
import torch
from numpy.testing import assert_allclose

from mathlm.errors import ConfigError, InputError, InputTypeError
from mathlm.models import MLP, MLPConfig
from mathlm.models.mlp import Activation
from mathlm.reference import multilayer_perceptron, multilayer_perceptron_backward

SIZES = {"d_in": 3, "d_hidden": (5, 4), "d_out": 2}


def copied(model):
    """Weights of a model as the reference takes them."""
    arrays = {name: p.detach().numpy() for name, p in model.named_parameters()}
    layers = range(len(model.layers))
    return [(arrays[f"layers.{i}.weight"], arrays.get(f"layers.{i}.bias")) for i in layers]


@pytest.mark.parametrize("activation", get_args(Activation))
@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("batch", [(), (4,), (2, 3)], ids=str)
def test_value_and_gradients_are_those_of_the_reference(activation, bias, batch, rng):
    model = MLP(MLPConfig(**SIZES, activation=activation, bias=bias))
    x, dy = rng.normal(size=(*batch, 3)), rng.normal(size=(*batch, 2))
    y, cache = multilayer_perceptron(x, copied(model), [activation] * 2 + ["identity"])
    dx, gradients = multilayer_perceptron_backward(dy, cache)
    leaf = torch.tensor(x, requires_grad=True)
    ours = model(leaf)
    ours.backward(torch.tensor(dy))
    assert_allclose(ours.detach(), y, rtol=1e-12, atol=1e-14)
    assert_allclose(leaf.grad, dx, rtol=1e-12, atol=1e-13)
    flat = [p for pair in gradients for p in pair if p is not None]
    for p, expected in zip(model.parameters(), flat, strict=True):
        assert_allclose(p.grad, expected, rtol=1e-12, atol=1e-13)


def test_names_and_shapes_of_the_state_are_fixed():
    state = {name: tuple(p.shape) for name, p in MLP(MLPConfig(**SIZES)).state_dict().items()}
    assert state == {
        "layers.0.weight": (5, 3), "layers.0.bias": (5,),
        "layers.1.weight": (4, 5), "layers.1.bias": (4,),
        "layers.2.weight": (2, 4), "layers.2.bias": (2,),
    }  # fmt: skip


def test_no_hidden_layer_is_a_linear_model(rng):
    model = MLP(MLPConfig(d_in=3, d_hidden=(), d_out=2))
    (W, b), x = copied(model)[0], rng.normal(size=(4, 3))
    assert_allclose(model(torch.tensor(x)).detach(), x @ W.T + b, rtol=1e-12)


@pytest.mark.parametrize(("activation", "gain"), [("relu", 2), ("silu", 2), ("tanh", 1)])
def test_weights_start_with_the_documented_variance(activation, gain):
    config = MLPConfig(d_in=400, d_hidden=(300,), d_out=200, activation=activation)
    first, last = MLP(config).layers
    assert first.weight.var().item() * 400 == pytest.approx(gain, rel=0.03)
    assert last.weight.var().item() * 300 == pytest.approx(1, rel=0.03)
    assert not first.bias.any()


def test_taps_receive_every_hidden_layer_and_may_replace_it(rng):
    model, taps = MLP(MLPConfig(**SIZES)), {}
    y = model(torch.tensor(rng.normal(size=(4, 3))), taps=taps)
    assert {name: tuple(t.shape) for name, t in taps.items()} == {
        "hidden.0": (4, 5), "hidden.1": (4, 4),
    }  # fmt: skip
    torch.testing.assert_close(model.layers[-1](taps["hidden.1"]), y)


def test_dropout_acts_in_training_only():
    model, x = MLP(MLPConfig(**SIZES | {"d_hidden": (500,)}, dropout=0.5)), torch.ones(1, 3)
    assert not torch.equal(model(x), model(x))
    assert torch.equal(model.eval()(x), model(x))


def test_it_learns_exclusive_or():
    model = MLP(MLPConfig(d_in=2, d_hidden=(8,), d_out=1, activation="tanh"))
    x, y = (
        torch.tensor([[0.0, 0], [0, 1], [1, 0], [1, 1]]),
        torch.tensor([[0.0], [1], [1], [0]]),
    )
    optimizer = torch.optim.Adam(model.parameters(), lr=0.05)
    for _ in range(200):
        optimizer.zero_grad()
        torch.nn.functional.binary_cross_entropy_with_logits(model(x), y).backward()
        optimizer.step()
    assert torch.equal(model(x) > 0, y > 0)


@pytest.mark.parametrize(
    ("x", "error", "message"),
    [
        (torch.ones(4, 2), InputError, r"x has shape \(4, 2\), expected \(\.\.\., 3\)"),
        (torch.tensor(1.0), InputError, r"x has shape \(\), expected"),
        (torch.ones(0, 3), InputError, r"x is empty, of shape \(0, 3\)"),
        (torch.ones(4, 3, dtype=torch.float32), InputTypeError,
         "x has dtype float32, but the weights are float64"),
    ],
)  # fmt: skip
def test_inputs_that_do_not_fit_are_refused(x, error, message):
    model = MLP(MLPConfig(**SIZES))
    with pytest.raises(error, match=message):
        model(x.double() if error is InputError else x)


def test_a_config_is_frozen_and_keyword_only():
    with pytest.raises(dataclasses.FrozenInstanceError):
        MLPConfig(**SIZES).d_in = 4
    with pytest.raises(TypeError):
        MLPConfig(3, (4,), 2)


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"d_in": 0}, "d_in=0 must be at least 1"),
        ({"d_out": 2.0}, r"d_out=2\.0 must be an integer"),
        ({"d_out": True}, "d_out=True must be an integer"),
        ({"d_hidden": (4, -1)}, r"d_hidden\[1\]=-1 must be at least 1"),
        ({"d_hidden": [4]}, r"d_hidden=\[4\] must be a tuple of widths"),
        ({"d_hidden": 4}, "d_hidden=4 must be a tuple of widths"),
        ({"activation": "softmax"}, "activation='softmax' is not one of 'relu', 'sigmoid', "),
        ({"bias": "qkv"}, "bias='qkv' is not one of True, False"),
        ({"dropout": 1.0}, r"dropout=1\.0 is outside"),
    ],
)
def test_sizes_and_choices_that_do_not_fit_are_refused(fields, message):
    with pytest.raises(ConfigError, match=message):
        MLPConfig(**SIZES | fields)
