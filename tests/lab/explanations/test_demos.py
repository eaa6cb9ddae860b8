import re

import pytest
from plot.node import needs_node, run_script

from lab.explanations import demos
from mathlm.scaling import training_bill

STUB = """
const state = JSON.parse(process.argv[1]), values = JSON.parse(process.argv[2]);
const fixed = (x, d) => x.toFixed(d), out = {};
const text = (name, value, i = 0) => { out[name + (i ? i : "")] = value; };
const one = (name) => ({ value: String(values[name]) });
const changed = () => {}, reset = () => {};
"""


def shown(demo, name):
    html = demo._repr_html_().split("<script>")[0]
    return re.findall(rf'data-name="{name}">([^<]*)</b>', html)


def test_the_still_table_is_the_bill_of_the_package():
    """1e23 operations on H100 at 40 %: 70.2 thousand hours, 140 thousand dollars."""
    cells = shown(demos.budget_demo(), "cell")
    hours = training_bill(1e23, "H100").hours
    assert cells[:3] == [
        f"{x / 1000:.1f} k" if x < 99_950 else f"{x / 1000:.0f} k" for x in hours
    ]
    assert cells[7] == "140 k"


def test_the_model_of_a_budget_is_shown_with_its_tokens():
    """sqrt(1e23 / 120) = 28.9 billion, and twenty times as many tokens."""
    assert shown(demos.budget_demo(), "n") == ["28.9 bn"]
    assert shown(demos.budget_demo(), "d") == ["577 bn"]


@needs_node
@pytest.mark.parametrize(
    ("exponent", "ratio", "device", "doublings"),
    [(23.0, 1, 2, 10), (15.0, 0, 0, 0), (30.0, 4, 2, 20), (18.5, 2, 1, 3), (26.0, 3, 0, 15)],
)
def test_the_script_makes_the_bill_that_python_makes(exponent, ratio, device, doublings):
    demo = demos.budget_demo(exponent, ratio, device, doublings)
    at = {"compute": exponent, "ratio": ratio, "device": device, "devices": doublings}
    out = run_script(STUB, demos.budget_demo(), at)
    assert [out["cell" + (str(i) if i else "")] for i in range(21)] == shown(demo, "cell")
    assert [out["n"], out["d"]] == shown(demo, "n") + shown(demo, "d")
    assert [out["devices-value"]] == shown(demo, "devices-value")
