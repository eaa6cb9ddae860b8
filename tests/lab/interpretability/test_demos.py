import json
import re
import subprocess

import numpy as np
import pytest
from plot.node import needs_node

from lab.interpretability import demos
from mathlm.errors import InputError

STUB = """
const state = JSON.parse(process.argv[1]), values = JSON.parse(process.argv[2]), out = {};
const fixed = (x, d) => x.toFixed(d).replace(/^-(0\\.?0*)$/, "$1").replace("-", "−");
const text = (name, value, i = 0) => { out[name + (i ? i : "")] = value; };
const bar = (name, share, i = 0) => { out[name + "-share" + (i ? i : "")] = share; };
const one = (name) => ({ value: String(values[name]) });
const count = state.words.length * (state.depths ?? state.layers).length;
const made = Array.from({ length: count }, (_, i) => ({
  on: {}, dataset: {}, style: { setProperty(name, value) { out.color = value; } },
  setAttribute(name, value) { this[name] = value; },
  addEventListener(name, f) { this.on[name] = f; },
  focus() { this.on.focus(); },
}));
const all = () => made;
let redraw;
const changed = (draw) => { redraw = draw; };
"""
ACTS = """
if (values.redraw) redraw();
if (values.point !== undefined) made[values.point].on.mouseenter();
(values.keys ?? []).forEach((key) =>
  made.find((c) => c.tabIndex === 0).on.keydown({ key, preventDefault() {} }));
out.open = made.findIndex((c) => c["aria-pressed"] === "true");
out.stops = made.filter((c) => c.tabIndex === 0).length;
out.cells = made.map((c) => c.textContent ?? null);
out.signs = made.map((c) => c.dataset.sign ?? null);
console.log(JSON.stringify(out));
"""
WORDS, DEPTHS = ["The", " sky", " is"], ["embedding", "block 0"]
TOPS = [
    [
        [("The", 0.5), ("A", 0.25)],
        [(" sky", 0.75), (" <b>", 0.125)],
        [(" is", 0.9), ("\n", 0.05)],
    ],
    [
        [(" sun", 0.4), (" sky", 0.2)],
        [(" is", 0.6), (" was", 0.1)],
        [(" blue", 0.7), (" red", 0.2)],
    ],
]
FIRST = np.array([[0.0, 0.25, -0.5], [0.0, 0.0, 1.0]])
SECOND = np.array([[0.5, -0.25, 0.0], [2.0, 0.0, 0.0]])


def lens(**kwargs):
    return demos.logit_lens_demo(WORDS, DEPTHS, TOPS, **kwargs)


def patching(**kwargs):
    return demos.patching_demo(WORDS, {"stream": FIRST, "attention": SECOND}, **kwargs)


def act(demo, **values):
    """What the script has shown after the reader did something."""
    program = STUB + demo.script + ACTS
    arguments = [json.dumps(dict(demo.state)), json.dumps({"site": 0} | values)]
    done = subprocess.run(
        ["node", "-e", program, *arguments], capture_output=True, text=True, check=True
    )
    return json.loads(done.stdout)


def still(demo):
    return demo._repr_html_().split("<script>")[0]


def shown(demo, name):
    return re.findall(rf'data-name="{name}">([^<]*)</b>', still(demo))


def cells(demo):
    return re.findall(r'data-name="cell"[^>]*>([^<]*)</button>', still(demo))


def test_the_still_lens_has_the_last_depth_at_the_top_and_its_last_cell_open():
    demo = lens()
    assert cells(demo) == ["␣sun", "␣is", "␣blue", "The", "␣sky", "␣is"]
    assert (shown(demo, "token"), shown(demo, "p")) == (["␣blue", "␣red"], ["0.700", "0.200"])
    assert (shown(demo, "word"), shown(demo, "depth")) == (["␣is"], ["block 0"])
    assert still(demo).count('aria-pressed="true"') == 1
    assert shown(lens(chosen=(0, 1)), "token") == ["␣sky", "␣&lt;b&gt;"]


def test_the_still_map_has_its_numbers_and_the_largest_cell_open():
    demo = patching()
    assert cells(demo) == ["0.00", "0.00", "1.00", "0.00", "0.25", "−0.50"]
    assert (shown(demo, "number"), shown(demo, "layer")) == (["1.000"], ["block 1"])
    assert (shown(demo, "place"), shown(demo, "site-name")) == (["␣is"], ["stream"])
    assert 'data-sign="less" style="--p:11.2%"' in still(demo)  # 45 % of 0.5 / 2


def test_rows_of_some_layers_bear_their_numbers():
    assert patching(layers=[3, 12]).state["layers"] == ["block 12", "block 3"]


@needs_node
@pytest.mark.parametrize(
    "demo", [lens(), lens(chosen=(0, 0)), patching()], ids=["l", "l0", "p"]
)
def test_the_script_shows_at_first_what_the_still_view_shows(demo):
    out = act(demo)
    names = set(out) & set(re.findall(r'data-name="([\w-]+)">', still(demo)))
    assert len(names) >= 3
    assert all(out[name] == shown(demo, name)[0].replace("&lt;", "<") for name in names)


@needs_node
def test_pointing_at_a_cell_of_the_lens_shows_its_list():
    out = act(lens(), point=4)  # below, in the middle
    assert (out["token"], out["token1"], out["p1"]) == ("␣sky", "␣<b>", "0.125")
    assert (out["word"], out["depth"], out["bar-share"]) == ("␣sky", "embedding", 0.75)
    assert (out["open"], out["stops"]) == (4, 1)


@needs_node
@pytest.mark.parametrize(
    ("keys", "ends"),
    [
        (["ArrowLeft"], 1),
        (["ArrowDown"], 5),
        (["ArrowDown", "ArrowLeft", "ArrowUp"], 1),
        (["ArrowRight", "ArrowUp"], 2),  # at the edge nothing moves
        (["ArrowDown", "ArrowDown", "ArrowLeft", "ArrowLeft", "ArrowLeft"], 3),
        (["Enter"], 2),
    ],
)
def test_arrow_keys_move_over_the_table_and_stop_at_its_edges(keys, ends):
    assert act(lens(), keys=keys)["open"] == ends
    assert act(patching(chosen=(1, 2)), keys=keys)["open"] == ends


@needs_node
def test_another_value_redraws_the_map():
    out = act(patching(), site=1, redraw=True)
    assert out["cells"] == ["2.00", "0.00", "0.00", "0.50", "−0.25", "0.00"]
    assert out["signs"] == ["more", "more", "more", "more", "less", "more"]
    assert (out["site-name"], out["number"], out["bar-share"]) == ("attention", "0.000", 0)
    assert out["color"] == "0.0%"


def test_tables_that_do_not_fit_are_refused():
    with pytest.raises(InputError, match=r"tops must hold 2 rows of 2 cells"):
        demos.logit_lens_demo(WORDS[:2], DEPTHS, TOPS)
    with pytest.raises(InputError, match=r"chosen=\(2, 0\): rows are 0 to 1"):
        lens(chosen=(2, 0))
    with pytest.raises(InputError, match=r"must all be \(layers, 2\)"):
        demos.patching_demo(WORDS[:2], {"stream": FIRST})
    with pytest.raises(InputError, match="NaN or infinite"):
        demos.patching_demo(WORDS, {"stream": FIRST * np.nan})
