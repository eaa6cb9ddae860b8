import re

import numpy as np
import pytest
from plot.node import needs_node, run_script

from lab.sequences import demos
from mathlm.errors import InputError

STUB = """
const state = JSON.parse(process.argv[1]), values = JSON.parse(process.argv[2]);
const fixed = (x, d) => x.toFixed(d).replace(/^-(0\\.?0*)$/, "$1").replace("-", "−"), out = {};
const text = (name, value, i = 0) => { out[name + (i ? i : "")] = value; };
const bar = (name, share, i = 0) => { out[name + (i ? i : "")] = share; };
const one = (name) => ({ valueAsNumber: values[name] });
const numbers = (name) => values[name], changed = () => {}, reset = () => {};
"""


def run(demo, **values):
    return run_script(STUB, demo, values)


def shown(html, name):
    return re.findall(rf'data-name="{name}">([^<]*)<', html)


def test_the_still_trace_shows_the_states_of_the_three_steps():
    """tanh(0.3), tanh(0.4) at first; the others by hand in chapter 7."""
    html = demos.rnn_trace_demo()._repr_html_()
    assert shown(html, "h1") == ["0.291", "−0.116", "0.486"]
    assert shown(html, "h2") == ["0.380", "−0.113", "0.610"]


@needs_node
def test_the_script_finds_the_states_of_the_still_view():
    demo = demos.rnn_trace_demo()
    out = run(demo, x=[1, -1, 2], gain=1)
    html = demo._repr_html_()
    assert [out["h1"], out["h11"], out["h12"]] == shown(html, "h1")
    assert out["last"] == shown(html, "last")[0]


@needs_node
def test_without_recurrent_weights_the_last_state_knows_its_own_input_only():
    demo = demos.rnn_trace_demo()
    one, other = (run(demo, x=[x, 0, 2], gain=0)["last"] for x in (-5, 5))
    assert one == other == f"({np.tanh(0.6):.3f}, {np.tanh(0.8):.3f})"


@pytest.mark.parametrize(("W", "inputs"), [([[1.0]], [1.0]), ([[1.0, 0.0]] * 2, [])])
def test_a_trace_of_another_shape_is_refused(W, inputs):
    with pytest.raises(InputError, match=r"expected \(2, 2\), \(2,\) and at least one"):
        demos.rnn_trace_demo(W, (0.3, 0.4), inputs)


def test_a_factor_of_a_half_halves_every_step():
    """0.5^10 = 1/1024; 0.2^199 = 10^-139.09, which is 8.0e-140."""
    html = demos.weight_power_demo(0.5, 1, 11)._repr_html_()
    assert shown(html, "half") == ["halves every 1.0 steps"]
    assert shown(html, "power") == ["0.00098"]
    far = demos.weight_power_demo(0.2, 1, 200)._repr_html_()
    assert shown(far, "power") == ["8.0 × 10⁻¹⁴⁰"]
    assert demos.power_of_ten(-400.0) == "1.0 × 10⁻⁴⁰⁰"


@needs_node
@pytest.mark.parametrize(
    ("eigenvalue", "slope", "steps"),
    [(1.1, 1, 100), (0.9, 0.5, 20), (1, 1, 9), (0.1, 0.1, 200), (1.3, 1, 60)],
)
def test_the_power_script_agrees_with_the_still_view(eigenvalue, slope, steps):
    demo = demos.weight_power_demo(eigenvalue, slope, steps)
    out, html = run(demo, eigenvalue=eigenvalue, slope=slope, steps=steps), demo._repr_html_()
    for name in ("rate", "power", "half"):
        assert [out[name]] == shown(html, name)


def test_settings_outside_the_sliders_are_refused():
    with pytest.raises(
        InputError, match=r"eigenvalue=3, slope=1, steps=50: expected 0\.1 to 2"
    ):
        demos.weight_power_demo(3, 1, 50)
