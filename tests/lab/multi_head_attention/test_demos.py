import re

import numpy as np
import pytest
from plot.node import needs_node, run_script

from lab.multi_head_attention import demos
from mathlm.errors import InputError
from mathlm.reference import online_softmax_sum, softmax

STUB = """
const state = JSON.parse(process.argv[1]), values = JSON.parse(process.argv[2]);
const fixed = (x, d) => x.toFixed(d).replace(/^-(0\\.?0*)$/, "$1").replace("-", "−"), out = {};
const text = (name, value, i = 0) => { out[name + (i ? i : "")] = value; };
const bar = (name, share, i = 0) => { out[name + (i ? i : "")] = share; };
const slots = {};
const one = (name) => slots[name] = slots[name] || { value: String(values[name]),
  addEventListener() {}, setAttribute() {} };
const changed = () => {}, reset = () => {};
"""
SCORES, VALUES = [1.0, 0.5, 3.0, 2.0, -1.0, 4.0, 1.5, 2.5], [2, -1, 0.5, 1, 3, -2, 1, 0]


def shown(demo, name):
    html = demo._repr_html_().split("<script>")[0]
    return re.findall(rf'data-name="{name}">([^<]*)</b>', html)


def number(text):
    return float(text.replace("−", "-"))


def test_the_still_view_of_two_keys_has_read_them():
    """Scores ln 1 and ln 3, values 0 and 4: λ = 4/3, o = 4, output 3; the last step: 1/3.

    The second query has them in the other order: o = 4/3, output 1, nothing shrinks.
    """
    demo = demos.online_softmax_demo([0.0, float(np.log(3))], [0.0, 4.0], (1,))
    assert shown(demo, "sum") == ["1.333", "1.333"]
    assert shown(demo, "mix") == ["4.000", "1.333"]
    assert shown(demo, "y") == ["3.000", "1.000"]
    assert shown(demo, "shrink") == ["", "1.000"]


def row(out, name, t):
    return out[name + (str(t) if t else "")]


@needs_node
@pytest.mark.parametrize("choice", [0, 1, 2])
@pytest.mark.parametrize("steps", [1, 3, 11, 64])
def test_the_script_follows_the_running_sums_of_the_package(choice, steps):
    size = (2, 1, 4)[choice]
    steps = min(steps, (8 // size) ** 2)
    out = run_script(STUB, demos.online_softmax_demo(), {"step": steps, "block": choice})
    for t, seen in enumerate(demos.tiles_seen(8, size, steps)):
        if not seen:
            assert row(out, "y", t) == "–"
            continue
        s, v = np.roll(SCORES, 3 * t)[:seen], np.array(VALUES[:seen], dtype=float)
        y, maxima, sums = online_softmax_sum(s, v[:, None], size)
        found = [number(row(out, name, t)) for name in ("y", "max", "sum")]
        np.testing.assert_allclose(found, [y[0], maxima[-1], sums[-1]], atol=6e-4)


@pytest.mark.parametrize(
    ("block", "step", "seen"),
    [(2, 0, [0] * 5), (2, 1, [2, 2, 0, 0, 0]), (2, 5, [5, 5, 4, 4, 0]), (2, 9, [5] * 5)],
)
def test_tiles_go_along_the_keys_first(block, step, seen):
    """Five keys in tiles of two: three tiles to a row of them, the last one narrow."""
    assert demos.tiles_seen(5, block, step) == seen


@needs_node
def test_the_colors_of_the_tiles_are_the_weights_so_far():
    out = run_script(STUB, demos.online_softmax_demo(), {"step": 6, "block": 0})
    (cells,) = [m for m in out["tiles"]["marks"] if m["kind"] == "boxes"]
    fade, color = np.reshape(cells["fade"], (8, 8)), np.reshape(cells["color"], (8, 8))
    seen = demos.tiles_seen(8, 2, 6)
    assert seen == [8, 8, 4, 4, 0, 0, 0, 0]
    for t, n in enumerate(seen):
        weights = softmax(np.roll(SCORES, 3 * t)[:n]) if n else []
        np.testing.assert_allclose(fade[t, :n], 0.1 + 0.9 * np.array(weights), atol=1e-12)
        assert set(color[t, :n]) <= {"accent"}
        assert set(color[t, n:]) <= {"track"}


@needs_node
def test_the_arrival_of_a_larger_maximum_shrinks_what_was_summed():
    """The first query meets the score 4, its sixth, after a maximum of 3: e^(3 - 4)."""
    out = run_script(STUB, demos.online_softmax_demo(), {"step": 6, "block": 1})
    assert out["shrink"] == f"{np.exp(-1):.3f}"
    assert out["now"] == "Queries 1 meet keys 6"


@needs_node
def test_before_the_first_tile_there_is_no_output():
    out = run_script(STUB, demos.online_softmax_demo(), {"step": 0, "block": 0})
    assert (out["y"], out["max"], out["sum"], out["held"]) == ("–", "–", "–", "0")


@needs_node
def test_playing_reads_every_tile():
    out = run_script(STUB, demos.online_softmax_demo(), {"step": 3, "block": 2}, "out.play();")
    assert (out["now"], out["step-value"]) == ("Queries 5 to 8 meet keys 5 to 8", "4")


@needs_node
def test_the_scripts_show_at_first_what_the_still_views_show():
    demo = demos.online_softmax_demo()
    out = run_script(STUB, demo, {"step": 6, "block": 0})
    for name in ("max", "shrink", "sum", "mix", "y"):
        assert [row(out, name, t) for t in range(8)] == shown(demo, name)
    assert [out["now"], out["held"]] == shown(demo, "now") + shown(demo, "held")
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
