import re
from html import unescape

import numpy as np
import pytest
from plot.node import needs_node, run_script

from lab.fine_tuning import demos
from lab.fine_tuning.demos import WAYS, shares, ways_to_hold
from mathlm.errors import InputError

CHAT = [
    ("<u>", "marker"),
    ("Hi", "prompt"),
    ("<a>", "marker"),
    ("Yo", "answer"),
    ("</>", "end"),
]
CHATS = {"one": CHAT, "two": [("<s>", "marker"), *CHAT]}
BOWLS = (
    np.array([[1.0, 0.2], [0.2, 0.3]]),
    np.array([1.0, 0.6]),
    np.array([[0.2, 0.0], [0.0, 2.0]]),
)
STUB = """
const state = JSON.parse(process.argv[1]), values = JSON.parse(process.argv[2]);
const fixed = (x, d) => x.toFixed(d), out = {}, kept = {};
const make = (name, i) => ({ value: String(values[name]), setAttribute(key, x) {
  out[name + key + i] = x; } });
const one = (name, i = 0) => kept[name + i] = kept[name + i] || make(name, i);
const count = (name) => name === "way-line" ? 3 : state.chats[Number(name.slice(-1))].length;
const all = (name) => [...Array(count(name)).keys()].map((i) => one(name, i));
const text = (name, value, i = 0) => { out[name + i] = value; };
const bar = (name, share, i = 0) => { out[name + "-bar" + i] = share; };
const changed = () => {}, reset = () => {};
"""
LOOK = "out.classes = all(`piece-${values.format}`).map((e) => e.className);\n"
LOOK += "out.hidden = state.chats.map((_, g) => one('strip', g).hidden);\n"


def masked(values):
    demo = demos.chat_mask_demo(CHATS)
    object.__setattr__(demo, "script", demo.script + LOOK)
    return run_script(STUB, demo, values)


@needs_node
@pytest.mark.parametrize(("rule", "asked"), [(0, [3, 4]), (1, [3]), (2, [1, 2, 3, 4])])
def test_each_rule_frames_the_tokens_that_it_learns(rule, asked):
    out = masked({"format": 0, "rule": rule, "place": 1})
    framed = [i for i, name in enumerate(out["classes"]) if "asked" in name]
    assert framed == asked
    assert out["asked0"] == str(len(asked))


@needs_node
def test_the_sentence_names_the_token_that_is_asked_for():
    out = masked({"format": 1, "rule": 1, "place": 5})
    assert out["told0"].startswith("Behind 5 tokens, the last of them “Yo”, the model is asked")
    assert out["told0"].endswith("for “</>”. This does not count.")
    assert out["hidden"] == [True, False]


def test_without_a_script_the_first_format_is_there():
    html = unescape(demos.chat_mask_demo(CHATS)._repr_html_().split("<script>")[0])
    assert re.findall(r'data-name="piece-0" class="([^"]*)"', html)[3:] == [
        "answer asked now",
        "end asked",
    ]
    assert "asked for “Yo”. This counts." in html


@pytest.mark.parametrize("way", [0, 1, 2])
@pytest.mark.parametrize("freedom", [1, 40, 100])
@needs_node
def test_the_script_holds_on_as_python_does(way, freedom):
    demo = demos.holding_on_demo(*BOWLS, 0.4)
    out = run_script(STUB, demo, {"way": way, "freedom": freedom})
    delta = ways_to_hold(*BOWLS, 0.4, 100.0)[WAYS[way]](freedom)
    expected = [f"{100 * x:.1f} %" for x in shares(*BOWLS, delta)]
    assert [out["share0"], out["share1"]] == expected
    dot = out["plane"]["marks"][-1]
    assert dot["at"][0] == pytest.approx(delta.tolist(), abs=1e-8)


def test_level_lines_have_the_heights_that_are_asked_for():
    A, target, H = map(np.asarray, BOWLS)
    state = demos.holding_on_demo(*BOWLS, 0.4).state
    for lines, M, center in ((state["fresh"], A, target), (state["old"], H, 0 * target)):
        for points, height in zip(lines, (0.03, 0.15, 0.4), strict=True):
            away = np.array(points) - center
            np.testing.assert_allclose(0.5 * ((away @ M) * away).sum(1), height, rtol=0.01)


def test_letting_go_ends_at_the_new_minimum_and_holding_fast_at_the_old():
    for way in ways_to_hold(*BOWLS, 0.4, 100.0).values():
        assert shares(*BOWLS, way(100))[0] > 0.99
        assert shares(*BOWLS, way(1))[1] < 0.02


@pytest.mark.parametrize(
    ("chats", "said"),
    [({}, "no chat"), ({"x": CHAT[:1]}, "has 1 tokens"), ({"x": [("a", "b")] * 3}, r"\['b'\]")],
)
def test_what_is_no_chat_is_refused(chats, said):
    with pytest.raises(InputError, match=said):
        demos.chat_mask_demo(chats)
