import math
import re

import numpy as np
import pytest
import torch

from mathlm.errors import ConfigError, InputError, NonFiniteLossError
from mathlm.reference import descend, muon_step, newton_schulz

CUBIC = (1.5, -0.5, 0.0)
SHAPES = pytest.mark.parametrize("shape", [(5, 5), (8, 3), (3, 8), (1, 4), (4, 1)])


def with_singular_values(rng, shape, values):
    U, _, Vt = np.linalg.svd(rng.normal(size=shape), full_matrices=False)
    return U * values @ Vt


@SHAPES
def test_each_pass_maps_the_singular_values_by_the_polynomial(rng, shape):
    G = rng.normal(size=shape)
    U, s, Vt = np.linalg.svd(G, full_matrices=False)
    s = s / np.sqrt(np.sum(s**2))
    for _ in range(5):
        s = 3.4445 * s - 4.7750 * s**3 + 2.0315 * s**5
    np.testing.assert_allclose(newton_schulz(G), U * s @ Vt, rtol=1e-11, atol=1e-12)


@SHAPES
def test_the_cubic_converges_to_the_orthogonal_factor(rng, shape):
    U, _, Vt = np.linalg.svd(G := rng.normal(size=shape), full_matrices=False)
    found = newton_schulz(G, steps=60, coefficients=CUBIC)
    np.testing.assert_allclose(found, U @ Vt, rtol=0, atol=1e-12)


def test_five_passes_bring_singular_values_into_the_band(rng):
    values = np.concatenate([[1.0], np.geomspace(0.0101, 0.05, 60)])
    values /= np.linalg.norm(values)
    G = with_singular_values(rng, (80, 61), values)
    assert values.min() < 0.0101
    after = np.linalg.svd(newton_schulz(G), compute_uv=False)
    assert 0.68 < after.min() < after.max() < 1.14


def test_the_size_of_the_matrix_does_not_matter(rng):
    G = rng.normal(size=(4, 6))
    np.testing.assert_allclose(newton_schulz(1e5 * G), newton_schulz(G), rtol=1e-11, atol=1e-12)


def test_a_matrix_of_half_the_digits_is_worked_on_in_float64(rng):
    G = rng.normal(size=(4, 6)).astype(np.float32)
    np.testing.assert_array_equal(newton_schulz(G), newton_schulz(G.astype(np.float64)))


def test_a_tall_matrix_is_the_transpose_of_a_wide_one(rng):
    G = rng.normal(size=(7, 3))
    np.testing.assert_array_equal(newton_schulz(G), newton_schulz(G.T).T)


def test_a_zero_matrix_stays_zero():
    np.testing.assert_array_equal(newton_schulz(np.zeros((3, 2))), np.zeros((3, 2)))


def test_a_norm_below_epsilon_is_divided_by_epsilon():
    """No pass: X = G / ε."""
    assert newton_schulz(np.array([[1e-9]]), steps=0)[0, 0] == pytest.approx(1e-2, rel=1e-12)


def torch_muon(monkeypatch, shape, steps, **options):
    """Trajectory of torch's Muon, in float64: its cast to bfloat16 becomes a copy."""
    monkeypatch.setattr(torch.Tensor, "bfloat16", torch.Tensor.clone)
    rng = np.random.default_rng(5)
    p = torch.nn.Parameter(torch.from_numpy(rng.normal(size=shape)))
    optimizer, points = torch.optim.Muon([p], **options), [p.detach().numpy().copy()]
    gradients = rng.normal(size=(steps, *shape))
    for g in gradients:
        p.grad = torch.from_numpy(g)
        optimizer.step()
        points.append(p.detach().numpy().copy())
    return np.array(points), iter(gradients)


@pytest.mark.parametrize("nesterov", [True, False])
@pytest.mark.parametrize("scale", ["original", "match_rms_adamw"])
@pytest.mark.parametrize("shape", [(8, 3), (3, 8)])
def test_a_hundred_steps_are_those_of_torch(monkeypatch, shape, scale, nesterov):
    same = {"lr": 0.02, "weight_decay": 0.1, "nesterov": nesterov}
    theirs, gradients = torch_muon(
        monkeypatch, shape, 100, momentum=0.9, adjust_lr_fn=scale, **same
    )
    numbers = same | {"beta": 0.9, "scale": scale}
    ours = descend(lambda x: next(gradients), theirs[0], muon_step, 100, **numbers)
    np.testing.assert_allclose(ours, theirs, rtol=1e-12, atol=1e-11)


def test_numbers_that_are_not_given_are_those_of_torch(monkeypatch):
    theirs, gradients = torch_muon(monkeypatch, (4, 3), 20)
    ours = descend(lambda x: next(gradients), theirs[0], muon_step, 20)
    np.testing.assert_allclose(ours, theirs, rtol=1e-12, atol=1e-12)


def test_the_cast_of_torch_to_bfloat16_is_all_that_differs():
    rng = np.random.default_rng(5)
    theta, g = rng.normal(size=(2, 6, 4))
    p = torch.nn.Parameter(torch.from_numpy(theta.copy()))
    p.grad = torch.from_numpy(g)
    torch.optim.Muon([p], lr=1.0, weight_decay=0.0).step()
    ours, _ = muon_step(theta, g, lr=1.0, weight_decay=0.0)
    gap = np.abs(p.detach().numpy() - ours).max()
    assert 1e-6 < gap < 5e-2  # five passes of bfloat16 with slope 3.4 at 0


def test_a_step_with_the_cubic_moves_every_direction_alike(rng):
    """Without momentum, θ moves by -ηUVᵀ: all its singular values are η."""
    theta, g = rng.normal(size=(2, 4, 4))
    numbers = {"lr": 0.1, "beta": 0.0, "weight_decay": 0.0, "passes": 80}
    moved, _ = muon_step(theta, g, coefficients=CUBIC, **numbers)
    values = np.linalg.svd(moved - theta, compute_uv=False)
    np.testing.assert_allclose(values, 0.1, rtol=1e-10)
    assert np.trace((moved - theta) @ g.T) < 0


@pytest.mark.parametrize(("shape", "r"), [((8, 2), 2.0), ((2, 8), 1.0), ((3, 3), 1.0)])
def test_only_tall_matrices_take_longer_steps(rng, shape, r):
    g = rng.normal(size=shape)
    moved, _ = muon_step(np.zeros(shape), g, lr=1.0, beta=0.0, nesterov=False)
    np.testing.assert_allclose(moved, -r * newton_schulz(g), rtol=1e-12, atol=1e-14)


def test_matching_scale_gives_the_root_mean_square_of_adamw(rng):
    """An orthogonal (A, B) has root mean square 1 / √max(A, B), so the step has 0.2."""
    numbers = {"lr": 1.0, "passes": 80, "coefficients": CUBIC, "scale": "match_rms_adamw"}
    moved, _ = muon_step(np.zeros((9, 4)), rng.normal(size=(9, 4)), **numbers)
    assert math.sqrt(np.mean(moved**2)) == pytest.approx(0.2, rel=1e-9)


@pytest.mark.parametrize("shape", [(3,), (2, 2, 2), (0, 3)])
def test_only_matrices_with_entries_are_orthogonalized(shape):
    text = rf"needs a matrix with entries, got shape {re.escape(str(shape))}; use adamw_step"
    with pytest.raises(InputError, match=text):
        newton_schulz(np.ones(shape))


def test_vectors_are_sent_to_another_optimizer():
    with pytest.raises(InputError, match=r"moves matrices, got shape \(3,\); use adamw_step"):
        muon_step(np.ones(3), np.ones(3))


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_matrices_that_are_not_finite_are_refused(bad):
    with pytest.raises(NonFiniteLossError, match="1 of 2 entries of G are not finite"):
        newton_schulz(np.array([[1.0, bad]]))


@pytest.mark.parametrize("numbers", [{"steps": -1}, {"eps": 0.0}])
def test_numbers_outside_their_range_are_refused(numbers):
    with pytest.raises(ConfigError, match="need steps >= 0 and eps > 0"):
        newton_schulz(np.ones((2, 2)), **numbers)


def test_unknown_scales_are_refused():
    text = "scale='mine' is not known; it is one of original, match_rms_adamw"
    with pytest.raises(ConfigError, match=text):
        muon_step(np.ones((2, 2)), np.ones((2, 2)), scale="mine")


def test_the_size_of_a_matrix_does_not_matter_even_where_its_squares_overflow(rng):
    G = rng.normal(size=(4, 3))
    np.testing.assert_allclose(newton_schulz(1e200 * G), newton_schulz(G), rtol=1e-9)


def test_coefficients_that_are_not_finite_are_refused():
    with pytest.raises(ConfigError, match="three finite numbers"):
        newton_schulz(np.eye(2), coefficients=(math.nan, 1.0, 1.0))
