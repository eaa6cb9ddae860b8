import re
from dataclasses import replace

import numpy as np
import pytest
from plot.node import needs_node, run_script

from lab.embeddings import demos
from mathlm.errors import InputError

TEXT = re.findall(
    r"\w+",
    "the cat sat on the mat the dog sat by the cat "
    "and then a dog saw the mat by a door again now",
)
STUB = """
const state = JSON.parse(process.argv[1]), values = JSON.parse(process.argv[2]), out = {};
const fixed = (x, d) => x.toFixed(d).replace("-", "−");
const text = (name, value, i = 0) => { out[name + (i ? i : "")] = value; };
const bar = (name, share, i = 0) => { out[name + (i ? i : "")] = share; };
const handlers = {};
const made = {};
const make = (name, n) => Array.from({length: n}, (_, i) => ({
  className: "", textContent: "", attributes: {},
  setAttribute(k, v) { this.attributes[k] = v; },
  addEventListener(e, f) { handlers[`${name}${i}:${e}`] = f; },
  focus() { handlers[`${name}${i}:focus`](); },
}));
const all = (name) => made[name] ??= make(name, name === "line" ? 5 : state.words.length);
const one = (name) => made[name] ??= {
  valueAsNumber: values[name], value: String(values[name]),
  addEventListener(e, f) { handlers[`${name}:${e}`] = f; },
};
const changed = () => {}, reset = () => {};
"""


def run(demo, **values):
    return run_script(STUB, demo, {"size": 4, "step": 2, "optimizer": 0, "use": 0} | values)


def shown(demo, name):
    return re.findall(rf'data-name="{name}">([^<]*)<', demo._repr_html_().split("<script>")[0])


def test_the_still_view_counts_the_rows_of_its_batch():
    """Batch 2 of four is "the mat the dog": three rows, one of them twice."""
    demo = demos.embedding_rows_demo(TEXT, size=4, step=2)
    assert shown(demo, "batch") == ["the mat the dog"]
    assert (shown(demo, "looked"), shown(demo, "moves")) == (["3"], ["3"])
    assert sorted(set(shown(demo, "times"))) == ["", " ×2 →", " →"]


@needs_node
@pytest.mark.parametrize(
    ("optimizer", "moved"), [(0, "3"), (1, "6"), (2, "6"), (3, "3"), (4, "14")]
)
def test_momentum_moves_earlier_rows_and_decay_moves_all(optimizer, moved):
    """Before: the cat sat on. Batch: the mat the dog. Together six words, of fourteen."""
    out = run(demos.embedding_rows_demo(TEXT, size=4, step=2), optimizer=optimizer)
    assert (out["looked"], out["gradient"], out["moves"]) == ("3", "3", moved)


@needs_node
def test_a_tied_table_has_a_gradient_in_every_row():
    out = run(demos.embedding_rows_demo(TEXT, size=4, step=2), use=1)
    assert (out["looked"], out["gradient"], out["moves"]) == ("3", "14", "14")


@needs_node
def test_the_script_agrees_with_the_still_view():
    demo = demos.embedding_rows_demo(TEXT, size=6, step=1)
    out = run(demo, size=6, step=1)
    for name in ("batch", "looked", "gradient", "moves"):
        assert [out[name]] == shown(demo, name)


def test_rows_of_a_text_that_is_too_short_are_refused():
    with pytest.raises(InputError, match="23 tokens, size=4, step=1: expected at least 24"):
        demos.embedding_rows_demo(TEXT[:23], size=4, step=1)
    with pytest.raises(InputError, match="size=13"):
        demos.embedding_rows_demo(TEXT, size=13)


WORDS = list("abcdefg")
VECTORS = np.array([[1.0, 0], [1, 0.2], [1, 0.3], [1, 1], [0, 1], [-1, 1], [-1, 0]])
MAP = demos.word_neighbors_demo(WORDS, VECTORS, VECTORS, chosen=0)


def test_the_still_map_lists_the_nearest_first():
    """Angles from a: b 11.3°, c 16.7°, d 45°, e 90°, f 135°."""
    assert shown(MAP, "neighbor") == ["b", "c", "d", "e", "f"]
    assert shown(MAP, "cosine") == ["0.98", "0.96", "0.71", "0.00", "−0.71"]
    assert shown(MAP, "center") == ["a"]


def test_a_word_is_never_its_own_neighbor():
    near = MAP.state["neighbors"]
    assert all(i not in row for i, row in enumerate(near))


@needs_node
def test_focus_on_a_word_shows_its_neighbors():
    """Angles from e, 90°: d and f 45°, c 73.3°, b 78.7°, a and g 90°."""
    move = "spots[4].focus();"
    demo = demos.word_neighbors_demo(WORDS, VECTORS, VECTORS)
    out = run_script(STUB, _with(demo, move), {"choice": 0})
    assert out["center"] == "e"
    assert {out["neighbor"], out["neighbor1"]} == {"d", "f"}
    lines = [m["at"] for m in out["map"]["marks"] if m["kind"] == "line"]
    assert all(ends[0] == VECTORS[4].tolist() for ends in lines)
    assert [0.0, 1.0] not in [ends[1] for ends in lines]
    assert {tuple(v) for v in VECTORS[[1, 2, 3, 5]]} <= {tuple(ends[1]) for ends in lines}


@needs_node
def test_arrow_keys_go_round():
    move = "handles[0].key(-1);"
    out = run_script(STUB, _with(MAP, move), {"choice": 0})
    assert out["center"] == "g"


def _with(demo, more):
    """The demo with lines at the end of its script."""
    return replace(demo, script=demo.script + more)


def test_maps_that_do_not_fit_are_refused():
    with pytest.raises(InputError, match=r"7 words, vectors \(6, 2\)"):
        demos.word_neighbors_demo(WORDS, VECTORS[:6], VECTORS)
    with pytest.raises(InputError, match="k=7"):
        demos.word_neighbors_demo(WORDS, VECTORS, VECTORS, k=7)


@pytest.mark.parametrize(("factor", "chosen"), [(0, 0), (np.nan, 0), (1, 7), (1, -1)])
def test_vectors_without_a_direction_and_words_that_are_not_there_are_refused(factor, chosen):
    with pytest.raises(InputError, match=f"chosen={chosen} of 7 words, vectors of length"):
        demos.word_neighbors_demo(WORDS, factor * VECTORS, VECTORS, chosen=chosen)


DEMOS = {"rows": demos.embedding_rows_demo(TEXT), "map": MAP}


@pytest.mark.parametrize("demo", DEMOS.values(), ids=DEMOS)
def test_the_view_has_every_name_that_the_script_uses(demo):
    used = re.findall(r'\b(?:one|all|text|bar)\("([\w-]+)"', demo.script)
    html = demo._repr_html_().split("<script>")[0]
    assert used
    assert all(f'data-name="{name}"' in html for name in used)
