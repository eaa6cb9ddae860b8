import re

import numpy as np
import pytest
from plot.node import needs_node, run_script

from lab.multi_head_attention import demos
from mathlm.errors import InputError
from mathlm.reference import online_softmax_sum

STUB = """
const state = JSON.parse(process.argv[1]), values = JSON.parse(process.argv[2]);
const fixed = (x, d) => x.toFixed(d).replace(/^-(0\\.?0*)$/, "$1").replace("-", "−"), out = {};
const text = (name, value, i = 0) => { out[name + (i ? i : "")] = value; };
const bar = (name, share, i = 0) => { out[name + (i ? i : "")] = share; };
const one = (name) => ({ value: String(values[name]) });
const changed = () => {}, reset = () => {};
"""
SCORES, VALUES = [1.0, 0.5, 3.0, 2.0, -1.0, 4.0, 1.5, 2.5], [2, -1, 0.5, 1, 3, -2, 1, 0]


def shown(demo, name):
    html = demo._repr_html_().split("<script>")[0]
    return re.findall(rf'data-name="{name}">([^<]*)</b>', html)


def number(text):
    return float(text.replace("−", "-"))


def test_the_still_view_has_read_every_key():
    """Scores ln 1 and ln 3, values 0 and 4: λ = 4/3, o = 4, output 3; the last step: 1/3."""
    demo = demos.online_softmax_demo([0.0, float(np.log(3))], [0.0, 4.0])
    assert shown(demo, "sum") == ["1.3333"]
    assert (shown(demo, "mix"), shown(demo, "y")) == (["4.0000"], ["3.0000"])
    assert shown(demo, "shrink") == ["0.3333"]
    assert shown(demo, "weight") == ["0.250", "0.750"]


@needs_node
@pytest.mark.parametrize("choice", [0, 1, 2])
@pytest.mark.parametrize("steps", [1, 2, 8])
def test_the_script_follows_the_running_sum_of_the_package(choice, steps):
    demo, size = demos.online_softmax_demo(), (1, 2, 4)[choice]
    seen = min(size * steps, 8)
    out = run_script(STUB, demo, {"step": steps, "block": choice})
    y, maxima, sums = online_softmax_sum(
        np.array(SCORES[:seen]), np.array(VALUES[:seen], dtype=float)[:, None], size
    )
    found = [number(out[name]) for name in ("y", "max", "sum")]
    np.testing.assert_allclose(found, [y[0], maxima[-1], sums[-1]], atol=6e-5)


@needs_node
def test_before_the_first_key_there_is_no_output():
    out = run_script(STUB, demos.online_softmax_demo(), {"step": 0, "block": 0})
    assert (out["y"], out["max"], out["sum"], out["weight7"]) == (
        "none", "none", "0.0000", "not read",
    )  # fmt: skip


@needs_node
def test_the_scripts_show_at_first_what_the_still_views_show():
    demo = demos.online_softmax_demo()
    out = run_script(STUB, demo, {"step": 8, "block": 0})
    assert {name: [out[name]] for name in ("max", "shrink", "sum", "mix", "y")} == {
        name: shown(demo, name) for name in ("max", "shrink", "sum", "mix", "y")
    }
    demo = demos.heads_demo()
    out = run_script(STUB, demo, {"heads": 5, "groups": 5, "length": 13})
    names = ("d", "queries", "keys", "parameters", "token", "cache", "kind")
    assert [[out[name]] for name in names] == [shown(demo, name) for name in names]


@needs_node
def test_eight_key_heads_of_thirty_two_shrink_the_cache_by_four():
    """Width 4096, 8 key heads of width 128: 2 x 8 x 128 x 2 bytes a token; Llama 3 8B."""
    out = run_script(STUB, demos.heads_demo(), {"heads": 5, "groups": 3, "length": 13})
    assert (out["token"], out["cache"], out["bar"]) == ("4,096", "32.0", 0.25)
    assert out["kind"] == "grouped-query"
    assert out["parameters"] == f"{2 * 4096**2 + 2 * 4096 * 1024:,}"


@needs_node
def test_there_are_never_more_key_heads_than_query_heads():
    out = run_script(STUB, demos.heads_demo(), {"heads": 1, "groups": 5, "length": 8})
    assert (out["H"], out["G"], out["kind"]) == ("2", "2", "multi-head")


def test_arguments_that_do_not_fit_are_refused():
    with pytest.raises(InputError, match="1 scores, 2 values"):
        demos.online_softmax_demo([1.0], [1.0, 2.0])
    with pytest.raises(InputError, match=r"heads=\(2, 3\) must each divide"):
        demos.heads_demo(12, (2, 3))
    with pytest.raises(InputError, match="length=1000 must be a power of two"):
        demos.heads_demo(length=1000)
