"""The best division of a budget, against searches along it and published exponents."""

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

from mathlm.errors import InputError
from mathlm.scaling import ChinchillaLaw, KaplanLaw, optimal_allocation

HOFFMANN = ChinchillaLaw(A=406.4, B=410.7, E=1.69, alpha=0.34, beta=0.28)
KAPLAN = KaplanLaw(N_c=6.4e13, D_c=1.8e13, alpha_n=0.076, alpha_d=0.103)
LAWS = pytest.mark.parametrize("law", [HOFFMANN, KAPLAN], ids=["additive", "joint"])


@LAWS
@pytest.mark.parametrize("compute", [1e18, 5.76e23])
def test_the_allocation_is_the_least_loss_along_the_budget(law, compute):
    n, d = optimal_allocation(compute, law)
    found = minimize_scalar(
        lambda u: law.loss([np.exp(u)], [compute / 6 / np.exp(u)])[0],
        bounds=(10, 35),
        method="bounded",
        options={"xatol": 1e-9},
    )
    assert 6 * n * d == pytest.approx(compute, rel=1e-12)
    assert np.log(n) == pytest.approx(found.x, abs=1e-5)


def exponent(law):
    """Of compute in the best size, between 1e20 and 1e22 FLOP."""
    return np.log10(optimal_allocation(1e22, law)[0] / optimal_allocation(1e20, law)[0]) / 2


def test_the_published_constants_give_the_published_exponents():
    """Hoffmann et al. (2022), table 2, approach 3: N grows as C^0.46, D as C^0.54."""
    assert exponent(HOFFMANN) == pytest.approx(0.46, abs=0.01)


def test_the_exponent_of_the_joint_law_is_the_tokens_share():
    """0.103 / (0.076 + 0.103) = 0.5754: not the 0.73 of the paper's law of steps."""
    assert exponent(KAPLAN) == pytest.approx(0.5754, abs=1e-4)


def test_equal_exponents_keep_the_tokens_per_parameter():
    """α = β = 1/2, A = 2, B = 6: D / N = (B / A)² = 9 at every budget."""
    law = ChinchillaLaw(A=2, B=6, E=1, alpha=0.5, beta=0.5)
    ratios = [d / n for n, d in (optimal_allocation(c, law) for c in (1e10, 1e20))]
    assert ratios == pytest.approx([9, 9], rel=1e-12)


def test_a_best_size_below_one_is_an_answer():
    """Both terms alike: N = D = sqrt(C / 6) = 1/2."""
    law = ChinchillaLaw(A=2, B=2, E=1, alpha=0.5, beta=0.5)
    assert optimal_allocation(1.5, law) == pytest.approx((0.5, 0.5), rel=1e-12)


def test_constants_of_any_size_do_not_overflow():
    law = KaplanLaw(N_c=1e99, D_c=1e99, alpha_n=0.05, alpha_d=0.01)
    n, d = optimal_allocation(1e20, law)
    assert 6 * n * d == pytest.approx(1e20)


@LAWS
def test_a_budget_of_nothing_is_refused(law):
    with pytest.raises(InputError, match="compute=0 must be a positive"):
        optimal_allocation(0, law)


def test_a_size_that_no_float_holds_is_said():
    """(A / B)^(1 / (alpha + beta)) is 10^(200 · 500), or 10^-(200 · 500)."""
    for A, B in ((1e100, 1e-100), (1e-100, 1e100)):
        law = ChinchillaLaw(A=A, B=B, E=1.0, alpha=1e-3, beta=1e-3)
        with pytest.raises(InputError, match=r"the best size is"):
            optimal_allocation(1e21, law)
    law = ChinchillaLaw(A=1e250, B=1.0, E=1.0, alpha=0.5, beta=0.5)
    with pytest.raises(InputError, match="the best size is inf: no float holds it"):
        optimal_allocation(1e300, law)
