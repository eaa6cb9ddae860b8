import math

import numpy as np
import pytest
import torch

from mathlm import reference as ref
from mathlm.errors import ConfigError, InputError, InputTypeError, NonFiniteLossError
from mathlm.reference.training.stepping import checked

STEPS = [
    (ref.sgd_step, {"lr": 0.03}),
    (ref.momentum_step, {"lr": 0.03}),
    (ref.averaged_momentum_step, {"lr": 0.03}),
    (ref.nesterov_step, {"lr": 0.03, "beta": 0.8}),
    (ref.rmsprop_step, {"lr": 0.03}),
    (ref.adam_step, {"lr": 0.03}),
    (ref.adam_epsilon_hat_step, {"lr": 0.03}),
    (ref.adamw_step, {"lr": 0.03, "weight_decay": 0.1}),
    (ref.muon_step, {"lr": 0.03}),
]
EVERY = pytest.mark.parametrize(
    ("step", "numbers"), STEPS, ids=lambda x: getattr(x, "__name__", "")
)
SGD, RMSprop, Adam, AdamW = (
    getattr(torch.optim, n) for n in ("SGD", "RMSprop", "Adam", "AdamW")
)


def problem(rng, size=1.0):
    """A random quadratic with a gradient noise of its own in each step, and a start."""
    root, noise = rng.normal(size=(6, 6)), iter(rng.normal(size=(1000, 6, 4)))
    curvature = root @ root.T / 6 + 0.1 * np.eye(6)
    return lambda theta: size * (curvature @ theta + next(noise)), rng.normal(size=(6, 4))


def torch_trajectory(make, gradient, theta, steps):
    """Where an optimizer of torch goes with the same gradients."""
    p = torch.nn.Parameter(torch.from_numpy(theta.copy()))
    optimizer, points = make([p]), [theta]
    for _ in range(steps):
        p.grad = torch.from_numpy(gradient(p.detach().numpy().copy()))
        optimizer.step()
        points.append(p.detach().numpy().copy())
    return np.array(points)


@pytest.mark.parametrize("size", [1.0, 1e-6])
@pytest.mark.parametrize(
    ("step", "numbers", "make"),
    [
        (ref.sgd_step, {"lr": 0.03}, lambda p: SGD(p, 0.03)),
        (ref.momentum_step, {"lr": 0.03}, lambda p: SGD(p, 0.03, 0.9)),
        (ref.averaged_momentum_step, {"lr": 0.3}, lambda p: SGD(p, 0.3 * (1 - 0.9), 0.9)),
        (ref.nesterov_step, {"lr": 0.03}, lambda p: SGD(p, 0.03, 0.9, nesterov=True)),
        (ref.rmsprop_step, {"lr": 0.03, "beta": 0.9}, lambda p: RMSprop(p, 0.03, 0.9)),
        (ref.adam_step, {"lr": 0.03, "eps": 1e-7}, lambda p: Adam(p, 0.03, eps=1e-7)),
        (
            ref.adamw_step,
            {"lr": 0.03, "betas": (0.8, 0.95), "eps": 1e-7},
            lambda p: AdamW(p, 0.03, (0.8, 0.95), 1e-7),
        ),
    ],
    ids=["sgd", "momentum", "averaged", "nesterov", "rmsprop", "adam", "adamw"],
)
def test_a_hundred_steps_are_those_of_torch(step, numbers, make, size):
    gradient, theta = problem(np.random.default_rng(7), size)
    ours = ref.descend(gradient, theta, step, 100, **numbers)
    gradient, theta = problem(np.random.default_rng(7), size)
    theirs = torch_trajectory(make, gradient, theta, 100)
    np.testing.assert_allclose(ours - theta, theirs - theta, rtol=1e-12, atol=1e-12)
    assert np.abs(ours[-1] - ours[-2]).max() > 1e-9


@pytest.mark.parametrize(
    ("step", "numbers", "make"),
    [
        (ref.rmsprop_step, {"lr": 0.03}, lambda p: RMSprop(p, 0.03)),
        (ref.adam_step, {}, Adam),
        (ref.adamw_step, {}, AdamW),
    ],
    ids=["rmsprop", "adam", "adamw"],
)
def test_numbers_that_are_not_given_are_those_of_torch(step, numbers, make):
    gradient, theta = problem(np.random.default_rng(7), 1e-6)
    ours = ref.descend(gradient, theta, step, 20, **numbers)
    gradient, theta = problem(np.random.default_rng(7), 1e-6)
    theirs = torch_trajectory(make, gradient, theta, 20)
    np.testing.assert_allclose(ours - theta, theirs - theta, rtol=1e-9, atol=1e-14)


def first_two(step, **numbers):
    """Displacements after one and two steps with gradients 1 and 1, from 0."""
    path = ref.descend(lambda x: np.ones(1), np.zeros(1), step, 2, **numbers)
    return path[1:, 0].tolist()


@pytest.mark.parametrize(
    ("step", "expected"),
    [
        (ref.sgd_step, [-1, -2]),
        (ref.momentum_step, [-1, -1 - 1.5]),
        (ref.averaged_momentum_step, [-0.5, -0.5 - 0.75]),
        (ref.nesterov_step, [-1.5, -1.5 - 1.75]),
    ],
)
def test_two_steps_by_hand(step, expected):
    """β = 1/2, η = 1, g = 1: sums 1, 3/2; means 1/2, 3/4; looks ahead 1 + 1/2, 1 + 3/4."""
    numbers = {} if step is ref.sgd_step else {"beta": 0.5}
    assert first_two(step, lr=1, **numbers) == expected


def test_two_steps_of_rmsprop_by_hand():
    """β = 3/4, g = 1: v = 1/4, 7/16, so the steps are 2 and 4/√7 times η."""
    found = first_two(ref.rmsprop_step, lr=1, beta=0.75, eps=1e-300)
    assert found == pytest.approx([-2, -2 - 4 / math.sqrt(7)], rel=1e-15)


@pytest.mark.parametrize("g", [3.0, -0.2, 1e-6])
def test_the_first_step_of_adam_is_the_sign_of_the_gradient(g):
    theta, _ = ref.adam_step(np.zeros(1), np.array([g]), lr=0.1, eps=1e-8)
    assert theta[0] == pytest.approx(-0.1 * g / (abs(g) + 1e-8), rel=1e-12)


@pytest.mark.parametrize("t", [1, 5])
def test_epsilon_hat_is_epsilon_over_the_bias_correction(t):
    """Constant g: m = (1-β₁ᵗ)g and v = (1-β₂ᵗ)g², so the step is g / (|g| + ε̂/√(1-β₂ᵗ))."""
    g = np.full(1, 1e-6)
    path = ref.descend(lambda x: g, np.zeros(1), ref.adam_epsilon_hat_step, t, lr=1.0)
    effective = 1e-8 / math.sqrt(1 - 0.999**t)
    assert path[-1] - path[-2] == pytest.approx(-1e-6 / (1e-6 + effective), rel=1e-9)
    path = ref.descend(lambda x: g, np.zeros(1), ref.adam_epsilon_hat_step, t)
    assert path[-1] - path[-2] == pytest.approx(-1e-9 / (1e-6 + effective), rel=1e-9)


def test_the_two_places_of_epsilon_differ_for_small_gradients(rng):
    def end(step, size):
        noise = iter(size * np.random.default_rng(1).normal(size=(5, 8)))
        return ref.descend(lambda x: next(noise), np.zeros(8), step, 5, lr=0.1)[-1]

    small, large = (
        np.abs(end(ref.adam_step, s) / end(ref.adam_epsilon_hat_step, s) - 1).max()
        for s in (1e-6, 1.0)
    )
    assert small > 0.1
    assert large < 1e-5


def test_averaged_momentum_is_momentum_with_a_shorter_step(rng):
    gradient, theta = problem(np.random.default_rng(3))
    ours = ref.descend(gradient, theta, ref.averaged_momentum_step, 50, lr=0.1, beta=0.75)
    gradient, theta = problem(np.random.default_rng(3))
    other = ref.descend(gradient, theta, ref.momentum_step, 50, lr=0.025, beta=0.75)
    np.testing.assert_allclose(ours, other, rtol=1e-12, atol=1e-14)


def test_nesterov_is_the_look_ahead_point_of_the_original():
    """x ← x - ηm with m ← βm + ∇L(x - ηβm); θ is x - ηβm, the point of the gradient."""
    curvature, lr, beta = np.array([1.0, 10.0]), 0.05, 0.9
    x, m, ahead = np.array([1.0, -2.0]), np.zeros(2), []
    for _ in range(30):
        m = beta * m + curvature * (x - lr * beta * m)
        x = x - lr * m
        ahead.append(x - lr * beta * m)
    path = ref.descend(
        lambda theta: curvature * theta, np.array([1.0, -2.0]), ref.nesterov_step, 30, lr=lr
    )
    np.testing.assert_allclose(path[1:], ahead, rtol=1e-12, atol=1e-14)


def test_decoupled_decay_shrinks_every_entry_alike():
    theta, g = np.array([1.0, 1.0]), np.array([1e-3, 1e3])
    (with_decay, _), (without, _) = (
        ref.adamw_step(theta, g, lr=0.5, weight_decay=w) for w in (0.1, 0.0)
    )
    np.testing.assert_allclose(without - with_decay, 0.5 * 0.1 * theta, rtol=1e-12)


@EVERY
def test_steps_modify_no_argument(rng, step, numbers):
    theta, g = rng.normal(size=(2, 3, 3))
    _, state = step(theta, g, **numbers)
    before = [theta.copy(), g.copy(), {k: np.copy(v) for k, v in state.items()}]
    first, again = (step(theta, g, state, **numbers) for _ in range(2))
    np.testing.assert_array_equal(first[0], again[0])
    np.testing.assert_array_equal(theta, before[0])
    np.testing.assert_array_equal(g, before[1])
    assert all(np.array_equal(state[k], before[2][k]) for k in before[2])
    assert first[1]["t"] == state["t"] + 1 == 2


@EVERY
@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_gradients_that_are_not_finite_are_refused(step, numbers, bad):
    g = np.array([[1.0, bad]])
    with pytest.raises(NonFiniteLossError, match="1 of 2 entries of gradient are not finite"):
        step(np.ones((1, 2)), g, **numbers)


@EVERY
@pytest.mark.parametrize("lr", [-0.1, math.nan, math.inf])
def test_learning_rates_outside_their_range_are_refused(step, numbers, lr):
    with pytest.raises(ConfigError, match=f"lr={lr} must be finite and not negative"):
        step(np.ones((1, 2)), np.ones((1, 2)), **(numbers | {"lr": lr}))


@pytest.mark.parametrize(
    ("step", "number", "text"),
    [
        (ref.momentum_step, {"beta": 1.0}, r"beta=1.0 must lie in \[0, 1\)"),
        (ref.averaged_momentum_step, {"beta": -0.1}, r"beta=-0.1 must lie"),
        (ref.rmsprop_step, {"eps": 0}, "eps=0 must be finite and positive"),
        (ref.adam_step, {"betas": (0.9, 1.0)}, r"betas=\(0.9, 1.0\) must lie in"),
        (ref.adam_step, {"eps": math.nan}, "eps=nan must be finite and positive"),
        (ref.adam_step, {"eps": math.inf}, "eps=inf must be finite and positive"),
        (ref.adamw_step, {"weight_decay": -1.0}, "weight_decay=-1.0 must be finite"),
    ],
)
def test_other_numbers_outside_their_range_are_refused(step, number, text):
    with pytest.raises(ConfigError, match=text):
        step(np.ones(2), np.ones(2), **({"lr": 0.1} | number))


def test_without_memory_momentum_is_descent_and_adam_takes_the_sign():
    theta, g = np.array([1.0, 2.0]), np.array([4.0, -8.0])
    moved, _ = ref.momentum_step(theta, g, lr=0.25, beta=0)
    assert moved.tolist() == [0, 4]
    moved, _ = ref.adam_step(theta, g, lr=0.25, betas=(0, 0), eps=1e-300)
    assert moved.tolist() == [0.75, 2.25]


def test_what_is_not_a_number_is_refused():
    unchecked = ref.momentum_step.__wrapped__
    with pytest.raises(InputTypeError, match=r"lr='0\.1' must be a number"):
        checked(unchecked)(np.ones(2), np.ones(2), lr="0.1")


@pytest.mark.parametrize(
    ("theta", "g", "error", "text"),
    [
        (
            np.ones(3),
            np.ones(2),
            InputError,
            r"gradient has shape \(2,\), but theta has \(3,\)",
        ),
        (np.ones(0), np.ones(0), InputError, r"theta of shape \(0,\) must have an axis"),
        (np.ones(()), np.ones(()), InputError, r"theta of shape \(\) must have an axis"),
        (np.ones(2, "f4"), np.ones(2), InputTypeError, "theta must be a float64 .* float32"),
        (np.ones(2), np.ones(2, "f2"), InputTypeError, "gradient must be a float64 .* float16"),
        (np.array([math.nan]), np.ones(1), NonFiniteLossError, "1 of 1 entries of theta"),
    ],
)
def test_arrays_that_do_not_fit_are_refused(theta, g, error, text):
    with pytest.raises(error, match=text):
        ref.adam_step(theta, g)


def test_a_state_of_another_optimizer_or_parameter_is_refused():
    _, state = ref.momentum_step(np.ones(2), np.ones(2), lr=0.1)
    with pytest.raises(InputError, match=r"holds \['m', 't'\], expected \['m', 't', 'v'\]"):
        ref.adam_step(np.ones(2), np.ones(2), state)
    with pytest.raises(
        InputError, match=r"m of the state has shape \(2,\), but theta has \(3,\)"
    ):
        ref.momentum_step(np.ones(3), np.ones(3), state, lr=0.1)


@pytest.mark.parametrize(
    ("step", "lr", "name"),
    [
        (ref.sgd_step, 1e200, "theta"),
        (ref.momentum_step, 1e200, "theta"),
        (ref.adam_step, 1, "v"),
    ],
)
def test_an_overflow_is_an_error_and_names_what_overflowed(step, lr, name):
    with pytest.raises(NonFiniteLossError, match=f"{name} overflows: the largest .* 1e[+]200"):
        step(np.ones(1), np.array([1e200]), lr=lr)


def test_decay_rates_may_come_as_a_list(unchecked):
    """As from JSON."""
    for step in (ref.adam_step, ref.adamw_step):
        found = step(np.ones(2), np.ones(2), betas=[0.5, 0.75])[0]
        np.testing.assert_array_equal(found, step(np.ones(2), np.ones(2), betas=(0.5, 0.75))[0])


@pytest.mark.parametrize("betas", [(0.9,), (0.9, 0.99, 0.999)])
def test_decay_rates_that_are_not_a_pair_are_refused(betas):
    with pytest.raises(ConfigError, match="must be two decay rates"):
        ref.adam_step(np.ones(2), np.ones(2), betas=betas)
