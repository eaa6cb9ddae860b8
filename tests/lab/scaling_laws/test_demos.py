import re

import numpy as np
import pytest
from plot.node import needs_node, run_script

from lab.scaling_laws import demos
from mathlm.errors import InputError
from mathlm.scaling import ChinchillaLaw, KaplanLaw, fit_chinchilla, optimal_allocation

STUB = """
const state = JSON.parse(process.argv[1]), values = JSON.parse(process.argv[2]);
const fixed = (x, d) => x.toFixed(d), out = {}, elements = {};
const text = (name, value) => { out[name] = value; };
const one = (name) => elements[name] = elements[name] || { value: String(values[name]),
  };
const changed = () => {}, reset = () => {};
"""
EVEN = ChinchillaLaw(A=2, B=6, E=1, alpha=0.5, beta=0.5)


def shown(demo, name):
    html = demo._repr_html_().split("<script>")[0]
    return re.findall(rf'data-name="{name}">([^<]*)</b>', html)[0]


def check_picture(out, law, budget):
    """The curve is the law along the budget; both points stand at its lowest place."""
    curve, best, taken = out["plane"]["marks"]
    sizes, losses = np.array(curve["at"]).T
    np.testing.assert_allclose(losses, law.loss(sizes, 10.0**budget / 6 / sizes), rtol=1e-7)
    n, d = optimal_allocation(10.0**budget, law)
    expected = [n, law.loss([n], [d])[0]]
    assert best["at"][0] == pytest.approx(expected, rel=1e-7)
    assert taken["at"][0] == pytest.approx(expected, rel=1e-7)


def test_the_still_picture_by_hand():
    """D / N = B / A squared = 9, so N = sqrt(1e10 / 54) = 13,608 and D = 122,474."""
    demo = demos.isoflop_demo({"even": EVEN}, (8, 12), 10)
    assert shown(demo, "n") == "13.6 thousand "
    assert shown(demo, "d") == "122 thousand "
    assert shown(demo, "per") == "9.00 "
    assert shown(demo, "loss") == "1.034"  # 1 + 2 / sqrt(13608) + 6 / sqrt(122474)


def test_a_fit_is_drawn_by_its_constants():
    """It holds its runs as well, which are no part of the page."""
    n, d = np.meshgrid([1e4, 1e5, 1e6], [1e6, 1e7, 1e8])
    runs = n.ravel(), d.ravel(), EVEN.loss(n.ravel(), d.ravel())
    fit = fit_chinchilla(*runs)
    demo = demos.isoflop_demo({"fit": fit}, (8, 12), 10)
    (law,) = demo.state["laws"]
    assert set(law) == {"A", "B", "E", "alpha", "beta", "huber"}
    assert shown(demo, "n") == "13.6 thousand "


@needs_node
@pytest.mark.parametrize("law", [0, 1])
@pytest.mark.parametrize("budget", [17, 21, 23.8, 26])
def test_the_script_draws_what_python_draws(budget, law):
    names = list(demos.isoflop_demo().state["laws"])
    start = demos.isoflop_demo(budget=budget)
    if law:
        laws = {k: ChinchillaLaw(**v) for k, v in zip("ba", names, strict=True)}
        start = demos.isoflop_demo(dict(reversed(laws.items())), budget=budget)
    out = run_script(STUB, demos.isoflop_demo(), {"budget": budget, "ratio": 0, "law": law})
    for name in ("n", "d", "per", "loss", "missed", "power", "budget-value", "ratio-value"):
        assert out[name] == shown(start, name)
    check_picture(out, ChinchillaLaw(**names[law]), budget)


@needs_node
def test_a_size_that_is_dragged_is_rounded_to_a_power_of_two_of_the_best():
    demo = demos.isoflop_demo({"even": EVEN}, (8, 12), 10)
    at = {"budget": 10, "ratio": 0, "law": 0}
    out = run_script(STUB, demo, at, "handles[0].move([13608 * 3.7, 2]);")
    assert out["ratio-value"] == "4"


@needs_node
def test_another_size_loses_what_the_law_says():
    demo = demos.isoflop_demo({"even": EVEN}, (8, 12), 10)
    n, d = optimal_allocation(1e10, EVEN)
    lost = EVEN.loss([n / 4], [4 * d])[0] - EVEN.loss([n], [d])[0]
    out = run_script(STUB, demo, {"budget": 10, "ratio": -2, "law": 0})
    assert out["ratio-value"] == "1/4"
    assert out["missed"] == f"{lost:.3f}"
    assert out["per"] == "144 "  # 16 times 9 tokens to a parameter


def test_no_law_or_a_start_outside_the_budgets_is_refused():
    with pytest.raises(InputError, match=r"0 laws, a start at 10\^21"):
        demos.isoflop_demo({})
    with pytest.raises(InputError, match=r"a start at 10\^9 and budgets from 10\^17"):
        demos.isoflop_demo(budget=9)


@needs_node
@pytest.mark.parametrize("budget", [9, 11.4])
def test_the_script_knows_the_law_without_a_floor(budget):
    law = KaplanLaw(N_c=5e7, D_c=1e9, alpha_n=0.1, alpha_d=0.12)
    demo = demos.isoflop_demo({"joint": law}, (9, 13), budget)
    out = run_script(STUB, demo, {"budget": budget, "ratio": 0, "law": 0})
    for name in ("n", "d", "per", "loss", "missed"):
        assert out[name] == shown(demo, name)
    check_picture(out, law, budget)
    n, d = optimal_allocation(10.0**budget, law)
    assert shown(demo, "loss") == f"{law.loss([n], [d])[0]:.3f}"
