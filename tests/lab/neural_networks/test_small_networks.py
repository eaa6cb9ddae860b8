from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from lab.neural_networks.small_networks import (
    NetworksConfig,
    forward,
    gradients,
    losses,
    start,
    train,
)
from mathlm.errors import ConfigError, InputError
from mathlm.reference import all_bits, multilayer_perceptron, numerical_gradient

BITS, XOR = all_bits(2)
SMALL = NetworksConfig(widths=(2, 3, 2, 1), count=4, steps=20)


@pytest.mark.parametrize("activation", ["relu", "sigmoid", "tanh"])
def test_each_network_computes_what_the_reference_does(activation, rng):
    layers = start(replace(SMALL, activation=activation))
    x = rng.normal(size=(5, 2))
    raw = forward(x, layers, activation)[-1]
    for s in range(4):
        weights = [(W[s], b[s]) for W, b in layers]
        one, _ = multilayer_perceptron(x, weights, [activation] * 2 + ["identity"])
        assert_allclose(raw[s], one, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("loss", ["bits", "squares"])
@pytest.mark.parametrize("activation", ["relu", "sigmoid", "tanh"])
def test_gradients_match_central_differences(activation, loss, rng):
    config = replace(SMALL, activation=activation, loss=loss)
    layers, x = start(config), rng.normal(size=(5, 2))
    y = rng.integers(2, size=(5, 1)).astype(float)

    def total(W):
        return float(losses(x, y, [layers[0], (W, layers[1][1]), layers[2]], config).sum())

    dW = gradients(x, y, layers, config)[1][0]
    assert_allclose(dW, numerical_gradient(total, layers[1][0]), rtol=1e-6, atol=1e-9)


def test_biases_have_gradients_too(rng):
    layers, x = start(SMALL), rng.normal(size=(4, 2))

    def total(b):
        return float(losses(x, XOR, [(layers[0][0], b), *layers[1:]], SMALL).sum())

    db = gradients(x, XOR, layers, SMALL)[0][1]
    assert_allclose(db, numerical_gradient(total, layers[0][1]), rtol=1e-6, atol=1e-9)


def test_a_step_goes_against_the_gradient():
    config = replace(SMALL, steps=1)
    before, after = start(config), train(BITS, XOR, config)
    for (W, b), (V, c), (dW, db) in zip(
        before, after, gradients(BITS, XOR, before, config), strict=True
    ):
        assert_allclose(V, W - 0.5 * dW)
        assert_allclose(c, b - 0.5 * db)


def test_a_given_start_is_used_and_left_alone():
    begin = [(2 * W, b + 1) for W, b in start(SMALL)]
    kept = [W.copy() for W, _ in begin]
    twice = train(BITS, XOR, SMALL, train(BITS, XOR, SMALL, begin))
    assert_array_equal(begin[0][0], kept[0])
    assert_allclose(twice[0][0], train(BITS, XOR, replace(SMALL, steps=40), begin)[0][0])


def test_loss_of_an_undecided_network_is_one_bit():
    layers = [(0 * W, b) for W, b in start(SMALL)]
    assert_allclose(losses(BITS, XOR, layers, SMALL), np.log(2))
    assert_allclose(losses(BITS, XOR, layers, replace(SMALL, loss="squares")), 0.25)


def test_stuck_networks_end_on_the_levels_of_silent_inputs():
    """Two, three or four of four inputs share one answer: k/4 H(j/k), by hand."""
    config = NetworksConfig(count=60, steps=2500)
    layers = train(BITS, XOR, config)
    found = losses(BITS, XOR, layers, config)
    silent = (forward(BITS, layers)[1] <= 0).all(2).sum(1)
    levels = {2: np.log(2) / 2, 3: 0.75 * np.log(3) - 0.5 * np.log(2), 4: np.log(2)}
    for k, level in levels.items():
        assert_allclose(found[(found > 0.1) & (silent == k)], level, atol=0.03)
    assert 0.2 < (found > 0.1).mean() < 0.5


def test_starts_have_the_variance_of_he():
    (W1, b1), (W2, _) = start(NetworksConfig(widths=(8, 50, 1), count=50))
    assert_allclose([W1.var() * 8, W2.var() * 50], 2, rtol=0.1)
    assert not b1.any()


def test_one_weight_and_one_bias_copy_a_bit_from_every_start():
    x, y = all_bits(1)
    config = NetworksConfig(widths=(1, 1))
    assert (((forward(x, train(x, y, config))[-1] > 0) == (y > 0)).all((1, 2))).all()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"widths": (2,)}, "widths needs two entries"),
        ({"steps": 0}, "integers >= 1"),
        ({"widths": (2, True, 1)}, "integers >= 1: .*True"),
        ({"learning_rate": 0.0}, "learning_rate=0.0 must be positive"),
        ({"learning_rate": float("inf")}, "learning_rate=inf must be positive"),
    ],
)
def test_settings_out_of_range_are_refused(options, message):
    with pytest.raises(ConfigError, match=message):
        NetworksConfig(**options)


@pytest.mark.parametrize(("x", "message"), [(BITS[:0], "empty"), (BITS * np.nan, "8 NaN")])
def test_no_data_and_data_that_are_no_numbers_are_refused(x, message):
    with pytest.raises(InputError, match=message):
        train(x, XOR[: len(x)], SMALL)


def test_data_of_the_wrong_shape_are_refused():
    with pytest.raises(InputError, match=r"x \(4, 2\) and y \(4,\) do not fit"):
        train(BITS, XOR[:, 0], SMALL)
