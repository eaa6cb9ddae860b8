import re

import numpy as np
import pytest
from plot.node import needs_node, run_script

from lab.transformer_backward import demos
from mathlm.errors import InputError

TRACES = [
    {"decoder 1": [0.3, 0.0], "decoder 0": [0.2, 0.0], "encoder 0": [0.1, 0.3, 0.1]},
    {"decoder 1": [0.0, 4.0], "decoder 0": [1.0, 3.0], "encoder 0": [5e-4, 0.0, 0.0]},
]
WORDS = (["two", "three", "end"], ["begin", "deux"], ["deux", "trois"])
STUB = """
const state = JSON.parse(process.argv[1]), values = JSON.parse(process.argv[2]), out = {};
const fixed = (x, d) => x.toFixed(d);
const text = (name, value, i = 0) => { out[name + i] = value; };
const made = {};
const one = (name, i = 0) => made[name + i] ??= { value: String(values[name]), attributes: {},
  style: { setProperty(k, v) { out[name + i + k] = v; } },
  set textContent(v) { out[name + i] = v; },
  setAttribute(k, v) { out[name + i + k] = v; } };
const changed = () => {};
"""


def shown(demo, name):
    html = demo._repr_html_().split("<script>")[0]
    return re.findall(rf'data-name="{name}"[^>]*>([^<]*)<', html)


def test_a_row_of_the_trace_shows_shares_and_points_for_zero():
    """0.1, 0.3, 0.1 are 20, 60 and 20 percent; their size is √0.11 = 0.33."""
    demo = demos.gradient_trace_demo(*WORDS, TRACES)
    assert shown(demo, "cell") == ["100", "·", "100", "·", "20", "60", "20"]
    assert shown(demo, "size") == ["0.30", "0.20", "0.33"]
    assert (shown(demo, "most"), shown(demo, "zeros")) == (["three"], ["1"])


@needs_node
@pytest.mark.parametrize("label", [0, 1])
def test_the_script_draws_what_python_draws(label):
    still = demos.gradient_trace_demo(*WORDS, TRACES, label=label)
    out = run_script(STUB, demos.gradient_trace_demo(*WORDS, TRACES), {"label": label})
    for name, count in (("cell", 7), ("size", 3), ("word", 1), ("most", 1), ("zeros", 1)):
        assert [out[f"{name}{i}"] for i in range(count)] == shown(still, name)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((*WORDS, TRACES[:1]), "2 labels, 2 inputs, 1 traces"),
        ((*WORDS, TRACES, 2), "label=2"),
        ((*WORDS, [{"decoder 1": [1.0]}] * 2), "stage 'decoder 1' needs 2 sizes"),
        ((*WORDS, [{"encoder 0": [1.0, np.nan, 0.0]}] * 2), "needs 3 sizes >= 0"),
        ((*WORDS, [{}, {}]), "no stages"),
    ],
)
def test_words_and_traces_that_do_not_fit_are_refused(arguments, message):
    with pytest.raises(InputError, match=message):
        demos.gradient_trace_demo(*arguments)


FAULTS = {"no mask": "sees everything", "wrong sign": "-dx for dx"}
CAUGHT = [[True, False, True], [False, False, True]]


def test_the_checks_that_fail_are_marked():
    demo = demos.gradient_fault_demo(FAULTS, ["a", "b", "c"], CAUGHT)
    assert shown(demo, "verdict") == ["✗ fails", "✓ passes", "✗ fails"]
    assert (shown(demo, "count"), shown(demo, "change")) == (["2"], ["sees everything"])


@needs_node
def test_the_script_marks_the_checks_of_another_fault():
    out = run_script(STUB, demos.gradient_fault_demo(FAULTS, "abc", CAUGHT), {"fault": 1})
    still = demos.gradient_fault_demo(FAULTS, "abc", CAUGHT, fault=1)
    assert [out[f"verdict{i}"] for i in range(3)] == shown(still, "verdict")
    assert [out["count0"], out["change0"]] == shown(still, "count") + shown(still, "change")
    assert [out[f"row{i}data-red"] for i in range(3)] == ["false", "false", "true"]


def test_a_table_of_another_shape_is_refused():
    with pytest.raises(
        InputError, match=r"shape \(2, 3\) and fault=0 do not fit 2 faults and 2"
    ):
        demos.gradient_fault_demo(FAULTS, ["a", "b"], CAUGHT)
    with pytest.raises(InputError, match="fault=2"):
        demos.gradient_fault_demo(FAULTS, ["a", "b", "c"], CAUGHT, fault=2)
