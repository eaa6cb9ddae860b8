import re
from html import unescape

import numpy as np
import pytest
from plot.node import needs_node, run_script

from lab.transformer_forward import demos
from lab.transformer_forward.demos import TRACE_STEPS
from mathlm.errors import InputError

STUB = """
const state = JSON.parse(process.argv[1]), values = JSON.parse(process.argv[2]), out = {};
const fixed = (x, d) => x.toFixed(d).replace(/^-(0\\.?0*)$/, "$1").replace("-", "−");
const text = (name, value, i = 0) => { (out[name] = out[name] || [])[i] = value; };
const bar = (name, share, i = 0) => text(name + "-bar", share, i);
const made = {}, still = false;
const element = (name, i) => made[name + i] = made[name + i] || { style: {}, on: {},
  get value() { return String([values[name]].flat()[i]); }, set value(v) { values[name] = v; },
  get valueAsNumber() { return Number([values[name]].flat()[i]); },
  setAttribute(key, to) { (out[`${name}.${key}`] = out[`${name}.${key}`] || [])[i] = to; },
  addEventListener(e, f) { this.on[e] = f; } };
const one = (name, i = 0) => element(name, i);
const all = (name) =>
  Array.from({ length: name === "word" ? 4 : 1 }, (_, i) => element(name, i));
const changed = () => {}, reset = () => {};
"""
WORDS = ["the", "cat", "sat", "on", "mat"]


def trace(**options):
    rng = np.random.default_rng(3)
    maps = {name: rng.normal(size=(4, 4)) for name in ("W_q", "W_k", "W_v", "W_in", "W_out")}
    table, positions = rng.normal(size=(5, 4)), rng.normal(size=(3, 4))
    return demos.forward_trace_demo(table, positions, maps, WORDS, **options)


def shown(demo, name):
    found = re.findall(rf'data-name="{name}"[^>]*>([^<]*)<', demo._repr_html_())
    return [unescape(text) for text in found]


class Extended:
    """A demo whose script goes on after its own end."""

    def __init__(self, demo, after):
        self.script, self.state = demo.script + after, demo.state


EXAMPLES = [
    {
        "source": ["twenty", "one"],
        "output": ["vingt", "et", "<eos>"],
        "weights": [[0.9, 0.1], [0.25, 0.75], [0.5, 0.5]],
        "candidates": [[("vingt", 0.75), ("un", 0.25)]] * 3,
    },
    {
        "source": ["two"],
        "output": ["deux", "<eos>"],
        "weights": [[1.0], [1.0]],
        "candidates": [[("deux", 1.0), ("un", 0.0)], [("<eos>", 0.5), ("un", 0.5)]],
    },
]


def test_equal_words_without_maps_share_attention_evenly():
    """All scores are 0: row t gives 1/(t + 1) to each of the t + 1 words that it sees."""
    maps = dict.fromkeys(("W_q", "W_k", "W_v", "W_in", "W_out"), np.zeros((2, 2)))
    demo = demos.forward_trace_demo(
        np.eye(2), np.zeros((3, 2)), maps, ["a", "b"], (0, 1, 0, 1), 7
    )
    cells = [c for c in shown(demo, "cell") if c]
    assert cells == ["1.00", "0.00", "0.00", "0.50", "0.50", "0.00", "0.33", "0.33", "0.33"]


def test_the_last_step_holds_losses_and_marks_what_follows():
    """Without maps H₂ is the norm of the row itself: (1, -1), logits (1, -1)."""
    maps = dict.fromkeys(("W_q", "W_k", "W_v", "W_in", "W_out"), np.zeros((2, 2)))
    demo = demos.forward_trace_demo(np.eye(2), np.zeros((1, 2)), maps, ["a", "b"], (0, 1), 12)
    assert shown(demo, "cell") == ["0.88", "0.12", "2.13"]
    here = re.findall(r'data-here="(\w+)"', demo._repr_html_())
    assert here == ["false", "true", "false"]


@needs_node
@pytest.mark.parametrize("text", [(0, 1, 2, 3), (4, 4, 1, 0)])
@pytest.mark.parametrize("step", range(1, len(TRACE_STEPS) + 1))
def test_script_of_the_trace_shows_what_python_computes(step, text):
    demo = trace(text=text, step=step)
    out = run_script(STUB, trace(), {"word": list(text), "step": step})
    assert out["cell"] == shown(demo, "cell")
    assert out["head"] == shown(demo, "head")
    assert out["row"] == shown(demo, "row")
    assert out["formula"] == [TRACE_STEPS[step - 1][0]]
    assert out["cell.data-here"] == re.findall(r'data-here="(\w+)"', demo._repr_html_())


@needs_node
def test_buttons_walk_through_the_steps_and_stop_at_the_ends():
    values = {"word": [0, 1, 2, 3], "step": 11}
    after = "const press = (n) => one(n).on.click(); press('next'); press('next');"
    out = run_script(STUB, Extended(trace(), after), dict(values))
    assert out["step-value"] == ["12"]
    after = "const press = (n) => one(n).on.click(); press('back');"
    out = run_script(STUB, Extended(trace(), after), values | {"step": 1})
    assert out["step-value"] == ["1"]


@needs_node
def test_play_begins_anew_at_the_end_and_a_second_press_pauses():
    values = {"word": [0, 1, 2, 3], "step": 12}
    after = "one('play').on.click(); out.first = [out['step-value'][0], out.play[0]];"
    out = run_script(STUB, Extended(trace(), after + "one('play').on.click();"), values)
    assert out["first"] == ["1", "pause"]
    assert out["play"] == ["play"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"table": np.ones((4, 4))}, r"table \(4, 4\)"),
        ({"positions": np.ones((3, 2))}, r"positions \(3, 2\)"),
        ({"table": np.full((5, 4), np.nan)}, "finite"),
        ({"maps": {}}, "expected W_q"),
        ({"text": (0, 1)}, "must hold 4 ids"),
        ({"text": (0, 1, 2, 5)}, "below 5"),
        ({"step": 0}, "step=0"),
    ],
)
def test_a_trace_that_does_not_fit_is_refused(change, message):
    maps = dict.fromkeys(("W_q", "W_k", "W_v", "W_in", "W_out"), np.eye(4))
    given = {
        "table": np.ones((5, 4)),
        "positions": np.ones((3, 4)),
        "maps": maps,
        "words": WORDS,
    }
    with pytest.raises(InputError, match=message):
        demos.forward_trace_demo(**(given | change))


def test_the_still_view_shows_what_is_written_read_and_expected():
    demo = demos.translation_demo(EXAMPLES, step=2)
    assert shown(demo, "written") == ["vingt"]
    assert shown(demo, "next") == ["et"]
    assert shown(demo, "share") == ["0.25", "0.75"]
    assert shown(demo, "p") == ["0.750", "0.250"]


@needs_node
@pytest.mark.parametrize("step", [1, 2, 3])
def test_script_of_the_translation_shows_what_the_still_view_does(step):
    demo = demos.translation_demo(EXAMPLES, step=step)
    out = run_script(STUB, demos.translation_demo(EXAMPLES), {"example": 0, "step": step})
    for name in ("written", "next", "source", "share", "candidate", "p"):
        assert out[name] == shown(demo, name)
    assert out["read-bar"] == EXAMPLES[0]["weights"][step - 1]
    assert out["chance-bar"] == [0.75, 0.25]


@needs_node
def test_a_shorter_example_hides_rows_and_ends_earlier():
    out = run_script(STUB, demos.translation_demo(EXAMPLES), {"example": 1, "step": 3})
    assert (out["step-value"], out["next"], out["source"]) == (["2"], ["<eos>"], ["two"])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"weights": [[0.5, 0.5]]}, r"got \(1, 2\)"),
        ({"weights": [[1.5, 0.5]] * 3}, "between 0 and 1"),
        ({"candidates": [[("x", 0.5)]]}, "got 1"),
    ],
)
def test_an_example_that_does_not_fit_is_refused(change, message):
    with pytest.raises(InputError, match=message):
        demos.translation_demo([EXAMPLES[0] | change])


def test_an_example_without_a_field_or_no_example_is_refused():
    with pytest.raises(InputError, match="lacks"):
        demos.translation_demo([{"source": ["a"]}])
    with pytest.raises(InputError, match="step=1 must be a step of the first of 0"):
        demos.translation_demo([])
