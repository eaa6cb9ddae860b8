"""The cheapest model over its life, against a search along the loss."""

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

from mathlm.errors import InputError
from mathlm.scaling import ChinchillaLaw, inference_optimal, optimal_allocation

LAW = ChinchillaLaw(A=406.4, B=410.7, E=1.69, alpha=0.336, beta=0.283)


def cost(log_n, loss, served, law=LAW):
    """Of the size, with the tokens that the loss then asks for."""
    rest = loss - law.E - law.A * np.exp(-law.alpha * log_n)
    if rest <= 0:
        return np.inf
    return np.exp(log_n) * (6 * (law.B / rest) ** (1 / law.beta) + 2 * served)


@pytest.mark.parametrize("served", [0, 1e9, 1e13, 1e18])
@pytest.mark.parametrize("loss", [2.0, 2.5, 4.0])
def test_no_size_is_cheaper(loss, served):
    plan = inference_optimal(loss, served, LAW)
    least = np.log(LAW.A / (loss - LAW.E)) / LAW.alpha
    options = {"bounds": (least, least + 8), "method": "bounded", "options": {"xatol": 1e-10}}
    found = minimize_scalar(lambda u: np.log(cost(u, loss, served)), **options)
    assert LAW.loss([plan.n], [plan.d])[0] == pytest.approx(loss, rel=1e-12)
    assert plan.flops == pytest.approx(6 * plan.n * plan.d + 2 * plan.n * served, rel=1e-12)
    assert np.log(plan.n) == pytest.approx(found.x, abs=1e-4)
    assert plan.flops <= np.exp(found.fun) * (1 + 1e-12)


def test_tokens_that_hardly_change_the_loss_are_balanced_too():
    """With odds of few percent: α A N^-α / (β B D^-β) = 1 + D_served / (3 D)."""
    law = ChinchillaLaw(A=1.0, B=0.5, E=1.0, alpha=10.0, beta=0.1)
    plan = inference_optimal(2.0, 3 / 1024, law)
    left = 10 * plan.n**-10.0 / (0.1 * 0.5 * plan.d**-0.1)
    assert left == pytest.approx(1 + 1 / 1024 / plan.d, rel=1e-9)
    assert law.loss([plan.n], [plan.d])[0] == pytest.approx(2, rel=1e-12)


def test_with_nothing_served_it_is_the_compute_optimal_model():
    n, d = optimal_allocation(1e21, LAW)
    plan = inference_optimal(float(LAW.loss([n], [d])[0]), 0, LAW)
    assert plan == pytest.approx((n, d, 1e21), rel=1e-9)


def test_the_more_is_served_the_smaller_and_the_longer_trained():
    plans = [inference_optimal(2.2, s, LAW) for s in (0, 1e10, 1e11, 1e12, 1e13)]
    assert sorted(plans, key=lambda p: -p.n) == sorted(plans, key=lambda p: p.d) == plans


def test_a_thirteen_billion_s_quality_for_two_trillion_tokens_is_a_sixth_cheaper():
    """Sardana et al. (2024), figure 1: 7 billion in place of 13 billion, 17 % less compute."""
    compute = next(
        c for c in np.geomspace(1e21, 1e24, 3001) if optimal_allocation(c, LAW)[0] > 13e9
    )
    n, d = optimal_allocation(compute, LAW)
    loss = float(LAW.loss([n], [d])[0])
    whole = compute + 2 * n * 2e12
    assert 1 - cost(np.log(7e9), loss, 2e12) / whole == pytest.approx(0.17, abs=0.01)
    assert inference_optimal(loss, 2e12, LAW).n == pytest.approx(7e9, rel=0.1)


BAD = {
    "floor": (1.69, 0, "loss=1.69 must be above E=1.69"),
    "negative": (2.0, -1, "served_tokens=-1 must be a finite number, at least 0"),
    "endless": (2.0, float("inf"), "served_tokens=inf must be a finite number"),
    "nan": (float("nan"), 0, "loss=nan must be a positive, finite number"),
}


@pytest.mark.parametrize(("loss", "served", "message"), BAD.values(), ids=BAD.keys())
def test_what_no_model_reaches_is_refused(loss, served, message):
    with pytest.raises(InputError, match=message):
        inference_optimal(loss, served, LAW)


def test_a_size_that_no_float_holds_is_said():
    """(A / rest)^(1 / alpha) with an exponent of a thousandth is 4000^1000."""
    law = ChinchillaLaw(A=400.0, B=400.0, E=1.7, alpha=1e-3, beta=1e-3)
    with pytest.raises(InputError, match="the size or the tokens is larger than any float"):
        inference_optimal(1.8, 1e12, law)


def test_a_compute_that_no_float_holds_is_said():
    """(2 / 1e-9)^20 is 1e186 parameters, and as many tokens: their product is above 1e308."""
    law = ChinchillaLaw(A=1.0, B=1.0, E=1.0, alpha=0.05, beta=0.05)
    with pytest.raises(InputError, match=r"1\.05e\+186 parameters and 1\.05e\+186 tokens"):
        inference_optimal(1 + 1e-9, 0, law)
