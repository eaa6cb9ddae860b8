import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose

from lab.optimization import landscape
from mathlm import reference as ref
from mathlm.errors import InputError, NonFiniteLossError

SURFACES = {
    "quadratic": (
        lambda t: landscape.quadratic(t, [1.0, 25.0]),
        lambda t: landscape.quadratic_gradient(t, [1.0, 25.0]),
    ),
    "rosenbrock": (landscape.rosenbrock, landscape.rosenbrock_gradient),
    "double_well": (landscape.double_well, landscape.double_well_gradient),
}
every_surface = pytest.mark.parametrize(("f", "gradient"), SURFACES.values(), ids=SURFACES)


@every_surface
def test_gradient_matches_central_differences(f, gradient, rng):
    for point in rng.normal(size=(5, 2)):
        numeric = ref.numerical_gradient(f, point)
        assert_allclose(gradient(point), numeric, rtol=1e-6, atol=1e-7)


@every_surface
def test_a_batch_of_points_is_taken_in_one_call(f, gradient, rng):
    points = rng.normal(size=(3, 4, 2))
    one_by_one = np.array([[f(p) for p in row] for row in points])
    assert_allclose(f(points), one_by_one, rtol=1e-14)
    assert gradient(points).shape == points.shape
    assert_allclose(gradient(points)[2, 1], gradient(points[2, 1]), rtol=1e-14)


def test_rosenbrock_has_its_minimum_where_the_paper_says():
    assert landscape.rosenbrock(np.ones(2)) == 0
    assert_allclose(landscape.rosenbrock_gradient(np.ones(2)), 0)


def test_curvatures_of_the_saddle_have_both_signs():
    """The Hessian of ½x² - ½y² + ¼y⁴ at the origin is diag(1, -1), at (0, ±1) diag(1, 2)."""
    f = lambda t: 0.5 * t[0] ** 2 - 0.5 * t[1] ** 2 + 0.25 * t[1] ** 4  # noqa: E731
    hessian = torch.autograd.functional.hessian(f, torch.zeros(2))
    assert_allclose(hessian, np.diag([1.0, -1.0]))
    assert_allclose(landscape.double_well_gradient(np.array([[0.0, 0], [0, 1], [0, -1]])), 0)
    assert_allclose(
        landscape.double_well(np.array([[0.0, 0], [0, 1], [0, -1]])), [0, -0.25, -0.25]
    )


def test_a_curvature_for_each_coordinate_is_asked_for():
    with pytest.raises(InputError, match=r"\(3,\) do not fit points of shape"):
        landscape.quadratic(np.ones(2), [1.0, 2.0, 3.0])
    with pytest.raises(InputError, match="finite"):
        landscape.quadratic_gradient(np.ones(2), [1.0, np.nan])


@pytest.mark.parametrize("f", [landscape.rosenbrock, landscape.double_well_gradient])
def test_points_that_are_not_in_the_plane_are_refused(f):
    with pytest.raises(InputError, match=r"shape \(4, 3\) must hold points"):
        f(np.ones((4, 3)))


@every_surface
def test_points_that_are_not_finite_are_refused_and_far_ones_have_no_nan(f, gradient):
    with pytest.raises(InputError, match="theta holds 1 NaN"):
        f(np.array([1.0, np.nan]))
    far = np.array([[1e200, 1e200], [-1e200, 1e200], [1.0, -1e200]])
    assert (f(far) == np.inf).all()
    assert not np.isnan(gradient(far)).any()


RATES = {  # the step sizes of chapter 06, for the ravine, Rosenbrock's valley and the saddle
    "descent": (ref.sgd_step, {}, (0.05, 0.002, 1.0)),
    "momentum": (ref.momentum_step, {"beta": 0.9}, (0.02, 0.003, 0.5)),
    "Nesterov": (ref.nesterov_step, {"beta": 0.9}, (0.05, 0.001, 0.5)),
    "RMSProp": (ref.rmsprop_step, {"beta": 0.9}, (0.05, 0.005, 0.05)),
    "Adam": (ref.adam_step, {}, (0.3, 0.1, 0.2)),
}
RACES = (
    ("quadratic", [-8.0, 1.5], 0.0, 500),
    ("rosenbrock", [-1.2, 1.0], 0.0, 2000),
    ("double_well", [1.0, 1e-4], -0.25, 100),
)


def arrival(f, gradient, begin, low, walk) -> float:
    """Steps until the loss stays within 0.01 of its minimum, to the end of the run."""
    method, numbers, lr, steps = walk
    try:
        path = ref.descend(gradient, np.array(begin), method, steps, lr=lr, **numbers)
    except NonFiniteLossError:
        return np.inf
    with np.errstate(over="ignore", invalid="ignore"):
        far = ~(f(path) - low < 0.01)
    return np.inf if far[-1] else float(np.flatnonzero(far)[-1]) + 1


@pytest.mark.weekly
@pytest.mark.slow
@pytest.mark.parametrize("name", RATES)
def test_no_step_size_up_to_one_is_better_than_that_of_the_page(name):
    method, numbers, rates = RATES[name]
    grid = [m * 10.0**k for k in range(-4, 0) for m in (1, 2, 3, 5)] + [1.0]
    for (surface, begin, low, steps), rate in zip(RACES, rates, strict=True):
        times = [
            arrival(*SURFACES[surface], begin, low, (method, numbers, lr, steps)) for lr in grid
        ]
        assert_allclose(grid[int(np.argmin(times))], rate)


@pytest.mark.weekly
def test_adam_leaves_the_valley_at_its_own_step_size_too_after_the_run():
    path = ref.descend(
        landscape.rosenbrock_gradient, np.array([-1.2, 1.0]), ref.adam_step, 3000, lr=0.1
    )
    height = landscape.rosenbrock(path)
    assert height[600:2001].max() < 0.01 < 0.5 < height[2001:].max()
