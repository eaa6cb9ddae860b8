import numpy as np
import pytest

from mathlm.errors import ConfigError, InputTypeError, NonFiniteLossError
from mathlm.reference import descend, momentum_step, sgd_step
from mathlm.reference.training.stepping import checked, unpack


def test_the_trajectory_holds_the_start_and_every_step():
    """L = x²/2 with η = 1/2 halves x in every step."""
    path = descend(lambda x: x, np.array([[8.0, -4.0]]), sgd_step, 3, lr=0.5)
    np.testing.assert_array_equal(path, [[[8, -4]], [[4, -2]], [[2, -1]], [[1, -0.5]]])


def test_no_steps_leave_the_start():
    assert descend(lambda x: x, np.array([3.0]), sgd_step, 0, lr=0.5).tolist() == [[3.0]]


def test_the_state_is_carried_from_step_to_step(rng):
    curvature, theta, state = np.array([1.0, 5.0]), np.array([2.0, -1.0]), None
    path = descend(lambda x: curvature * x, theta, momentum_step, 20, lr=0.05)
    for point in path[1:]:
        theta, state = momentum_step(theta, curvature * theta, state, lr=0.05)
        np.testing.assert_array_equal(point, theta)


def test_at_the_start_the_state_is_step_one_and_zeros_like_theta():
    t, m, v = unpack(None, np.ones((2, 3)), "m", "v")
    assert t == 1
    np.testing.assert_array_equal([m, v], np.zeros((2, 2, 3)), strict=True)


def test_without_memory_momentum_is_gradient_descent():
    """β = 0: m = g."""
    path = descend(lambda x: x, np.array([8.0]), momentum_step, 3, lr=0.5, beta=0)
    assert path[:, 0].tolist() == [8, 4, 2, 1]


def test_a_schedule_is_called_with_the_step():
    path = descend(lambda x: np.ones(1), np.zeros(1), sgd_step, 3, lr=lambda t: 10.0**t)
    assert path[:, 0].tolist() == [0, -1, -11, -111]


def test_a_gradient_that_writes_to_its_argument_changes_nothing():
    def gradient(x):
        x *= 2
        return x

    path = descend(gradient, np.array([1.0]), sgd_step, 2, lr=0.25)
    assert path[:, 0].tolist() == [1, 0.5, 0.25]


def test_the_start_is_not_modified():
    theta = np.array([1.0])
    descend(lambda x: x, theta, sgd_step, 2, lr=0.25)
    assert theta[0] == 1


def test_a_descent_that_diverges_says_where():
    """1 - ηλ = -9: step 323 moves by 10 · 9^322 = 1.85e308, above the largest float64."""
    text = "the descent stops in step 323 of 400: theta overflows.*use a smaller lr"
    with pytest.raises(NonFiniteLossError, match=text):
        descend(lambda x: x, np.array([1.0]), sgd_step, 400, lr=10.0)


@pytest.mark.parametrize("gradient", [lambda x: np.exp(1e3 * x), lambda x: np.sqrt(-x)])
def test_a_gradient_that_overflows_or_is_none_stops_the_descent(gradient):
    text = "stops in step 1 of 2: 1 of 1 entries of gradient are not finite"
    with pytest.raises(NonFiniteLossError, match=text):
        descend(gradient, np.array([1.0]), sgd_step, 2, lr=0.1)


def test_a_step_without_a_value_is_an_error():
    """m = 0.9 · 1.7e308 + 1.7e308 is infinite, and 0 · ∞ is no number."""
    huge = np.array([1.7e308])
    with pytest.raises(NonFiniteLossError, match="theta overflows"):
        momentum_step(np.ones(1), huge, {"t": 1, "m": huge}, lr=0.0)


def test_steps_of_size_zero_stay():
    path = descend(lambda x: x, np.array([8.0]), momentum_step, 2, lr=0)
    assert path[:, 0].tolist() == [8, 8, 8]


def test_a_list_is_no_array(unchecked):
    with pytest.raises(InputTypeError, match="theta must be a float64 array, got list"):
        sgd_step([1.0], np.ones(1), lr=0.1)


def test_negative_numbers_of_steps_are_refused():
    with pytest.raises(ConfigError, match="steps=-1 must not be negative"):
        descend(lambda x: x, np.array([1.0]), sgd_step, -1, lr=0.1)


def test_a_checked_step_does_what_the_step_does():
    def step(theta, gradient, state=None, *, lr=0.5):
        return theta - lr * gradient, {"t": 1, "m": state["m"] + gradient}

    theta, g, m = np.array([8.0]), np.array([4.0]), np.array([1.0])
    moved, state = checked(step)(theta, g, {"t": 0, "m": m}, lr=0.25)
    assert (moved.tolist(), state["t"], state["m"].tolist()) == ([7], 1, [5])


@pytest.mark.parametrize("name", ["theta", "m"])
def test_a_checked_step_refuses_what_overflows(name):
    """10 · 1e308 is infinite, and ∞ - ∞ no number: in the parameter or in the state."""

    def step(theta, gradient, state=None):
        far = 10 * gradient - 10 * gradient
        return (far, {"m": theta}) if name == "theta" else (theta, {"m": far})

    with pytest.raises(NonFiniteLossError, match=rf"{name} overflows: .* gradient is 1e\+308"):
        checked(step)(np.ones(2), np.array([1.0, -1e308]))
