import math
import re

import numpy as np
import pytest
from plot.node import needs_node, run_script

from lab.preference_optimization import demos
from lab.preference_optimization.demos import STEP_SIZE, descended_answers
from mathlm.errors import InputError

STUB = """
const state = JSON.parse(process.argv[1]), values = JSON.parse(process.argv[2]);
const fixed = (x, d) => x.toFixed(d), out = {}, elements = {};
const text = (name, value, i = 0) => { out[name + (i ? i : "")] = value; };
const bar = (name, share, i = 0) => { out[name + "-bar" + (i ? i : "")] = share; };
const one = (name) => elements[name] = elements[name] || { value: String(values[name]) };
const changed = () => {}, reset = () => {};
"""
START = (0.3, 0.2, 0.5)


def test_one_step_of_descent_by_hand():
    """At the start the weight is 1/2: z_A rises and z_B falls by the step size times 1/2."""
    found = descended_answers(START, steps=1)
    weights = np.array([0.3 * math.exp(0.5 * STEP_SIZE), 0.2 * math.exp(-0.5 * STEP_SIZE), 0.5])
    np.testing.assert_allclose(found.p, weights / weights.sum(), rtol=1e-12)
    assert abs(found.margin - STEP_SIZE) < 1e-12


def test_with_a_shared_feature_the_answer_that_nobody_compared_gains():
    found = descended_answers(START, parameters=1, steps=200)
    assert found.ratio[0] < 0
    assert found.ratio[1] < found.ratio[0]
    assert found.p[2] > 0.9


def test_a_preference_of_three_in_four_ends_at_log_three_and_ipo_at_a_quarter():
    assert abs(descended_answers(START, wins=1, steps=3000).margin - math.log(3)) < 1e-9
    assert abs(descended_answers(START, loss=2, wins=1, steps=3000).margin - 0.25) < 1e-9


@needs_node
@pytest.mark.parametrize("loss", range(4))
@pytest.mark.parametrize(
    ("wins", "parameters", "beta", "steps"), [(0, 0, 1, 40), (1, 0, 0.5, 1), (0, 1, 0.7, 2)]
)
def test_the_script_descends_as_python_does(loss, wins, parameters, beta, steps):
    chosen = {
        "loss": loss,
        "wins": wins,
        "parameters": parameters,
        "beta": beta,
        "steps": steps,
    }
    out = run_script(STUB, demos.three_answers_demo(START), chosen)
    found = descended_answers(START, **chosen)
    shown = [float(out[name]) for name in ("p", "p1", "p2", "margin", "push", "kl")]
    expected = [*found.p, found.margin, found.push, found.kl]
    np.testing.assert_allclose(shown, expected, atol=0.00501)


@needs_node
def test_the_margins_of_a_pair_are_those_of_the_reference():
    out = run_script(STUB, demos.fixed_margins_demo(), {"p": 0.75, "share": 0.1})
    q = 0.9 * 0.75 + 0.1 * 0.25, (0.75 - 0.1) / 0.8
    expected = [math.log(3), *(math.log(x / (1 - x)) for x in q), 0.25, 1]
    shown = [float(out[name]) for name in ("margin", *(f"margin{i}" for i in range(1, 5)))]
    np.testing.assert_allclose(shown, expected, atol=0.00501)


@needs_node
def test_a_certain_preference_has_no_margin_under_dpo():
    out = run_script(STUB, demos.fixed_margins_demo(), {"p": 1, "share": 0.1})
    assert (out["margin"], out["margin2"], out["margin3"]) == ("∞", "∞", "0.50")


@needs_node
@pytest.mark.parametrize(("p", "share"), [(0.7, 0.3), (0.95, 0.05)])
def test_the_robust_margin_has_no_end_where_all_that_flips_allow_is_reached(p, share):
    out = run_script(STUB, demos.fixed_margins_demo(), {"p": p, "share": share})
    assert (out["margin2"], out["says2"]) == ("∞", "1.00")


def test_both_demos_are_readable_without_scripts():
    html = demos.three_answers_demo(START, steps=0)._repr_html_().split("<script>")[0]
    assert re.findall(r'data-name="p">([^<]*)<', html) == ["0.300", "0.200", "0.500"]
    html = demos.fixed_margins_demo(0.75, 0.0)._repr_html_().split("<script>")[0]
    assert re.findall(r'data-name="margin">([^<]*)<', html) == [
        "1.10", "1.10", "1.10", "0.25", "1.00",
    ]  # fmt: skip


def test_shares_that_do_not_sum_to_one_are_refused():
    with pytest.raises(InputError, match="three positive shares"):
        demos.three_answers_demo((0.5, 0.5, 0.5))
