"""A budget planned from runs, against planted laws and a jackknife by hand."""

import math

import numpy as np
import pytest

from mathlm.errors import InputError
from mathlm.scaling import (
    ChinchillaLaw,
    KaplanLaw,
    fit_chinchilla,
    fit_kaplan,
    optimal_allocation,
    plan_budget,
)

KAPLAN = KaplanLaw(N_c=6.4e13, D_c=1.8e13, alpha_n=0.076, alpha_d=0.103)
ADDITIVE = ChinchillaLaw(A=400, B=900, E=1.7, alpha=0.3, beta=0.3)
SIZES = np.geomspace(1e6, 1e9, 61)


def runs(law, noise=0.0):
    """Five sizes on six lengths each, and the size of each as its group."""
    n, d = (
        a.ravel() for a in np.meshgrid(np.geomspace(1e6, 1e8, 5), np.geomspace(1e8, 1e10, 6))
    )
    loss = law.loss(n, d) * np.exp(noise * np.random.default_rng(0).standard_normal(len(n)))
    return (n, d, loss), n


@pytest.mark.parametrize(("law", "fit"), [(KAPLAN, fit_kaplan), (ADDITIVE, fit_chinchilla)])
def test_without_noise_the_planted_optimum_is_found(law, fit):
    made, groups = runs(law)
    plan = plan_budget(1e19, made, groups, SIZES, 6 * SIZES, fit=fit)
    n = optimal_allocation(1e19, law)[0]
    assert abs(math.log(plan.n / n)) < math.log(SIZES[1] / SIZES[0])
    assert plan.n * plan.d == pytest.approx(1e19 / 6)
    assert plan.loss == pytest.approx(law.loss([plan.n], [plan.d])[0], rel=1e-5)
    np.testing.assert_allclose(plan.interval, plan.loss, rtol=1e-4)
    assert (plan.chosen == plan.n).all()
    np.testing.assert_allclose(plan.curve, law.loss(SIZES, 1e19 / 6 / SIZES), rtol=1e-4)


def test_the_interval_is_that_of_a_jackknife_by_hand():
    """Three groups leave exp(0.1), 1 and exp(-0.1): (G - 1) v = 2 · 0.02 / 3, t = 4.303."""

    class Constant:
        def __init__(self, value):
            self.value = value

        def loss(self, n, d):
            return np.full(len(n), self.value)

    values = {6: 1.0, 5: math.exp(0.1), 4: 1.0, 3: math.exp(-0.1)}
    made = (np.ones(6), np.ones(6), np.exp([0.2, -0.2, 0, 0, 0, 0]))
    plan = plan_budget(
        10,
        made,
        [1, 2, 2, 3, 3, 3],
        [5.0],
        [2.0],
        fit=lambda n, d, loss: Constant(values[len(n)]),
    )
    reach = 4.302653 * math.sqrt(2 * 0.02 / 3 + 2 * 0.04 / 6)
    assert plan.d == 5
    np.testing.assert_allclose(np.log(plan.interval), [-reach, reach], rtol=1e-6)


@pytest.mark.parametrize("place", range(3))
def test_a_column_of_the_runs_that_is_not_positive_is_named(place):
    made = [[1.0, 2.0, 3.0] for _ in range(3)]
    made[place][1] = 0.0
    name = ("n", "d", "loss")[place]
    with pytest.raises(InputError, match=rf"^{name}\[1\]=0.0 must be positive"):
        plan_budget(1e19, tuple(made), [1, 2, 3], SIZES, 6 * SIZES)


@pytest.mark.slow
def test_intervals_of_the_level_hold_new_runs():
    """30 sweeps with planted noise: 95 % hold, within three standard errors of a share."""
    held, rng = 0, np.random.default_rng(1)
    (n, d, loss), groups = runs(KAPLAN)
    for _ in range(30):
        noisy = loss * np.exp(0.01 * rng.standard_normal(len(loss)))
        plan = plan_budget(1e19, (n, d, noisy), groups, [1e8], [6e8])
        new = KAPLAN.loss([1e8], [1e19 / 6e8])[0] * np.exp(0.01 * rng.standard_normal())
        held += plan.interval[0] < new < plan.interval[1]
    assert held >= 28.5 - 3 * math.sqrt(30 * 0.05 * 0.95)


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"groups": [1, 2] * 15}, "2 groups of runs: leaving one out needs at least 3"),
        ({"groups": [1, 2, 3]}, "3 groups for 30 runs"),
        ({"cost": [6e6, 6e7]}, "2 costs for 61 sizes"),
        ({"cost": 0 * SIZES}, r"cost\[0\]=0.0 must be positive"),
        ({"sizes": 0 * SIZES}, r"sizes\[0\]=0.0 must be positive"),
        ({"compute": 0}, "compute=0 must be a positive"),
    ],
)
def test_what_cannot_be_planned_is_refused(changed, said):
    made, groups = runs(KAPLAN)
    given = {"compute": 1e19, "groups": groups, "sizes": SIZES, "cost": 6 * SIZES} | changed
    with pytest.raises(InputError, match=said):
        plan_budget(given.pop("compute"), made, **given)
