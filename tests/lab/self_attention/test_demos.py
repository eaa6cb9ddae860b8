import re

import numpy as np
import pytest
from plot.node import needs_node, run_script

from lab.self_attention import demos
from mathlm.errors import InputError

EXAMPLES = {
    "even": (["a", "b", "c"], np.zeros((3, 3))),
    "log 3": (["x", "y"], [[0.0, np.log(3.0)], [np.log(3.0), 0.0]]),
}
MATRIX_STUB = """
const state = JSON.parse(process.argv[1]), values = JSON.parse(process.argv[2]), out = {};
const fixed = (x, d) => x.toFixed(d);
const text = (name, value, i = 0) => { out[name + (i ? i : "")] = value; };
const element = () => ({ style: { setProperty(k, v) { this[k] = v; } }, attributes: {},
  setAttribute(k, v) { this.attributes[k] = v; }, on: {}, focus() { this.focused = true; },
  addEventListener(e, f) { this.on[e] = f; } });
const found = { cell: Array.from({ length: state.width ** 2 }, element), row: [], head: [],
  mask: [element()] };
const all = (name) => found[name], one = () => ({ value: values.example });
let redraw;
const changed = (draw) => { redraw = draw; };
"""
AFTER = """
if (values.press) found.mask[0].on.click();
(values.keys || []).forEach((key) => {
  const at = found.cell.findIndex((c) => c.attributes.tabindex === "0");
  found.cell[at].on.keydown({ key, preventDefault() {} });
});
out.shares = found.cell.map((c) => c.style["--share"] || null);
out.hidden = found.cell.map((c) => c.attributes["data-hidden"] || null);
"""
COST_STUB = """
const values = JSON.parse(process.argv[2]), out = {};
const fixed = (x, d) => x.toFixed(d), text = (name, value) => { out[name] = value; };
const one = (name) => ({ valueAsNumber: values[name] }), changed = () => {};
"""


class Extended:
    """A demo whose script goes on after its own end."""

    def __init__(self, demo):
        self.script, self.state = demo.script + AFTER, demo.state


def run(demo, **values):
    return run_script(MATRIX_STUB, Extended(demo), values)


def shown(html, name):
    return re.findall(rf'data-name="{name}">([^<]*)<', html)


def test_the_still_view_is_causal_and_readable():
    html = demos.attention_matrix_demo(EXAMPLES, query=2, key=1)._repr_html_()
    assert shown(html, "weight") == ["0.333"]
    assert html.count('data-hidden="true"') == 3
    assert 'aria-pressed="true"' in html


def test_a_hidden_cell_is_said_to_be_hidden():
    html = demos.attention_matrix_demo(EXAMPLES, query=0, key=2)._repr_html_()
    assert shown(html, "weight") == ["0 (hidden)"]


@needs_node
def test_the_script_finds_the_shares_of_the_still_view():
    demo = demos.attention_matrix_demo(EXAMPLES)
    still = re.findall(r"--share:(\d+%)", demo._repr_html_())
    assert run(demo, example="0")["shares"] == still


@needs_node
def test_lifting_the_mask_shows_the_future():
    """Row 1 of scores (0, log 3): 100 % on itself under the mask, else 25 % and 75 %."""
    demo = demos.attention_matrix_demo(EXAMPLES)
    masked, lifted = run(demo, example="1"), run(demo, example="1", press=True)
    assert masked["shares"][:2] == ["100%", "0%"]
    assert lifted["shares"][:2] == ["25%", "75%"]
    assert "true" not in [h for h in lifted["hidden"] if h]


@needs_node
def test_arrow_keys_move_the_reading_and_stop_at_the_edge():
    demo = demos.attention_matrix_demo(EXAMPLES)
    out = run(demo, example="0", keys=["ArrowUp", "ArrowDown", "ArrowRight"])
    assert (out["query"], out["key"], out["weight"]) == ("b", "b", "0.500")


@pytest.mark.parametrize(
    ("examples", "message"),
    [
        ({}, "no example to show"),
        ({"a": (["x"], np.zeros((2, 2)))}, r"'a' has 1 words and scores of shape \(2, 2\)"),
        ({"a": (["x"], [[-np.inf]])}, "not finite: give them without a mask"),
    ],
)
def test_examples_that_do_not_fit_are_refused(examples, message):
    with pytest.raises(InputError, match=message):
        demos.attention_matrix_demo(examples)


def test_a_cell_outside_the_matrix_is_refused():
    with pytest.raises(InputError, match="query=3, key=0 must be among the 3 words"):
        demos.attention_matrix_demo(EXAMPLES, query=3)


def test_the_still_cost_is_a_third_pairs_at_equal_length_and_width():
    """n = d: 2n²d against 4nd² is one third; 2 · 1024³ = 2.15 billion."""
    html = demos.attention_cost_demo(10, 10)._repr_html_()
    assert shown(html, "share") == ["33"]
    assert shown(html, "pairs") == ["2.15 × 10⁹"]
    assert shown(html, "length-value") == ["1,024"]


@needs_node
def test_the_script_finds_the_costs_of_the_still_view():
    demo = demos.attention_cost_demo(12, 9)
    out = run_script(COST_STUB, demo, {"length": 12, "width": 9})
    html = demo._repr_html_()
    for name in ("pairs", "maps", "share", "weights"):
        assert shown(html, name) == [out[name]]


def test_a_length_out_of_range_is_refused():
    with pytest.raises(InputError, match="length=4 must lie between 5 and 20"):
        demos.attention_cost_demo(4, 10)
