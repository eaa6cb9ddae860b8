import math

import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose

from lab.depth.depth_study import depth_study
from lab.depth.growth import (
    deep_linear_gradients,
    residual_growth,
    stream_prediction,
)
from mathlm.errors import ConfigError, InputError, InputTypeError
from mathlm.reference import numerical_vjp, relu

SHAPES = ((4, 3), (5, 4), (2, 5))


def stack(x, *weights):
    for W in weights:
        x = x @ W.T
    return x


def test_gradients_of_a_product_match_central_differences(rng):
    weights = tuple(rng.normal(size=shape) for shape in SHAPES)
    x, dy = rng.normal(size=(6, 3)), rng.normal(size=(6, 2))
    numeric = numerical_vjp(lambda *W: stack(x, *W), weights, dy)
    for ours, theirs in zip(deep_linear_gradients(x, weights, dy), numeric, strict=True):
        assert_allclose(ours, theirs, rtol=1e-6, atol=1e-9)


def test_the_first_matrix_gets_the_product_of_those_above(rng):
    W = [rng.normal(size=shape) for shape in SHAPES]
    x, dy = rng.normal(size=(6, 3)), rng.normal(size=(6, 2))
    assert_allclose(deep_linear_gradients(x, W, dy)[0], (dy @ W[2] @ W[1]).T @ x, rtol=1e-12)


def test_a_stack_that_does_not_fit_is_refused(rng):
    x, dy = rng.normal(size=(6, 3)), rng.normal(size=(6, 2))
    with pytest.raises(InputError, match="no layer to differentiate"):
        deep_linear_gradients(x, [], dy)
    with pytest.raises(InputError, match="does not fit W"):
        deep_linear_gradients(x, [np.ones((2, 4))], dy)


def test_growth_is_the_mean_over_signs_of_scalar_layers():
    """(1 ± g)² averages to 1 + g²: three layers, all eight signs."""
    gains = [0.5, 1.0, 2.0]
    signs = np.stack(np.meshgrid(*[[-1, 1]] * 3), -1).reshape(-1, 3)
    mean = ((1 + signs * gains).prod(1) ** 2).mean()
    assert residual_growth(gains) == pytest.approx(mean, rel=1e-12)
    assert residual_growth([]) == 1.0


@pytest.mark.parametrize("gains", [[-0.1], [math.nan], [math.inf], [1e200, 1e200]])
def test_gains_without_a_growth_are_refused(gains):
    with pytest.raises(InputError, match=r"gains=|beyond float64"):
        residual_growth(gains)


def test_one_pre_norm_block_by_hand():
    """T = 4, r = 1: attention adds 1/4 to 1, all common: r = 4/5.

    The network turns the angle arccos(1/5) and adds 1.
    """
    theta = math.acos(0.2)
    delta = 0.8 - (math.sin(theta) - theta * math.cos(theta)) / math.pi
    size, spread = stream_prediction("pre-norm", 1, 4)
    assert size[1] == pytest.approx(1.5)
    assert spread[1] == pytest.approx(math.sqrt((0.8 * 1.25 + delta) / 2.25 * 0.75))


def test_wide_relu_networks_turn_angles_as_predicted(rng):
    """One feed-forward step: cosine of the outputs of 4000 units for inputs at 60 degrees."""
    x = np.array([[1.0, 0.0], [0.5, math.sqrt(0.75)]])
    hidden, _ = relu(x @ rng.normal(size=(200_000, 2)).T)
    cosine = hidden[0] @ hidden[1] / np.prod(np.linalg.norm(hidden, axis=1))
    theta = math.pi / 3
    lost = (math.sin(theta) - theta * math.cos(theta)) / math.pi
    assert abs(cosine - (0.5 + lost)) < 0.01


@pytest.mark.parametrize("kind", ["residual", "pre-norm", "post-norm"])
def test_random_stacks_do_as_predicted(kind):
    (run,) = depth_study([24], [kind])
    size, spread = stream_prediction(kind, 24, 16)
    assert_allclose(np.log(run["rms"]), np.log(size), atol=2.0)
    assert_allclose(np.log(run["spread"]), np.log(spread), atol=2.0)


def test_spread_halves_with_every_two_post_norm_blocks_once_it_is_small():
    """Nearly equal tokens: attention halves r, the network leaves it: spread falls by √2."""
    _, spread = stream_prediction("post-norm", 96, 16)
    assert spread[95] / spread[96] == pytest.approx(math.sqrt(2), rel=1e-4)


def test_the_two_forms_of_the_lost_angle_meet():
    """Spreads fall smoothly through the angle at which the series takes over."""
    _, spread = stream_prediction("post-norm", 60, 16)
    ratios = spread[:-1] / spread[1:]
    assert (np.abs(np.diff(ratios[15:])) < 5e-3).all()


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        (("sandwich", 3, 4), ConfigError, "sandwich"),
        (("residual", 0, 4), InputError, "depth=0"),
        (("residual", 3, 0), InputError, "tokens=0"),
        (("residual", 1100, 4), InputError, "beyond float64"),
    ],
)
def test_streams_that_cannot_be_predicted_are_refused(arguments, error, message):
    with pytest.raises(error, match=message):
        stream_prediction(*arguments)


def test_a_fractional_depth_is_refused():
    with pytest.raises(InputTypeError, match="must be an integer"):
        stream_prediction("residual", True, 4)


def test_a_residual_layer_pulls_back_by_one_plus_its_jacobian(rng):
    W, x, dy = (torch.tensor(a, requires_grad=True) for a in rng.normal(size=(3, 4, 4)))
    (dx,) = torch.autograd.grad(x + torch.tanh(x @ W.T), x, dy)
    slope = 1 - torch.tanh(x @ W.T) ** 2
    torch.testing.assert_close(dx, dy + (dy * slope) @ W, rtol=1e-12, atol=1e-14)
