import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose

from lab.initialization import propagation
from mathlm.errors import InputError


@pytest.mark.parametrize("activation", ["relu", "tanh", "sigmoid"])
def test_both_directions_match_autograd(activation, rng):
    weights = [rng.normal(size=(5, 5)) for _ in range(4)]
    x, dy = rng.normal(size=(2, 7, 5))
    forward, backward = propagation.signal_by_depth(x, weights, activation, dy)
    h = [torch.tensor(x, requires_grad=True)]
    for W in weights:
        h.append(getattr(torch, activation)(h[-1] @ torch.tensor(W).T))
    gradients = torch.autograd.grad(h[-1], h[:-1], torch.tensor(dy))
    rms = lambda tensors: [t.square().mean().sqrt().item() for t in tensors]  # noqa: E731
    assert_allclose(forward, rms(h[1:]), rtol=1e-12)
    assert_allclose(backward, rms(gradients), rtol=1e-12)


def test_half_of_the_mean_square_passes_a_relu():
    """Inputs ±1 with W = 1: relu keeps the ones, mean square ½ forward and backward."""
    x = np.array([[1.0], [-1.0]])
    forward, backward = propagation.signal_by_depth(
        x, [np.ones((1, 1))], "relu", np.ones((2, 1))
    )
    assert_allclose([*forward**2, *backward**2], [0.5, 0.5])


def test_unknown_activations_and_no_layers_are_refused():
    with pytest.raises(InputError, match="activation='cube' with 1 layers"):
        propagation.signal_by_depth(np.ones((1, 2)), [np.eye(2)], "cube", np.ones((1, 2)))
    with pytest.raises(InputError, match="with 0 layers"):
        propagation.signal_by_depth(np.ones((1, 2)), [], "relu", np.ones((1, 2)))


def test_a_matrix_that_does_not_fit_is_named(rng):
    weights = [np.ones((5, 5)), np.ones((4, 4))]
    with pytest.raises(InputError, match=r"layer 2 have shape \(4, 4\), inputs \(3, 5\)"):
        propagation.signal_by_depth(np.ones((3, 5)), weights, "tanh", np.ones((3, 5)))


def test_a_signal_too_small_or_large_to_square_has_its_size():
    """Two layers that multiply by 10⁹⁰ or 10⁻⁹⁰ make 1 into 10¹⁸⁰ or 10⁻¹⁸⁰."""
    for factor in (1e90, 1e-90):
        weights = [factor * np.eye(3)] * 2
        forward, backward = propagation.signal_by_depth(
            np.ones((2, 3)), weights, "relu", np.ones((2, 3))
        )
        assert_allclose([forward[-1], backward[0]], factor**2, rtol=1e-12)


def test_a_signal_that_overflows_is_refused():
    with pytest.raises(InputError, match="infinite"):
        propagation.signal_by_depth(
            np.ones((2, 3)), [1e200 * np.eye(3)] * 2, "relu", np.ones((2, 3))
        )
