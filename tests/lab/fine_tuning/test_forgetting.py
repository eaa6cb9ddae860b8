import numpy as np
import pytest
from scipy.optimize import minimize, minimize_scalar

from lab.fine_tuning import forgetting
from mathlm.errors import InputError

A = np.array([[3.0, 1.0], [1.0, 2.0]])
H = np.array([[5.0, -2.0], [-2.0, 1.5]])
TARGET = np.array([1.0, -0.5])


def new(delta):
    return 0.5 * (delta - TARGET) @ A @ (delta - TARGET)


def least(loss):
    return minimize(loss, np.zeros(2), tol=1e-14).x


def test_the_change_of_a_cubic_is_met_up_to_the_third_order(rng):
    """f = Σ x³ has the gradient 3x² and the Hessian diag(6x): what is left is Σ δ³."""
    x, delta = rng.normal(size=(2, 4))
    left = ((x + delta) ** 3 - x**3).sum() - forgetting.second_order_change(
        3 * x**2, 6 * x * delta, delta
    )
    assert left == pytest.approx((delta**3).sum(), rel=1e-12)


def test_descent_in_closed_form_is_descent_step_by_step():
    delta = np.zeros(2)
    for _ in range(7):
        delta = delta - 0.1 * A @ (delta - TARGET)
    np.testing.assert_allclose(forgetting.descended(A, TARGET, 0.1, 7), delta, rtol=1e-12)
    assert forgetting.descended(A, TARGET, 0.1, 0).tolist() == [0.0, 0.0]


@pytest.mark.parametrize("weight", [0, 0.1, 4.0])
def test_a_pull_ends_where_the_penalized_loss_is_least(weight):
    found = least(lambda delta: new(delta) + weight * delta @ delta)
    np.testing.assert_allclose(forgetting.pulled(A, TARGET, weight), found, atol=1e-6)


@pytest.mark.parametrize("slope", [None, np.array([0.3, -0.2])])
@pytest.mark.parametrize("share", [0.0, 0.3, 0.9])
def test_replay_ends_where_the_mixture_is_least(share, slope):
    g = np.zeros(2) if slope is None else slope

    def mixture(d):
        return (1 - share) * new(d) + share * (g @ d + 0.5 * d @ H @ d)

    np.testing.assert_allclose(
        forgetting.replayed(A, TARGET, H, share, slope), least(mixture), atol=1e-6
    )


@pytest.mark.parametrize(
    ("a", "b", "weight", "s"), [(2, 3, 1, 0), (1, 0.5, 4, -0.3), (1, 2, 1, 3)]
)
def test_the_best_point_of_the_line_is_where_the_sum_is_least(a, b, weight, s):
    def both(t):
        return 0.5 * a * (1 - t) ** 2 + weight * (s * t + 0.5 * b * t**2)

    found = minimize_scalar(both, bounds=(0, 1), method="bounded", options={"xatol": 1e-10}).x
    assert forgetting.best_between(a, b, weight, s) == pytest.approx(found, abs=1e-6)


def test_few_steps_and_a_pull_agree_where_curvature_is_small():
    """To first order in A both are c A δ*: c = kη for descent, 1/(2λ) for the pull."""
    small = 1e-4 * A
    steps = forgetting.descended(small, TARGET, 0.05, 40)
    np.testing.assert_allclose(
        steps, forgetting.pulled(small, TARGET, 1 / (2 * 40 * 0.05)), rtol=1e-3, atol=1e-7
    )


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (
            lambda: forgetting.pulled(np.ones((2, 3)), TARGET, 1),
            r"square curvature .* got \(2, 3\)",
        ),
        (lambda: forgetting.pulled(np.array([[1.0, 2], [0, 1]]), TARGET, 1), "not symmetric"),
        (lambda: forgetting.pulled(A, TARGET, -1), "weight=-1 must be"),
        (lambda: forgetting.pulled(np.zeros((2, 2)), TARGET, 0), "no point is least"),
        (lambda: forgetting.descended(A, TARGET, 0.0, 3), "step_size=0.0 must be positive"),
        (lambda: forgetting.replayed(A, TARGET, H, 1.0), "share=1.0 is outside"),
        (lambda: forgetting.replayed(A, TARGET, np.eye(3), 0.5), r"size, got \(3, 3\)"),
        (lambda: forgetting.best_between(-1.0, 1.0, 1.0), "new_bend=-1.0 must be positive"),
        (lambda: forgetting.best_between(1.0, float("nan"), 1.0), "finite"),
        (lambda: forgetting.second_order_change(TARGET, TARGET, np.ones(3)), "shape"),
        (lambda: forgetting.second_order_change([np.nan], [1.0], [1.0]), "NaN"),
    ],
)
def test_what_is_no_parabola_is_refused(call, said):
    with pytest.raises(InputError, match=said):
        call()
