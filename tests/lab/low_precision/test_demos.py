import re

import pytest
from plot.node import needs_node, run_script

from lab.low_precision import demos
from mathlm.errors import InputError

STUB = """
const state = JSON.parse(process.argv[1]), values = JSON.parse(process.argv[2]);
const fixed = (x, d) => x.toFixed(d), out = {}, elements = {};
const text = (name, value, i = 0) => { out[name + (i ? i : "")] = value; };
const bar = (name, share, i = 0) => { out[name + "-bar" + (i ? i : "")] = share; };
const one = (name) => elements[name] = elements[name] || { value: String(values[name]),
  set innerHTML(html) { out[name] = html; } };
const changed = () => {}, reset = () => {};
"""
SIZES = [2.0**-30, 2.0**-20, 2.0**-20, 2.0**-10]


def shown(demo, name):
    html = demo._repr_html_().split("<script>")[0]
    return re.findall(rf'data-name="{name}">([^<]*)</b>', html)


def test_gradients_are_lost_blurred_or_held_by_their_size():
    """One of four below 2^-25, two below 2^-14, one above."""
    demo = demos.loss_scale_demo(SIZES)
    assert shown(demo, "share") == ["25.00 %", "50.00 %", "25.00 %", "0.00 %"]


def test_gradients_that_are_not_positive_are_refused():
    with pytest.raises(InputError, match="2 sizes: expected at least one, and all above 0"):
        demos.loss_scale_demo([1.0, 0.0])


@needs_node
@pytest.mark.parametrize("scale", [-12, 0, 5, 11, 26, 40])
def test_the_script_moves_the_scale_as_python_does(scale):
    moved = demos.loss_scale_demo([size * 2.0**scale for size in SIZES])
    out = run_script(STUB, demos.loss_scale_demo(SIZES), {"scale": scale})
    assert [out["share" + (str(i) if i else "")] for i in range(4)] == shown(moved, "share")
    assert [out["fate"]] == shown(moved, "fate")
