import re

import pytest
from plot.node import needs_node, run_script

from lab.tokenization import demos
from mathlm.errors import InputError
from mathlm.text import ByteBPE

TOY = {"low": 1, "lower": 1, "lowest": 1}
MFP = {"low": 5, "lowest": 2, "newer": 3, "wider": 2}
STUB = """
const state = JSON.parse(process.argv[1]), values = JSON.parse(process.argv[2]), out = {};
const text = (name, value, i = 0) => { (out[name] ??= [])[i] = value; };
const bar = (name, share, i = 0) => { (out[name] ??= [])[i] = share; };
const panels = Array.from({length: values.panels ?? 0}, () => ({}));
const attributes = {}, listeners = {}, flags = {};
const root = { toggleAttribute: (name, on) => { flags[name] = on; } };
const one = (name) => ({
  value: values[name], valueAsNumber: Number(values[name]),
  getAttribute: (key) => attributes[key] ?? "false",
  setAttribute: (key, value) => { attributes[key] = value; },
  addEventListener: (kind, act) => { listeners[name] = act; },
});
const all = () => panels, changed = () => {}, reset = () => {};
"""


def shown(html, name):
    return re.findall(rf'data-name="{name}">([^<]*)<', html)


def test_the_still_view_counts_the_pairs_of_the_three_words():
    html = demos.merges_demo({"toy": TOY})._repr_html_()
    assert shown(html, "split") == ["l·o·w", "l·o·w·e·r", "l·o·w·e·s·t"]
    assert shown(html, "pair")[:2] == ["l·o", "o·w"]
    assert shown(html, "count")[:3] == ["3", "3", "2"]
    assert "one of 2 pairs that tie" in html


@needs_node
@pytest.mark.parametrize(("rule", "made"), [(0, "ew"), (1, "ne")])
def test_the_fourth_merge_depends_on_the_rule_for_ties(rule, made):
    """Four merges of newer, wider, low and lowest: ne if first seen, ew if first in bytes."""
    demo = demos.merges_demo({"toy": TOY, "more": MFP})
    out = run_script(STUB, demo, {"corpus": "1", "rule": str(rule), "merges": 4})
    assert out["made"] == [f"Merge 4 made “{made}”."]
    assert out["split"][1] == "low·e·s·t"


@needs_node
def test_past_the_last_merge_the_script_stays_where_it_is():
    """low, lowe: two merges of pairs that occur twice or more after lo."""
    demo = demos.merges_demo({"toy": TOY, "more": MFP})
    out = run_script(STUB, demo, {"corpus": "0", "rule": "0", "merges": 12})
    assert out["merges-value"] == ["3"]
    assert out["next"] == ["No pair occurs twice."]
    assert out["split"] == ["low", "lowe·r", "lowe·s·t", ""]


def test_tokens_carry_their_ids_and_spaces_are_visible():
    bpe = ByteBPE.from_merges([(32, 97)])
    html = demos.tokens_demo({"text": "b a é"}, {"mine": bpe})._repr_html_()
    assert '<span class="token" title="id 256">␣a<small>256</small></span>' in html
    assert 'title="id 195">C3<small>' in html
    assert "mine: <b>5</b> tokens" in html


def test_text_that_looks_like_html_is_shown_as_text():
    html = demos.tokens_demo({"x": "<b>"}, {"mine": ByteBPE.from_merges([])})._repr_html_()
    assert 'title="id 60">&lt;<small>' in html


@needs_node
def test_the_chosen_text_is_the_only_one_that_is_not_hidden():
    bpe = ByteBPE.from_merges([])
    demo = demos.tokens_demo({"a": "x", "b": "y"}, {"mine": bpe})
    stub = STUB + "out.panels = panels;"
    out = run_script(stub, demo, {"text": "1", "panels": 2})
    assert [panel["hidden"] for panel in out["panels"]] == [True, False]


@needs_node
def test_the_button_shows_the_ids():
    demo = demos.tokens_demo({"a": "x"}, {"mine": ByteBPE.from_merges([])})
    press = type(demo)(
        **{**vars(demo), "script": demo.script + "listeners.ids(); out.on = flags;"}
    )
    out = run_script(STUB, press, {"text": "0", "panels": 1})
    assert out["on"] == {"data-ids": True}


def test_nothing_to_show_is_refused():
    with pytest.raises(InputError, match="corpora is empty"):
        demos.merges_demo({})
    with pytest.raises(InputError, match="1 texts and 0 tokenizers"):
        demos.tokens_demo({"a": "x"}, {})
