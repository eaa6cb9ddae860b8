import re
from html import unescape

import pytest
import torch
from plot.node import needs_node, run_script

from lab.fast_generation import demos
from lab.fast_generation.demos import CARD, MODELS, calculated, counted, whole
from mathlm.errors import InputError
from mathlm.generate import Round
from mathlm.plot.demo import byte_size
from mathlm.scaling import PUBLISHED, count_parameters, decode_limit, kv_cache_bytes

STUB = """
const state = JSON.parse(process.argv[1]), values = JSON.parse(process.argv[2]);
const fixed = (x, d) => x.toFixed(d), out = {}, elements = {};
const text = (name, value, i = 0) => { out[name + (i ? i : "")] = value; };
const bar = (name, share, i = 0) => { out[name + "-bar" + (i ? i : "")] = share; };
const one = (name) => elements[name] = elements[name] || { value: String(values[name]) };
const changed = () => {}, reset = () => {};
"""
BUTTONS = """
const state = JSON.parse(process.argv[1]), values = JSON.parse(process.argv[2]), out = {};
const text = (name, value) => { out[name] = value; }, elements = {};
const pieces = state.steps.map(() => ({ hidden: false }));
const all = (name) => pieces;
const one = (name) => elements[name] = elements[name] || { presses: [],
  addEventListener(event, act) { this.presses.push(act); } };
"""
PRESS = "values.presses.forEach((name) => one(name).presses.forEach((act) => act()));\n"
PRESS += "out.shown = pieces.map((e) => !e.hidden);\n"
PRESS += 'out.ends = ["back", "next"].map((name) => one(name).disabled);\n'


def shown(demo, name):
    html = demo._repr_html_().split("<script>")[0]
    return [unescape(x) for x in re.findall(rf'data-name="{name}">([^<]*)</', html)]


@pytest.mark.parametrize("name", ["smollm2-135m", "llama2-70b", "gpt3-175b"])
def test_the_calculator_counts_as_the_package_does(name):
    config = PUBLISHED[name]
    found = calculated(config, 2048, 4, 8, 16, config.kv_heads)
    assert found["stored"] == count_parameters(config)
    assert found["each"] == kv_cache_bytes(config, 1)
    assert found["fit"] == max(0, (CARD - found["stored"]) // kv_cache_bytes(config, 2048))
    assert found["rate"] == pytest.approx(
        decode_limit(config, 3.35e12, 2047, 4, weight_bytes=1)
    )


def test_the_cache_of_a_window_stops_growing():
    config = PUBLISHED["mistral-7b"]
    sizes = [calculated(config, 2**n, 1, 16, 16, 8)["cache"] for n in (12, 13, 17)]
    assert config.window == 4096
    assert sizes[0] == sizes[1] == sizes[2] == kv_cache_bytes(config, 4096)


@needs_node
@pytest.mark.parametrize("weights", [0, 3])
@pytest.mark.parametrize(
    ("model", "tokens", "texts", "heads"), [(1, 15, 3, 8), (4, 20, 10, 8), (0, 7, 0, 3)]
)
def test_the_script_calculates_as_python_does(model, tokens, texts, heads, weights):
    at = {
        "model": model,
        "tokens": tokens,
        "texts": texts,
        "weights": weights,
        "cache": 2,
        "sharing": 0,
    }
    out = run_script(STUB, demos.cache_calculator_demo(), at)
    config = PUBLISHED[list(MODELS.values())[model]]
    found = calculated(config, 2**tokens, 2**texts, (32, 4)[weights > 0], 8, heads)
    assert [out["part"], out["part1"]] == [
        byte_size(found["stored"]),
        byte_size(found["cache"]),
    ]
    assert out["fit"] == counted(found["fit"])
    assert [out["rate"], out["single"]] == [
        whole(found["rate"]),
        whole(found["rate"] / 2**texts),
    ]


@needs_node
def test_one_key_head_for_each_query_head_makes_the_cache_eight_times_as_large():
    at = {"model": 4, "tokens": 17, "texts": 0, "weights": 1, "cache": 1}
    shared, own = (
        run_script(STUB, demos.cache_calculator_demo(), at | {"sharing": s}) for s in (0, 1)
    )
    assert (shared["part1"], own["part1"]) == ("42.9 GB", "344 GB")
    assert shown(demos.cache_calculator_demo(), "part")[1] == "42.9 GB"


def rounds():
    """Two draft tokens, the first accepted, the second replaced; then one and a free token."""
    p = torch.tensor([[0.5, 0.5, 0.0], [0.0, 0.25, 0.75], [0.2, 0.3, 0.5]])
    q = torch.tensor([[0.25, 0.75, 0.0], [0.5, 0.5, 0.0]])
    first = Round(torch.tensor([0, 2]), torch.tensor([0, 1]), 1, p, q)
    second = Round(torch.tensor([1, 2]), torch.tensor([1]), 1, p[1:], q[1:])
    return [first, second]


def test_every_token_is_told_with_its_chance():
    demo = demos.draft_tokens_demo("x", rounds(), "abc".__getitem__)
    told = [step["told"] for step in demo.state["steps"]]
    half = "'b': p = 0.250, q = 0.500, so it is accepted with probability 0.50."
    assert told == [
        "'a': p = 0.500, q = 0.250, so it is accepted with probability 1.00. Accepted.",
        f"{half} Refused; 'c' is drawn instead.",
        f"{half} Accepted.",
        "All were accepted; 'c' comes free with them.",
    ]
    html = demo._repr_html_()
    assert re.findall(r'data-name="piece" class="(\w+)"', html) == [
        "accepted",
        "replaced",
        "accepted",
        "extra",
    ]
    assert (shown(demo, "tokens"), shown(demo, "readings")) == (["4"], ["2"])


@needs_node
@pytest.mark.parametrize(
    ("presses", "n"),
    [
        ([], 0),
        (["next"], 1),
        (["next"] * 9, 4),
        (["next", "next", "back"], 1),
        (["next", "reset"], 0),
    ],
)
def test_each_press_shows_one_token_more_or_less(presses, n):
    demo = demos.draft_tokens_demo("x", rounds(), "abc".__getitem__)
    replaced = type(demo)(
        kind=demo.kind, title="t", view="", state=demo.state, script=demo.script + PRESS
    )
    out = run_script(BUTTONS, replaced, {"presses": presses})
    assert out["shown"] == [i < n for i in range(4)]
    assert out["ends"] == [n == 0, n == 4]
    assert (out["tokens"], out["readings"]) == (str(n), str((n + 1) // 2))


def test_no_rounds_are_refused():
    with pytest.raises(InputError, match="no rounds to show: give those of one text"):
        demos.draft_tokens_demo("x", [], str)
