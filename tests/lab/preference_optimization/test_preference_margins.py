import math

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.optimize import minimize_scalar

from lab.preference_optimization import preference_margins
from mathlm.errors import InputError

LOSSES = {
    "dpo": lambda m: np.logaddexp(0, -m),
    "conservative": lambda m: 0.9 * np.logaddexp(0, -m) + 0.1 * np.logaddexp(0, m),
    "robust": lambda m: (0.9 * np.logaddexp(0, -m) - 0.1 * np.logaddexp(0, m)) / 0.8,
    "ipo": lambda m: (m / 0.3 - 1 / 0.6) ** 2,
    "hinge": lambda m: max(0.0, 1 - m),
}
MARGINS = {
    "dpo": preference_margins.dpo_margin,
    "conservative": lambda p: preference_margins.conservative_margin(p, 0.1),
    "robust": lambda p: preference_margins.robust_margin(p, 0.1),
    "ipo": preference_margins.ipo_margin,
    "hinge": preference_margins.hinge_margin,
}


@pytest.mark.parametrize("name", LOSSES)
@pytest.mark.parametrize("p", [0.15, 0.4, 0.5, 0.75, 0.88])
def test_the_margin_is_where_the_mean_loss_is_least(name, p):
    """The losses are written out here, from their papers; the minimum is searched."""
    loss = LOSSES[name]
    mean = lambda m: p * loss(m) + (1 - p) * loss(-m)  # noqa: E731
    found = minimize_scalar(mean, bounds=(-8, 8), method="bounded", options={"xatol": 1e-10})
    assert mean(MARGINS[name](p)) <= found.fun + 1e-9
    if name != "hinge" or p != 0.5:  # there every margin from -1 to 1 is as good
        assert abs(MARGINS[name](p) - found.x) < 1e-4


def test_certain_preferences_have_no_finite_margin_but_with_ipo_hinge_and_expected_errors():
    assert (preference_margins.dpo_margin(1), preference_margins.dpo_margin(0)) == (
        math.inf,
        -math.inf,
    )
    assert preference_margins.robust_margin(0.95, 0.1) == math.inf
    assert (preference_margins.ipo_margin(1), preference_margins.hinge_margin(1)) == (0.5, 1.0)
    assert abs(preference_margins.conservative_margin(1, 0.1) - math.log(9)) < 1e-12


@pytest.mark.parametrize(("p", "share"), [(0.7, 0.3), (0.95, 0.05), (0.9, 0.1), (0.6, 0.4)])
def test_robust_margins_have_no_end_at_the_edge_of_what_flips_allow(p, share):
    """There p = 1 - ε, whatever the last bit of the numbers says."""
    assert preference_margins.robust_margin(p, share) == math.inf
    assert preference_margins.robust_margin(share, share) == -math.inf


def test_three_wins_in_four_are_a_margin_of_log_three():
    assert abs(preference_margins.dpo_margin(0.75) - math.log(3)) < 1e-15


@pytest.mark.parametrize(("time", "beta"), [(0, 1), (3, 0.5), (100, 2), (1e6, 0.1)])
def test_the_margin_of_a_certain_pair_solves_its_equation_of_motion(time, beta):
    """dm/dt = 2 β² σ(-m): two logits move by β σ(-m), and each counts β in the margin."""
    slope = lambda t, m: 2 * beta**2 / (1 + np.exp(m))  # noqa: E731
    path = solve_ivp(slope, (0, time), [0.0], rtol=1e-10, atol=1e-12, method="DOP853")
    assert abs(preference_margins.certain_margin(time, beta) - path.y[0, -1]) < 1e-7


def test_what_is_no_probability_share_or_time_is_refused():
    with pytest.raises(InputError, match=r"p=1.2 must be in 0..1"):
        preference_margins.dpo_margin(1.2)
    with pytest.raises(InputError, match=r"share=0.5 must be at least 0 and below 0.5"):
        preference_margins.robust_margin(0.7, 0.5)
    with pytest.raises(InputError, match=r"share=0.7 must be in 0..0.5"):
        preference_margins.conservative_margin(0.7, 0.7)
    with pytest.raises(InputError, match="time=-1"):
        preference_margins.certain_margin(-1, 1)
