import re

import numpy as np
import pytest
from plot.node import needs_node, run_script

from lab.calculus import demos
from lab.calculus.demos import CURVES, outputs
from mathlm.errors import InputError
from mathlm.reference import symmetric_slope

STUB = """
const state = JSON.parse(process.argv[1]), values = JSON.parse(process.argv[2]);
const fixed = (x, d) => x.toFixed(d), out = {};
const text = (name, value, i) => { out[i === undefined ? name : name + i] = value; };
const slots = {};
const one = (name) => slots[name] = slots[name] || { value: String(values[name]),
  get valueAsNumber() { return Number(this.value); }, addEventListener() {} };
const changed = () => {}, reset = () => {};
"""


def shown(html, name):
    return re.findall(rf'data-name="{name}">([^<]*)<', html)


def number(text):
    return float(text.replace("−", "-"))


def run(demo, then="", **values):
    return run_script(STUB, demo, values, then)


def marks(out, name, kind):
    return [np.array(m["at"], float) for m in out[name]["marks"] if m["kind"] == kind]


def test_still_view_shows_the_secant_of_x_squared():
    """((3 + h)² - 9)/h = 6 + h."""
    html = demos.secant_demo(0.5)._repr_html_()
    assert [shown(html, n)[0] for n in ("slope", "limit", "gap")] == ["6.500", "6.000", "0.500"]


@pytest.mark.parametrize("curve", CURVES, ids=lambda c: c[0])
def test_slopes_of_the_tangents_are_right(curve):
    _, f, x, slope, (x0, x1, _, _) = curve
    assert symmetric_slope(f, x) == pytest.approx(slope, rel=1e-8)
    assert x0 < x < x + 2 <= x1 + 1e-9


@pytest.mark.parametrize("h", [0.0, 2.5, -1.0, np.nan])
def test_steps_outside_of_the_slider_are_refused(h):
    with pytest.raises(InputError, match=r"must be in \[0.01, 2\]"):
        demos.secant_demo(h)


@needs_node
@pytest.mark.parametrize("i", range(len(CURVES)))
def test_script_computes_the_secant_of_each_curve(i):
    _, f, x, _, _ = CURVES[i]
    out = run(demos.secant_demo(), curve=i, h=0.25)
    assert float(out["slope"]) == pytest.approx((f(x + 0.25) - f(x)) / 0.25, abs=6e-4)


@needs_node
@pytest.mark.parametrize("i", range(len(CURVES)))
def test_the_lines_that_are_drawn_touch_and_cut_the_curve(i):
    _, f, x, slope, _ = CURVES[i]
    out = run(demos.secant_demo(), curve=i, h=0.5)
    curve, tangent, secant = marks(out, "graph", "line")
    np.testing.assert_allclose(curve[:, 1], [f(u) for u in curve[:, 0]])
    for ends, through in ((tangent, [x]), (secant, [x, x + 0.5])):
        line = np.poly1d(np.polyfit(*ends.T, 1))
        np.testing.assert_allclose(line(through), [f(u) for u in through], atol=1e-9)
    assert np.diff(tangent[:, 1])[0] / np.diff(tangent[:, 0])[0] == pytest.approx(slope)


@needs_node
def test_the_second_point_can_be_dragged_but_not_onto_the_first():
    out = run(demos.secant_demo(), "handles[0].move([3.75, 0]);", curve=0, h=1.5)
    assert (out["h-value"], out["slope"]) == ("0.75", "6.750")
    out = run(demos.secant_demo(), "handles[0].move([1, 0]);", curve=0, h=1.5)
    assert out["h-value"] == "0.01"


def test_still_view_shows_prediction_and_truth_of_the_wiggle():
    """J = [[2, 0.5, 2], [2, 1, -1]]; x₁ + 0.2 gives JΔ = (0.4, 0.4) and Δf = (0.44, 0.4)."""
    html = demos.jacobian_demo()._repr_html_()
    assert shown(html, "guess") == ["0.400", "0.400"]
    assert shown(html, "moved") == ["0.440", "0.400"]
    assert re.findall(r"<td>([^<]+)</td>", html) == ["2.0", "0.5", "2.0", "2.0", "1.0", "−1.0"]


@needs_node
def test_script_predicts_and_moves_as_python_does(rng):
    d = rng.uniform(-0.5, 0.5, size=3).round(2)
    demo = demos.jacobian_demo(d)
    out = run(demo, dx1=d[0], dx2=d[1], dx3=d[2])
    truth = np.subtract(outputs(np.array([1, 2, 0.5]) + d), outputs(np.array([1, 2, 0.5])))
    found = [float(out[f"moved{i}"]) for i in (0, 1)]
    np.testing.assert_allclose(found, truth, atol=6e-4)
    moved, guess = (ends[1] for ends in marks(out, "plane", "arrow"))
    np.testing.assert_allclose(moved, truth, atol=1e-9)
    html = demo._repr_html_()
    np.testing.assert_allclose(guess, list(map(number, shown(html, "guess"))), atol=6e-4)
    np.testing.assert_allclose(
        [float(out[f"guess{i}"]) for i in (0, 1)], list(map(number, shown(html, "guess")))
    )


@pytest.mark.parametrize("wiggle", [np.ones(3), np.zeros(2), np.full(3, np.nan)])
def test_wiggles_that_the_sliders_cannot_show_are_refused(wiggle):
    with pytest.raises(InputError, match=r"three numbers in \[-0.5, 0.5\]"):
        demos.jacobian_demo(wiggle)
