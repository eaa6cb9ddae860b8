import numpy as np
import pytest
from numpy.testing import assert_allclose

from lab.calculus.curvature import best_step, critical_point, newton_step, sharpness
from mathlm.errors import InputError
from mathlm.reference import hessian


def quadratic(A):
    n = len(A)
    return lambda x: (x * (x.reshape(1, n) @ A)).sum() / 2


@pytest.mark.parametrize(
    ("curvatures", "name"),
    [
        ((1, 2), "minimum"),
        ((-1, -2), "maximum"),
        ((1, -2), "saddle"),
        ((1, 0), "undecided"),
        ((0, 0), "undecided"),
    ],
)
def test_signs_of_the_curvatures_name_a_critical_point(curvatures, name):
    turn = np.array([[0.6, -0.8], [0.8, 0.6]])
    H = turn @ np.diag(curvatures) @ turn.T
    assert critical_point(np.zeros(2), H) == name


def test_where_the_gradient_is_not_zero_nothing_is_named():
    """f = x² + 10x at 0 has curvature 2 > 0 and slope 10."""
    with pytest.raises(InputError, match="the gradient has length 10, not 0"):
        critical_point(np.array([10.0]), np.array([[2.0]]))


def test_newton_reaches_the_bottom_of_a_parabola_in_one_step(rng):
    root = rng.normal(size=(3, 3))
    A, x = root @ root.T + np.eye(3), rng.normal(size=3)
    assert_allclose(x + newton_step(A @ x, A), np.zeros(3), atol=1e-12)


def test_newton_step_climbs_where_the_curvature_is_negative():
    """f = -x² at x = 1: slope -2, curvature -2; the step leads to the maximum at 0."""
    assert_allclose(newton_step(np.array([-2.0]), np.array([[-2.0]])), [-1.0])


def test_best_step_is_the_lowest_point_on_the_line(rng):
    root = rng.normal(size=(3, 3))
    A, x = root @ root.T + np.eye(3), rng.normal(size=3)
    f, g = quadratic(A), A @ x
    step = best_step(g, A @ g)
    for other in (0.99, 1.01):
        assert f(x - step * g) < f(x - other * step * g)
    assert_allclose(f(x - 2 * step * g), f(x), rtol=1e-12)
    assert_allclose(f(x) - f(x - step * g), step * (g @ g) / 2, rtol=1e-10)


@pytest.mark.parametrize(
    ("g", "Hg", "message"),
    [([1.0], [-1.0], "g·Hg = -1 ≤ 0"), ([1.0], [0.0], "≤ 0"), ([0.0], [1.0], "is zero")],
)
def test_lines_without_a_lowest_point_are_refused(g, Hg, message):
    with pytest.raises(InputError, match=message):
        best_step(np.array(g), np.array(Hg))


@pytest.mark.parametrize("curvatures", [(1, 2, 5), (1, 2, -5)])
def test_sharpness_is_the_eigenvalue_of_largest_size(curvatures, rng):
    basis, _ = np.linalg.qr(rng.normal(size=(3, 3)))
    A = basis @ np.diag(curvatures).astype(float) @ basis.T
    value, v = sharpness(quadratic(A), np.ones(3), rng.normal(size=3), steps=60)
    assert_allclose(value, curvatures[2], rtol=1e-10)
    assert_allclose(abs(v @ basis[:, 2]), 1, rtol=1e-8)


def test_sharpness_agrees_with_the_whole_hessian(rng):
    f = lambda x: np.exp(x * np.array([1.0, 2.0, 0.5])).sum() + (x * x).sum()  # noqa: E731
    x = rng.normal(size=3)
    value, _ = sharpness(f, x, rng.normal(size=3), steps=200)
    assert_allclose(value, np.linalg.eigvalsh(hessian(f, x))[-1], rtol=1e-8)


def test_sharpness_of_several_points_is_that_of_each(rng):
    """Σ xᵢ⁴ has the curvatures 12 xᵢ²: 12 · 4 at (1, 2), 12 · 9 at (3, 1)."""
    points = np.array([[1.0, 2.0], [3.0, 1.0]])
    value, v = sharpness(lambda x: (x**4).sum(), points, rng.normal(size=(2, 2)), steps=60)
    assert_allclose(value, [48, 108], rtol=1e-10)
    assert_allclose(abs(v), [[0, 1], [1, 0]], atol=1e-8)


def test_sharpness_of_a_plane_has_no_direction():
    with pytest.raises(InputError, match="power iteration is zero"):
        sharpness(lambda x: x.sum(), np.ones(2), np.ones(2))
    with pytest.raises(InputError, match="steps=0"):
        sharpness(lambda x: x.sum(), np.ones(2), np.ones(2), steps=0)


@pytest.mark.parametrize(
    ("H", "message"),
    [
        (np.eye(3), r"gradient \(2,\) and H \(3, 3\) do not fit"),
        (np.array([[1.0, 2], [0, 1]]), "differs from its transpose by 2"),
        (np.array([[1.0, np.nan], [np.nan, 1]]), "not finite"),
    ],
)
def test_matrices_that_are_no_hessian_are_refused(H, message):
    for f in (critical_point, newton_step):
        with pytest.raises(InputError, match=message):
            f(np.zeros(2), H)


def test_a_flat_direction_has_no_newton_step():
    with pytest.raises(InputError, match="condition number inf"):
        newton_step(np.ones(2), np.diag([1.0, 0.0]))


@pytest.mark.parametrize(
    ("g", "Hg", "message"),
    [
        (np.ones(3), np.ones(1), r"gradient \(3,\) and Hg \(1,\) differ"),
        (np.ones(1), np.array([np.inf]), "must be finite"),
        (np.full(2, 1e200), np.ones(2), "must be finite"),
    ],
)
def test_steps_that_cannot_be_computed_are_refused(g, Hg, message):
    with pytest.raises(InputError, match=message):
        best_step(g, Hg)


def test_a_power_iteration_needs_a_finite_start():
    with pytest.raises(InputError, match="has length nan"):
        sharpness(lambda x: (x * x).sum(), np.ones(2), np.array([np.nan, 1]))


def test_a_point_of_no_coordinates_is_refused():
    with pytest.raises(InputError, match="n ≥ 1"):
        critical_point(np.zeros(0), np.zeros((0, 0)))
