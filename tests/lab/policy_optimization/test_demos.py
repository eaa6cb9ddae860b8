import math
import re

import pytest
from plot.node import needs_node, run_script

from lab.policy_optimization import demos
from lab.policy_optimization.demos import PRICES, clipped, tilted
from mathlm.errors import InputError

STUB = """
const state = JSON.parse(process.argv[1]), values = JSON.parse(process.argv[2]);
const fixed = (x, d) => x.toFixed(d), out = {}, elements = {};
const text = (name, value, i = 0) => { out[name + (i ? i : "")] = value; };
const bar = (name, share, i = 0) => { out[name + "-bar" + (i ? i : "")] = share; };
const one = (name) => elements[name] = elements[name] || {
  value: String(values[name]) };
const changed = () => {}, reset = () => {};
"""
LOGP = [math.log(p) for p in (0.7, 0.2, 0.1)]


@needs_node
@pytest.mark.parametrize(
    ("rho", "sign", "gain", "pull"),
    [
        (150, 0, "1.20", "none, the sample is cut"),
        (50, 0, "0.50", "up"),
        (50, 1, "-0.80", "none, the sample is cut"),
        (150, 1, "-1.50", "down"),
    ],
)
def test_the_script_clips_as_the_definition_does(rho, sign, gain, pull):
    out = run_script(STUB, demos.clip_demo(), {"rho": rho, "sign": sign, "clip": 20})
    assert (out["gain"], out["pull"]) == (gain, pull)
    assert float(gain) == pytest.approx(clipped(rho / 100, -1 if sign else 1, 0.2))
    *_, plain, curve, dot = out["plane"]["marks"]
    A = -1 if sign else 1
    assert dot["at"] == [pytest.approx([rho / 100, float(gain)])]
    assert plain["at"] == [[0, 0], [2, 2 * A]]
    assert all(g == pytest.approx(clipped(r, A, 0.2)) for r, g in curve["at"])


@needs_node
def test_the_ratio_can_be_dragged():
    at = {"rho": 100, "sign": 0, "clip": 20}
    assert (
        run_script(STUB, demos.clip_demo(), at, "handles[0].move([0.3, 0]);")["gain"] == "0.30"
    )


def test_the_tilt_of_two_answers_by_hand():
    """π_ref = (½, ½), r = (0, ln 3), β = 1: weights 1 and 3."""
    p, mean, kl = tilted([math.log(0.5)] * 2, [0, math.log(3)], 1)
    assert p == pytest.approx([0.25, 0.75])
    assert mean == pytest.approx(0.75 * math.log(3))
    assert kl == pytest.approx(math.log(2) - math.log(4) + 0.75 * math.log(3))


@needs_node
@pytest.mark.parametrize("price", [0, 9, 22])
def test_the_script_tilts_as_python_does(price):
    demo = demos.tilted_policy_demo(["a", "b", "c"], LOGP, [-1, 0.5, 2])
    out = run_script(STUB, demo, {"beta": price})
    p, mean, kl = tilted(LOGP, [-1, 0.5, 2], PRICES[price])
    assert [out["bar-bar"], out["bar-bar1"], out["bar-bar2"]] == pytest.approx(p)
    assert (out["reward"], out["kl"]) == (f"{mean:.2f}", f"{kl:.2f}")
    assert out["beta-value"] == f"{PRICES[price]:.2f}"
    optima, dot = out["plane"]["marks"]
    assert dot["at"][0] == pytest.approx([kl, mean])
    expected = [tilted(LOGP, [-1, 0.5, 2], beta)[:0:-1] for beta in PRICES]
    assert optima["at"] == [pytest.approx(list(pair)) for pair in expected]


def test_demos_are_readable_without_scripts():
    html = demos.tilted_policy_demo(["a", "b", "c"], LOGP, [-1, 0.5, 2])._repr_html_()
    shown = [float(x) for x in re.findall(r'data-name="p">([^<]*)<', html.split("<script>")[0])]
    assert sum(shown) == pytest.approx(100, abs=0.2)
    still = demos.clip_demo()._repr_html_().split("<script>")[0]
    assert re.findall(r'data-name="gain">([^<]*)<', still) == ["1.20"]


def test_lists_that_do_not_fit_are_refused():
    with pytest.raises(InputError, match="2 texts, 3 probabilities"):
        demos.tilted_policy_demo(["a", "b"], LOGP, [0, 1, 2])
    with pytest.raises(InputError, match="do not sum to 1"):
        demos.tilted_policy_demo(["a", "b"], [0, 0], [0, 1])
