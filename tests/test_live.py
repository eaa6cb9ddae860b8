"""The live model: its engine in Node against the package, the link, and what they weigh."""

import gzip
import json
import math
import re
import shutil
import subprocess
from pathlib import Path

import live_picture
import live_views
import live_weights as tool
import pytest
import staged
import torch

from lab.positional_encoding.position_study import octaves
from mathlm.generate import keep_top_p
from mathlm.interpret import activation_patching, without_heads
from mathlm.text import corpus

LIVE = tool.ROOT / "book" / "_static" / "live"
ENGINE, PANEL, LATER, EDITS, STYLE = (
    LIVE / name for name in ("engine.js", "live.js", "views.js", "edits.js", "live.css")
)
LIMIT = 1e-9  # of logits; the same formula in another order of additions gives 3e-14
BROWSER = next(filter(None, map(shutil.which, ("chromium", "google-chrome"))), None)
needs_node = pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")

SHORT = list(b"JULIET:\nO Romeo!")
OTHER = list(b"JULIET:\nO Hamlet")
RUN = """
const [engineFile, weightsFile] = process.argv.slice(1);
const engine = require(engineFile);
require(weightsFile);
const m = engine.model(globalThis.mathlmLive.weights);
const input = JSON.parse(require("fs").readFileSync(0, "utf8"));
const read = (ids, switches, model = m) => {
  const run = engine.newRun(model, switches);
  engine.read(model, run, ids);
  return run;
};
const rows = (run) => run.ids.map((_, t) => [...engine.logitsAt(m, run, t)]);
const carried = (p) => engine.patchFrom(m, read(p.ids), p.layer, p.at);
const logits = (c) => rows(read(c.ids, { ...c, patches: (c.patches ?? []).map(carried) },
  c.edits ? engine.edited(m, c.edits) : m));
"""


def node(program, *arguments, stdin=""):
    done = subprocess.run(
        ["node", "-e", program, *map(str, arguments)],
        input=stdin, capture_output=True, text=True, check=True,
    )  # fmt: skip
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def model():
    return tool.quantized()[0]


@pytest.fixture(scope="module")
def weights(tmp_path_factory):
    path = tmp_path_factory.mktemp("live") / "weights.js"
    path.write_text(tool.script("weights", tool.quantized()[1]), encoding="utf-8")
    return path


def engine(weights, program, given, file=ENGINE):
    """What a program prints that has the engine, its model ``m`` and the ``input``."""
    return node(f"{RUN}\nconsole.log(JSON.stringify({program}));", file, weights,
                stdin=json.dumps(given))  # fmt: skip


def deviation(model, weights, case, file=ENGINE):
    found = torch.tensor(engine(weights, "logits(input)", case, file), dtype=torch.float64)
    return float((found - tool.logits(model, case)).abs().max())


# --- the engine is the package --------------------------------------------------------------

CHANGES = [
    *("2o-h1-x0", "E-r79-x1.5", "0v-c5-x-1", "1out-r2c9-s0.75", "3n2-c7-x2", "n-a-x0.5"),
    *("1q-h3-x2", "2k-h0-x-1", "3v-h2-s0.01", "0in-r254-x0", "3gate-c126-s-1e-1", "0n1-a-s.9"),
    *("2o-r3-x0", "1out-a-x1.1", "0o-h1-x0.5"),
]
CASES = {
    "plain": {"ids": SHORT},
    "bytes": {"ids": [0, 255, 128, 10]},
    "one token": {"ids": [65]},
    "heads off": {"ids": SHORT, "off": [[0, 1], [0, 3], [2, 2]]},
    "no positions": {"ids": SHORT, "positions": False},
    "patched": {"ids": SHORT, "patches": [{"layer": 2, "at": 12, "ids": OTHER}]},
    "weights changed": {"ids": SHORT, "edits": CHANGES},
    "all": {
        "ids": SHORT,
        "edits": ["1v-r40-x3", "E-r101c3-s1"],
        "off": [[3, 0]],
        "positions": False,
        "patches": [{"layer": 0, "at": 3, "ids": OTHER}, {"layer": 3, "at": 12, "ids": OTHER}],
    },
}


@needs_node
@pytest.mark.parametrize("name", CASES)
def test_the_engine_computes_the_logits_of_the_package(model, weights, name):
    assert deviation(model, weights, CASES[name]) <= LIMIT


@needs_node
@pytest.mark.slow
def test_it_does_so_up_to_the_last_position_of_the_context(model, weights):
    ids = torch.randint(256, (256,), generator=torch.Generator().manual_seed(0)).tolist()
    assert deviation(model, weights, {"ids": ids}) <= LIMIT


@pytest.mark.parametrize("name", ["heads off", "no positions", "patched", "weights changed"])
def test_each_switch_changes_what_the_package_computes(model, name):
    changed = tool.logits(model, CASES[name]) - tool.logits(model, CASES["plain"])
    assert float(changed.abs().max()) > 0.1


FAULTS = {
    "scale lost": [("floats[row++]", "floats[0]")],
    "matrix transposed": [("w[r * ins + c] =", "w[out === ins ? c * ins + r : r * ins + c] =")],
    "no mask": [
        ("subarray(from, from + t + 1)", "subarray(from, from + context)"),
        ("s <= t;", "s < context;"),
        ("softmax(weights, t + 1)", "softmax(weights, context)"),
    ],
    "angles in float64": [("Math.fround(", "Number(")],
    "gains swapped": [("[b.norm1, b.norm2] =", "[b.norm2, b.norm1] =")],
    "pairs interleaved": [("j = start + K / 2, n = 0", "j = start + 1, n = 0")],
    "gate used twice": [("multiply(b.Win,", "multiply(b.Wgate,")],
    "epsilon lost": [("/ x.length + eps", "/ x.length")],
}  # fmt: skip


def faulty(tmp_path, replacements):
    text = ENGINE.read_text(encoding="utf-8")
    for old, new in replacements:
        assert old in text
        text = text.replace(old, new)
    path = tmp_path / "engine.js"
    path.write_text(text, encoding="utf-8")
    return path


@needs_node
@pytest.mark.parametrize("name", FAULTS)
def test_a_planted_fault_is_seen(model, weights, tmp_path, name):
    path = faulty(tmp_path, FAULTS[name])
    assert not deviation(model, weights, CASES["plain"], path) <= LIMIT


@needs_node
def test_a_head_that_stays_on_or_a_patch_that_is_forgotten_is_seen(model, weights, tmp_path):
    on = faulty(tmp_path, [("if (off[h]) continue;", "")])
    assert deviation(model, weights, CASES["heads off"], on) > LIMIT
    forgotten = faulty(tmp_path, [("x.set(patch.vector)", "0")])
    assert deviation(model, weights, CASES["patched"], forgotten) > LIMIT


# --- weights that a reader changes ----------------------------------------------------------

TOUCHED = """(() => {
  const changed = engine.edited(m, input), before = engine.arrays(m);
  const pairs = Object.entries(engine.arrays(changed)).map(([short, a]) => {
    const was = before[short].owner[before[short].key], now = [...a.owner[a.key]];
    const moved = now.flatMap((w, i) => w === was[i] ? [] :
      [[Math.floor(i / a.columns), i % a.columns, was[i], w]]);
    return [a.name, moved];
  });
  const shapes = Object.values(before).map((a) => [a.name, a.rows, a.columns]);
  return { after: Object.fromEntries(pairs), shapes };
})()"""
PLACES = {  # a change, and by hand the entries of the array that it must touch
    "E-r79-x2": ("token_embedding.weight", {(79, c) for c in range(128)}),
    "0v-c5-x2": ("blocks.0.attention.W_v.weight", {(r, 5) for r in range(128)}),
    "1out-r2c9-x2": ("blocks.1.feed_forward.W_out.weight", {(2, 9)}),
    "2o-h1-x2": (
        "blocks.2.attention.W_o.weight",
        {(r, c) for r in range(128) for c in range(32, 64)},
    ),
    "2k-h3-x2": (
        "blocks.2.attention.W_k.weight",
        {(r, c) for r in range(96, 128) for c in range(128)},
    ),
    "3n2-c7-x2": ("blocks.3.feed_forward_norm.gamma", {(0, 7)}),
    "n-a-x2": ("final_norm.gamma", {(0, c) for c in range(128)}),
}


@needs_node
@pytest.mark.parametrize("code", PLACES)
def test_a_change_touches_its_part_and_nothing_else(model, weights, code):
    name, wanted = PLACES[code]
    before = model.get_parameter(name)
    wanted = {(r, c) for r, c in wanted if before.view(-1, before.shape[-1])[r, c] != 0}
    found = engine(weights, TOUCHED, [code])["after"]
    touched = found.pop(name)
    assert {(r, c) for r, c, *_ in touched} == wanted
    assert all(now == 2 * was for *_, was, now in touched)
    assert all(not entries for entries in found.values())
    after = tool.edited(model, [code]).get_parameter(name)
    own = (after != before).view(-1, after.shape[-1]).nonzero().tolist()
    assert set(map(tuple, own)) == wanted


@needs_node
def test_the_arrays_have_the_names_and_shapes_of_the_package(model, weights):
    shapes = engine(weights, TOUCHED, [])["shapes"]
    own = {name: (1, *p.shape)[-2:] for name, p in model.named_parameters()}
    assert {name: (rows, columns) for name, rows, columns in shapes} == own


@needs_node
def test_a_head_whose_output_columns_are_zero_is_off(weights):
    off = engine(weights, "logits(input)", {"ids": SHORT, "off": [[2, 1]]})
    zero = engine(weights, "logits(input)", {"ids": SHORT, "edits": ["2o-h1-x0"]})
    assert float((torch.tensor(off) - torch.tensor(zero)).abs().max()) <= LIMIT
    plain = engine(weights, "logits(input)", {"ids": SHORT})
    assert float((torch.tensor(off) - torch.tensor(plain)).abs().max()) > 0.1


EDIT_FAULTS = {
    "rows and columns swapped": ("yield i * columns + j", "yield j * columns + i"),
    "one row on": ("[Number(i), Number(i) + 1]", "[Number(i) + 1, Number(i) + 2]"),
    "factor lost": ("W[i] * number : number", "W[i] : number"),
    "set is a factor": ('change === "x" ?', "true ?"),
    "head by rows everywhere": ("if (/[qkv]$/.test(short))", "if (true)"),
    "one block for all": ("put(l + short, b, key", "put(l + short, m.blocks[0], key"),
    "width of a head": ("head * K + K]", "head * K + 1]"),
    "gains swapped": ('"n1", "norm1"', '"n1", "norm2"'),
}  # fmt: skip


@needs_node
@pytest.mark.parametrize("name", EDIT_FAULTS)
def test_a_planted_fault_of_a_change_is_seen(model, weights, tmp_path, name):
    file = faulty(tmp_path, [EDIT_FAULTS[name]])
    assert not deviation(model, weights, CASES["weights changed"], file) <= LIMIT


@needs_node
def test_the_page_that_checks_itself_sees_a_fault_of_a_change(model, weights, tmp_path):
    (case,) = (c for c in tool.CASES if "edits" in c)
    check = {"cases": [tool.recorded(model, case)], "texts": []}
    assert checked(weights, check)["deviation"] <= LIMIT
    for fault in ("rows and columns swapped", "factor lost", "head by rows everywhere"):
        file = faulty(tmp_path, [EDIT_FAULTS[fault]])
        assert not checked(weights, check, file)["deviation"] <= LIMIT


REFUSED = {
    "9q-r3-x0": "The model has no array “9q”.",
    "2out-h1-x0": "blocks.2.feed_forward.W_out.weight has no heads.",
    "2o-h4-x0": "“2o-h4-x0” is outside of blocks.2.attention.W_o.weight, (128, 128).",
    "E-r256-x0": "“E-r256-x0” is outside of token_embedding.weight, (256, 128).",
    "n-r1-x0": "“n-r1-x0” is outside of final_norm.gamma, (1, 128).",
    "E-r1": "“E-r1” is no change of a weight.",
    "E-r1-y2": "“E-r1-y2” is no change of a weight.",
    "E--x2": "“E--x2” is no change of a weight.",
    "E-r1-x1e9": "“E-r1-x1e9”: the number must lie between −1000 and 1000.",
    "toString-a-x0": "The model has no array “toString”.",
}


@needs_node
def test_a_change_of_what_is_not_there_says_so_and_the_others_hold(model, weights):
    edits = [*REFUSED, "2o-h1-x0"]
    asked = {"off": [], "positions": True, "layer": 0, "head": 0}
    view = {"kind": "view", "ids": SHORT, **asked, "edits": edits, "answers": 2}
    refused, seen = served(weights, view)[1:]
    assert (refused["kind"], refused["why"]) == ("refused", list(REFUSED.values()))
    assert refused["edits"] == ["2o-h1-x0"]
    p = tool.logits(model, {"ids": SHORT, "off": [[2, 1]]})
    found = torch.tensor(seen["logits"], dtype=torch.float64).view_as(p)
    assert float((found - p).abs().max()) <= LIMIT
    plain = tool.logits(model, {"ids": SHORT})
    trained = torch.tensor(seen["trained"]["logits"], dtype=torch.float64).view_as(p)
    assert float((trained - plain).abs().max()) <= LIMIT  # beside it the model as trained
    for code in ("9q-r3-x0", "E-r256-x0", "E-r1"):
        with pytest.raises((ValueError, IndexError, AttributeError)):
            tool.edited(model, [code])


@needs_node
def test_a_change_that_is_undone_leaves_nothing(weights):
    asked = {"off": [], "positions": True, "layer": 0, "head": 0, "answers": 1}
    texts = [[], ["2o-h1-x0"], []]
    views = [{"kind": "view", "ids": SHORT, **asked, "edits": edits} for edits in texts]
    first, changed, last = (a for a in served(weights, *views) if a["kind"] == "view")
    assert first["logits"] == last["logits"] != changed["logits"]
    assert "trained" in changed
    assert "trained" not in last


@needs_node
def test_what_a_part_holds_before_and_after(model, weights):
    asked = {"off": [], "positions": True, "layer": 0, "head": 0, "answers": 1}
    view = {"kind": "view", "ids": SHORT, **asked, "edits": ["0v-c5-x2", "E-r1c2-s-1.5"]}
    places = ["0v-c5", "0v-r3", "E-r1c2", "2o-h1", "n-a"]
    asks = [{"kind": "size", "place": place, "answers": 1} for place in places]
    found = [a for a in served(weights, view, *asks) if a["kind"] == "size"]
    W, E = (
        model.get_parameter(name).detach()
        for name in ("blocks.0.attention.W_v.weight", "token_embedding.weight")
    )
    parts = [W[:, 5], W[3], E[1, 2][None]]
    parts += [model.blocks[2].attention.W_o.weight.detach()[:, 32:64], model.final_norm.gamma]
    for answer, part in zip(found, parts, strict=True):
        assert answer["was"]["count"] == part.numel()
        value = (
            float(part) if part.numel() == 1 else float(part.detach().square().mean().sqrt())
        )
        assert answer["was"]["value"] == pytest.approx(value, rel=1e-12)
    factors = [a["now"]["value"] / a["was"]["value"] for a in (found[0], found[3], found[4])]
    assert factors == pytest.approx([2, 1, 1])
    squares = W[3].square().sum() + 3 * W[3, 5] ** 2
    assert found[1]["now"]["value"] == pytest.approx(float((squares / 128).sqrt()))
    assert found[2]["now"]["value"] == -1.5


EDITED = """(() => {
  const run = read(input[0]);
  const kept = input.slice(1).map((ids) => engine.read(m, run, ids));
  return { kept, logits: rows(run) };
})()"""


@needs_node
def test_a_text_that_was_edited_is_read_as_if_it_were_new(weights):
    texts = [OTHER, SHORT, [*SHORT, 32], SHORT[:4]]
    found = engine(weights, EDITED, texts)
    assert found["kept"] == [10, 16, 4]  # what the key/value cache spared
    assert found["logits"] == engine(weights, "logits(input)", {"ids": SHORT[:4]})


@needs_node
def test_the_maps_are_the_weights_of_the_package(model, weights):
    program = """(() => { const run = read(input); return run.maps.map((map) =>
      Array.from({ length: 4 }, (_, h) => run.ids.map((_, t) =>
        [...map.subarray((h * 256 + t) * 256, (h * 256 + t) * 256 + run.ids.length)]))); })()"""
    found = torch.tensor(engine(weights, program, SHORT), dtype=torch.float64)
    taps = tool.record(model, torch.tensor([SHORT]))
    names = [f"blocks.{layer}.attention.weights" for layer in range(4)]
    own = torch.stack([taps[name][0] for name in names])
    torch.testing.assert_close(found, own, rtol=0, atol=LIMIT)


# --- grids: one part changed at a time ------------------------------------------------------

THOU, THEY = list(b"I know that thou ar"), list(b"I know that they ar")
LONG = THOU + THEY  # more than is read between two pauses
ABLATED = """[...engine.ablations(m, input)].filter(Boolean).map(
  (cell) => ({ ...cell, logits: [...cell.logits] }))"""
PATCHED = """[...engine.patchings(m, read(input[0]), read(input[1]))].filter(Boolean).map(
  (cell) => ({ ...cell, logits: [...cell.logits] }))"""


def ablated(weights, ids, file=ENGINE):
    """The engine's grid (L, H, V), whatever the order of its cells."""
    grid = torch.full((4, 4, 256), torch.nan, dtype=torch.float64)
    for cell in engine(weights, ABLATED, ids, file):
        grid[cell["layer"], cell["head"]] = torch.tensor(cell["logits"], dtype=torch.float64)
    return grid


def each_head_off(model, ids):
    """The package's: one row of a batch for each head that is gone."""
    gone = torch.eye(16, dtype=torch.bool).view(16, 4, 4)
    rows = torch.tensor([ids]).expand(16, -1)
    return without_heads(model, rows, gone)[:, -1].view(4, 4, -1)


def patched(weights, clean, corrupt, file=ENGINE):
    """The engine's grid (L + 1, T) of the logit of "t" less that of "e"."""
    cells = engine(weights, PATCHED, [clean, corrupt], file)
    logits = engine(weights, "logits({ ids: input })", corrupt)[-1]
    whole = torch.full((5, len(clean)), logits[116] - logits[101], dtype=torch.float64)
    for cell in cells:
        whole[cell["layer"], cell["at"]] = cell["logits"][116] - cell["logits"][101]
    return whole, len(cells)


def each_vector_swapped(model, clean, corrupt):
    """The package's: the stream before each block, and behind the last."""
    pair = torch.tensor([clean]), torch.tensor([corrupt])

    def metric(z):
        return z[:, -1, 116] - z[:, -1, 101]

    before = activation_patching(model, *pair, metric, "resid_pre")
    return torch.cat([before, activation_patching(model, *pair, metric, "resid_post", [3])])


@needs_node
def test_ablations_are_the_package_without_each_head(model, weights):
    own = each_head_off(model, THOU)
    torch.testing.assert_close(ablated(weights, THOU), own, rtol=0, atol=LIMIT)
    pauses = engine(weights, "[...engine.ablations(m, input)].filter((x) => !x).length", LONG)
    assert pauses == 16 * 2  # after 16 and 32 of 38 bytes
    intact = torch.tensor(engine(weights, "logits({ ids: input })", THOU)[-1])
    assert float((own - intact).abs().amax(-1).min()) > 0.01  # each head does something


@needs_node
@pytest.mark.parametrize(
    ("clean", "corrupt", "cells"),
    [(THOU, THEY, 25), (SHORT, OTHER, 30), ([*b"They", *THOU], [*b"Thou", *THOU], 105)],
)
def test_patchings_are_the_activation_patching_of_the_package(
    model, weights, clean, corrupt, cells
):
    found, computed = patched(weights, clean, corrupt)
    own = each_vector_swapped(model, clean, corrupt)
    torch.testing.assert_close(found, own, rtol=0, atol=LIMIT)
    assert computed == cells  # five for each position from the first that differs


USED = """(() => {
  const run = engine.newRun(m), first = engine.ablations(m, input[0], run);
  for (let i = 0; i < 5; i++) first.next(); // and no more
  const cells = [...engine.ablations(m, input[1], run)];
  return cells.map((cell) => ({ ...cell, logits: [...cell.logits] }));
})()"""


@needs_node
def test_a_grid_that_was_left_leaves_nothing_in_the_next(weights):
    found = engine(weights, USED, [THEY, SHORT])
    assert found == engine(weights, ABLATED, SHORT)


@needs_node
def test_two_runs_that_are_the_same_have_nothing_to_patch(weights):
    assert engine(weights, PATCHED, [THOU, THOU]) == []


GRID_FAULTS = {
    "head stays off": ("run.off[layer][head] = false;", ""),
    "old cache": ("run.ids.length = 0;", ""),
    "cache of the patch before": ("at = last; first >= 0 && at >= first; at--",
                                  "at = first; first >= 0 && at <= last; at++"),
    "one layer on": ("patchFrom(m, clean, layer, at)",
                     "({ ...patchFrom(m, clean, layer, at), layer: layer - 1 })"),
    "wrong run": ("patchFrom(m, clean, layer, at)", "patchFrom(m, corrupt, layer, at)"),
    "one position short": ("at >= first; at--", "at > first; at--"),
}  # fmt: skip


@needs_node
@pytest.mark.parametrize("name", GRID_FAULTS)
def test_a_planted_fault_of_a_grid_is_seen(model, weights, tmp_path, name):
    file = faulty(tmp_path, [GRID_FAULTS[name]])
    heads = ablated(weights, THOU, file) - each_head_off(model, THOU)
    places = patched(weights, THOU, THEY, file)[0] - each_vector_swapped(model, THOU, THEY)
    assert not max(float(heads.abs().max()), float(places.abs().max())) <= LIMIT


# --- texts ----------------------------------------------------------------------------------


def written(weights, case):
    program = """(() => { const run = read(input.ids), uniform = engine.random(input.seed);
      return Array.from({ length: input.n }, () => engine.write(m, run, { ...input, uniform }));
    })()"""
    return engine(weights, program, case)


@needs_node
@pytest.mark.parametrize(
    ("temperature", "top_p", "seed"), [(0, 1, 0), (1, 1, 1), (0.7, 0.9, 2**32 - 1), (2, 0.5, 7)]
)
def test_both_write_the_same_bytes(model, weights, temperature, top_p, seed):
    case = {"ids": SHORT, "n": 24, "temperature": temperature, "topP": top_p, "seed": seed}
    assert written(weights, case) == tool.written(model, SHORT, 24, temperature, top_p, seed)


@needs_node
def test_both_draw_the_same_numbers():
    program = "const e = require(process.argv[1]); const u = e.random(Number(process.argv[2]));"
    for seed in (0, 1, 123456789, 2**32 - 1):
        shown = f"{program} console.log(JSON.stringify(Array.from({{length: 200}}, u)));"
        numbers = tool.uniform(seed)
        assert node(shown, ENGINE, seed) == [next(numbers) for _ in range(200)]


def test_the_numbers_are_spread_evenly():
    numbers = tool.uniform(5)
    drawn = torch.tensor([next(numbers) for _ in range(10_000)])
    counts = torch.histc(drawn, 10, 0, 1)
    assert float(((counts - 1000) ** 2 / 1000).sum()) < 27.9  # chi-square, 9 degrees, 0.1 %
    assert 0 <= float(drawn.min()) < float(drawn.max()) < 1


@needs_node
def test_what_the_page_is_compared_with_is_what_the_engine_computes(model, weights):
    """The comparison that a reader runs, on a record of three cases and a short text."""
    text = {"ids": SHORT, "n": 8, "temperature": 0.8, "topP": 0.9, "seed": 19}
    own = tool.written(model, SHORT, 8, 0.8, 0.9, 19)
    cases = [CASES[name] for name in ("patched", "heads off", "weights changed")]
    check = {
        "cases": [tool.recorded(model, case) for case in cases],
        "texts": [{**text, "written": own}, {**text, "written": [*own[:-1], own[-1] ^ 1]}],
    }
    found = checked(weights, check)
    assert found["deviation"] <= LIMIT
    assert (found["compared"], found["cases"]) == (9 * 256, 3)
    assert (found["equal"], found["texts"]) == (1, 2)


def checked(weights, check, file=ENGINE):
    """What the comparison that a reader runs finds."""
    program = f"""(() => {{ const {{ serve }} = require({json.dumps(str(PANEL))}), out = [];
      const take = serve(engine, (message) => out.push(message));
      take({{ kind: "load", weights: globalThis.mathlmLive.weights }});
      take({{ kind: "check", check: input }});
      return out[1]; }})()"""
    return engine(weights, program, check, file)


# --- bytes, signs and the link --------------------------------------------------------------


def panel(program, given=None):
    start = "const live = require(process.argv[1]);"
    shown = (
        f"const input = JSON.parse(process.argv[2]); console.log(JSON.stringify({program}));"
    )
    return node(start + shown, PANEL, json.dumps(given))


@needs_node
def test_any_bytes_survive_the_text_box():
    every = [*range(256), *"é€😀".encode(), 0xE2, 0x82, 10, *rb"\x41", 0xEF, 0xBB, 0xBF, 13, 10]
    assert panel("live.toBytes(live.toText(input))", every) == every
    assert panel("live.toText(input)", [*"é\n".encode(), 0xC3, 0]) == "é\n\\xc3\\x00"


STATE = {
    "prompt": [*range(256)],
    "written": 120,
    "seed": 2**32 - 1,
    "temperature": 1.35,
    "topP": 0.05,
    "off": [[layer, head] for layer in range(4) for head in range(4)],
    "positions": False,
    "layer": 3,
    "head": 2,
    "at": 17,
    "temperature2": 0.2,
    "topP2": 0.6,
    "byte": 0,
    "byte2": 255,
    "other": [*range(20)],
    "depth": 4,
    "edits": [f"{layer}gate-r255c127-s-0.12345{k}" for layer in range(4) for k in range(4)],
    "view": "patching",
}


@needs_node
def test_a_link_holds_the_whole_state_in_1500_characters():
    link, back = panel("[live.toLink(input), live.fromLink(live.toLink(input))]", STATE)
    assert back == STATE
    assert len(link) <= 1500
    assert re.fullmatch(r"#live:[\w%=&.-]+", link)  # no program breaks it in two


@needs_node
def test_the_start_has_the_shortest_link_and_comes_back():
    assert panel("live.toLink({ ...live.START })") == "#live:"
    assert panel("[live.fromLink('#live:'), live.START]")[0] == panel("live.START")
    assert panel("live.fromLink('#the-map')") is None


@needs_node
def test_a_link_with_nonsense_is_as_the_start():
    link = "#live:s=-1&t=nan&k=7&h=9-9&x=4-0_1&w=1e9&i=x&r=2"
    assert panel("live.fromLink(input)", link) == panel("live.START")


@needs_node
def test_the_picture_and_the_panel_start_with_the_same_text():
    start = panel("live.START")
    assert start["prompt"] == live_picture.PROMPT
    assert (start["layer"], start["head"]) == (live_picture.LAYER, live_picture.HEAD)


def test_the_picture_says_in_words_what_it_shows(model):
    html = live_picture.still(model)
    (words,) = re.findall(r'role="img" aria-label="([^"]+)"', html)
    assert "JULIET: O Romeo, Romeo!" in words
    assert html.count("<b>") == len(live_picture.PROMPT)
    likeliest = int(model(torch.tensor([live_picture.PROMPT]))[0, -1].argmax())
    assert live_picture.spoken(likeliest) in words


# --- views in chapters ----------------------------------------------------------------------

# What is sent to the worker and what it answers; each message is sent when the one before has
# been answered whole, or after so many answers.
SERVED = """
const { serve } = require(process.argv[3]), out = [];
let message = 0, until = 0;
const send = () => {
  if (message === input.length) return console.log(JSON.stringify(out, (_, value) =>
    value instanceof Float64Array ? [...value] : value));
  until = input[message].answers ?? Infinity;
  out.push({ kind: "sent", turn: input[message].turn });
  if (until === 0) setTimeout(send, 200); // it is not answered
  take(input[message++]);
};
const take = serve(engine, (answer) => {
  out.push(answer);
  if (answer.done || answer.kind === "ready" || --until === 0) setTimeout(send, 200);
});
take({ kind: "load", weights: globalThis.mathlmLive.weights });
"""


def served(weights, *messages):
    program = f"{RUN}\n{SERVED}"
    return node(program, ENGINE, weights, PANEL, stdin=json.dumps(messages))[1:]


@needs_node
def test_two_texts_from_one_seed_are_those_of_the_package(model, weights):
    settings = [(1, 1), (0.7, 0.9)]
    keys = [{"temperature": t, "topP": k} for t, k in settings]
    message = {"kind": "pair", "ids": SHORT, "n": 40, "seed": 3, "settings": keys, "turn": 7}
    found = served(weights, message)
    assert [answer["done"] for answer in found[1:]] == [False] * (len(found) - 2) + [True]
    own = [tool.written(model, SHORT, 40, t, k, 3) for t, k in settings]
    assert found[-1]["texts"] == own
    drawn_from = torch.tensor(found[-1]["logits"][1], dtype=torch.float64).view(40, 256)
    expected = tool.logits(model, {"ids": [*SHORT, *own[1][:-1]]})[len(SHORT) - 1 :]
    torch.testing.assert_close(drawn_from, expected, rtol=0, atol=LIMIT)


@needs_node
def test_grids_come_cell_by_cell_and_end_when_they_are_cancelled(weights):
    long = {
        "kind": "patch",
        "ids": [65, *SHORT[1:], *THOU],
        "other": [*SHORT, *THOU],
        "turn": 1,
    }
    next_work = {"kind": "ablate", "ids": SHORT, "turn": 2}
    found = served(weights, {**long, "answers": 2}, {"kind": "cancel", "answers": 0}, next_work)
    sent = [i for i, answer in enumerate(found) if answer["kind"] == "sent"]
    assert [answer["kind"] for answer in found[:3]] == ["sent", "ends", "cells"]
    assert sent[2] == sent[1] + 1  # the work ended at once
    cells = [cell for answer in found[sent[2] :] for cell in answer.get("cells", ())]
    assert [(c["layer"], c["head"]) for c in cells] == [divmod(i, 4) for i in range(16)]


def test_each_view_has_its_place_in_its_page_and_a_sentence_for_jupyter():
    assert set(live_views.VIEWS) == set(staged.VIEWS)
    found = {}
    for path in (tool.ROOT / "book").glob("*.ipynb"):
        cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
        texts = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown"]
        for text in texts:
            for name in re.findall(r'data-live="([\w-]+)"', text):
                assert re.search(r"<p>[A-Z].{40,}</p>", text, re.DOTALL)
                assert "\n\n" not in text.strip()  # one block of HTML, in a cell of its own
                found[name] = path.stem
    assert found == {name: view.page for name, view in live_views.VIEWS.items()}


@needs_node
@pytest.mark.parametrize("name", live_views.VIEWS)
def test_a_view_starts_from_what_its_picture_shows(name):
    state = live_views.VIEWS[name].state
    found = panel("live.fromLink(input)", f"#live:{live_views.link(state)}")
    assert {key: found[key] for key in state} == state
    others = {key: value for key, value in found.items() if key not in state}
    assert others.items() <= {**panel("live.START"), "view": ""}.items()


def test_the_strips_of_a_draw_have_the_bytes_that_top_p_keeps(model):
    p = model(torch.tensor([SHORT]))[0, -1].softmax(-1)
    q = live_views.kept(p, 0.9)
    assert torch.equal(q > 0, keep_top_p(p, 0.9))
    widths = re.findall(r"width:([\d.]+)%", live_views.pieces(q))
    assert abs(sum(map(float, widths)) - 100) < 0.01 * len(widths)


def test_the_pictures_of_views_say_in_words_what_they_show(model):
    tools = live_views.Tools(
        model, tool.logits, tool.written, tool.uniform, tool.without_positions
    )
    words = {}
    for name, html in live_views.pictures(tools).items():
        (words[name],) = re.findall(r'role="img" aria-label="([^"]+)"', html)
        assert html.count("<section") == html.count("</section>") == 1
    off = tool.logits(model, {"ids": THOU, "off": [[2, 1]]})[-1].softmax(-1)
    assert (
        f"{100 * float(off[ord('t')]):.0f}\u00a0%, without head 2.1"
        in words["still-ablation.html"]
    )
    assert "at position 15, with 0.92" in words["still-patching.html"]
    assert float(each_vector_swapped(model, THOU, THEY)[0, 15]) > 0  # that of the next test


# --- what chapters say of it ----------------------------------------------------------------

LINES = tuple(
    text.encode()
    for text in (
        "KING RICHARD II:\nWhat must the king do now? must he submit?\nThe king shall do it: "
        "must he be deposed?\nThe king shall be contented.",
        "JULIET:\nO Romeo, Romeo! wherefore art thou Romeo?\nDeny thy father and refuse thy "
        "name;\nOr, if thou wilt not, be but sworn my love,\n",
        "HAMLET:\nTo be, or not to be: that is the question:\nWhether 'tis nobler in the mind "
        "to suffer\nThe slings and arrows of outrageous fortune,\n",
        "The moon is the only natural satellite of the earth, and it orbits at a distance of "
        "about thirty times its diameter.",
    )
)


def says(page, *parts):
    """Whether a page has these words, in this order, in one of its cells."""
    path = tool.ROOT / "book" / f"{page}.ipynb"
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    pattern = re.compile(".*?".join(map(re.escape, parts)), re.DOTALL)
    return any(pattern.search("".join(cell["source"])) for cell in cells)


def after(model, ids, **switches):
    """Probabilities of the byte after a text."""
    return tool.logits(model, {"ids": list(ids), **switches})[-1].softmax(-1)


def percent(p):
    return f"{100 * float(p):.0f} %" if p > 0.0995 else f"{100 * float(p):.1f} %"


def attention(model, ids, layer):
    taps = tool.record(model, torch.tensor([list(ids)]))
    return taps[f"blocks.{layer}.attention.weights"][0]


def test_what_is_said_of_its_heads(model):
    u, y = (attention(model, ids, 2)[1, -1, 15] for ids in (THOU, THEY))
    t, e = after(model, THOU)[ord("t")], after(model, THEY)[ord("e")]
    parts = (f"gives {percent(u)} of its", f"*t* with {percent(t)}", f"gives {percent(y)} to")
    assert says("11-self-attention", *parts, "more than 99 %")
    assert e > 0.99
    for text in LINES:
        assert len(text) > 100
        maps = torch.stack([attention(model, text, layer) for layer in range(4)])
        assert maps[0, 1].diagonal(-1).mean() > 0.5
        assert maps[:, :, 8:, 0].mean(-1).max() < 0.06
    never = list(b"I know that thou never ar")
    assert attention(model, never, 2)[1, -1].argmax() == 15  # it finds the subject still
    assert after(model, never).argmax() == ord("e")


def test_what_is_said_of_two_heads_that_are_off(model):
    def t(*off):
        return after(model, THOU, off=off)[ord("t")]

    def nats(*off):
        return f"{float((t() / t(*off)).log()):.2f}"

    one, two, both = ([0, 1],), ([0, 2],), ([0, 1], [0, 2])
    parts = (percent(t()), percent(t(*two)), percent(t(*one)), percent(t(*both)))
    assert says("13-multi-head-attention", "After *I know", *parts, nats(*two), nats(*one))
    assert says("13-multi-head-attention", f"and {float(nats(*both)):.1f} nats together")
    assert after(model, THOU, off=both).argmax() == ord("e")
    for text in LINES:
        near = sum(attention(model, text, 0).diagonal(-k, 1, 2).sum(-1) for k in range(3))
        assert float(near[1:3].min()) / len(text) > 0.8
    assert t([1, 3], [2, 1]) / t() < 0.5 * (t([1, 3]) / t()) * (t([2, 1]) / t())
    assert t([1, 0], [2, 1]) > t([2, 1]) * t([1, 0]) / t()  # and a pair that does less


def test_what_is_said_of_its_positions(model):
    def bits(**switches):
        logp = tool.logits(model, {"ids": live_views.ROMEO, **switches}).log_softmax(-1)
        taken = logp[range(45), live_views.ROMEO[1:]]
        return f"{float(-taken.mean()) / math.log(2):.2f}"

    assert len(live_views.ROMEO) == 46
    assert says("14-positional-encoding", f"from {bits()} to {bits(positions=False)} bits")
    with tool.without_positions(model, True):
        row = attention(model, live_views.ROMEO, 0)[1, -1]
        level = attention(model, [97] * 20, 0)
    spaces = row[[i for i, byte in enumerate(live_views.ROMEO) if byte == 32]]
    assert len(spaces) == 6
    assert float(spaces.max() - spaces.min()) < 1e-12
    assert says("14-positional-encoding", f"the same {percent(spaces[0])}")
    torch.testing.assert_close(level[:, -1], torch.full((4, 20), 0.05, dtype=torch.float64))
    with_positions, without = (
        tool.logits(model, {"ids": [97] * 20, "positions": on}) for on in (True, False)
    )
    assert float((with_positions - without[:1]).abs().max()) < 1e-9


def test_what_is_said_of_models_trained_without_positions():
    path = tool.ROOT / "book" / "results" / "position-study.json"
    means = {
        name: float(rows.mean(0)[0])
        for name, rows in octaves(json.loads(path.read_text(encoding="utf-8"))).items()
    }
    parts = f"{means['none']:.2f} bits per byte without", f"{means['rope']:.2f} with rotary"
    assert says("14-positional-encoding", *parts)
    assert abs(means["none"] - means["rope"] - 0.75) < 0.03
    counts = torch.bincount(torch.tensor([*corpus.load("shakespeare").encode()]))
    p = counts[counts > 0] / counts.sum()
    assert says(
        "14-positional-encoding", f"has {float(-(p * p.log2()).sum()):.2f} on the plays"
    )


def test_what_is_said_of_two_texts_from_one_seed(model):
    state = live_views.VIEWS["sampling"].state
    ids, seed = state["prompt"], state["seed"]
    one, two = (tool.written(model, ids, 12, 1, k, seed) for k in (1, state["topP2"]))
    numbers = tool.uniform(seed)
    u = [next(numbers) for _ in range(12)][-1]
    p = after(model, [*ids, *one[:11]])
    q = live_views.kept(p, state["topP2"])
    low, high = float(p[: one[11]].sum()), float(p[: one[11] + 1].sum())
    assert one[:11] == two[:11] == list(b"So never do")
    assert bytes([one[11], two[11]]) == b"? "
    assert q[one[11]] == 0
    parts = f"number is {u:.3f}", f"from {low:.3f} to {high:.3f}"
    assert says("20-generation", *parts, f"from 0 to {float(q[:33].sum()):.3f}")
    assert float(q[:32].sum()) == 0


@needs_node
def test_what_is_said_of_the_seeds_from_one_to_eight(weights):
    program = """[1, 2, 3, 4, 5, 6, 7, 8].map((seed) => [1, 0.9].map((temperature) => {
      const run = read(input), uniform = engine.random(seed);
      return Array.from({ length: 30 }, () =>
        engine.write(m, run, { temperature, topP: 1, uniform })); }))"""
    ids = live_views.VIEWS["sampling"].state["prompt"]
    pairs = engine(weights, program, ids)
    parted = [1 + [a == b for a, b in zip(*pair, strict=True)].index(False) for pair in pairs]
    assert (min(parted), max(parted)) == (1, 24)
    assert says("20-generation", "Between the first and the twenty-fourth")


def test_what_is_said_of_the_agreement(model):
    def t(head):
        return after(model, THOU, off=[head])[ord("t")]

    page = "25-interpretability"
    parts = (percent(t([2, 1])), percent(t([0, 1])), percent(t([1, 3])))
    assert says(page, f"gives *t* {percent(after(model, THOU)[ord('t')])}", *parts)
    heads = [[layer, head] for layer in range(4) for head in range(4)]
    assert sorted(heads, key=t)[:3] == [[2, 1], [0, 1], [1, 3]]
    shares, ends = agreement(model, THOU, THEY)
    assert says(page, f"{shares[0, 14]:.2f} of it at the first", f"{shares[0, 15]:.2f} at the")
    assert says(page, f"still holds {shares[2, 15]:.2f}", f"{shares[3, 15]:.2f}, and the last")
    assert says(page, f"the last byte has {shares[3, 18]:.2f}; after")
    never = agreement(model, b"I know that thou never ar", b"I know that they never ar")
    parts = f"by {never[1][0] - never[1][1]:.1f} nats", f"by {ends[0] - ends[1]:.1f}."
    assert says(page, *parts)
    assert never[0][3, -1] > 0.8


def agreement(model, clean, corrupt):
    """Shares (L + 1, T) of the difference, and the logit of "t" less "e" at both ends."""
    pair = [list(ids) for ids in (clean, corrupt)]
    rows = [tool.logits(model, {"ids": ids})[-1] for ids in pair]
    ends = [float(row[ord("t")] - row[ord("e")]) for row in rows]
    grid = each_vector_swapped(model, *pair)
    return (grid - ends[1]) / (ends[0] - ends[1]), ends


def test_the_links_of_the_panel_lead_to_pages():
    text = PANEL.read_text(encoding="utf-8")
    pages = set(re.findall(r'chapter\("([\w-]+)"', text))
    assert len(pages) > 6
    assert [page for page in pages if not (tool.ROOT / "book" / f"{page}.ipynb").exists()] == []


# --- in a browser, from files, without a network --------------------------------------------

# Starts by its link and presses "Check this page". The page counts as loading, and so is not
# printed, while one script after another is put into it.
WAIT = """
<script>
const root = document.querySelector("[data-live]"), last = Date.now() + 120000;
const wait = () => {
  if (root.querySelector(".live-panel .here") && !root.dataset.asked) { // it has written
    root.dataset.asked = "yes";
    root.querySelector("[data-name=check]").click();
  }
  if (root.dataset.checked || Date.now() > last) return;
  const next = document.createElement("script");
  next.src = "wait.js";
  next.onload = () => { next.remove(); wait(); };
  document.head.append(next);
};
wait();
</script>
"""


@pytest.fixture
def site(tmp_path, monkeypatch, weights):
    """A page with the live model, and its files where they are in the book."""
    live, page = tmp_path / "_static" / "live", tmp_path / "book" / "index.html"
    shutil.copytree(LIVE, live)
    shutil.copy(weights, live)
    model = tool.quantized()[0]
    monkeypatch.setattr(tool, "TEXTS", ({**tool.TEXTS[1], "n": 9},))
    (live / "check.js").write_text(tool.script("check", tool.records(model)), encoding="utf-8")
    page.parent.mkdir()
    (page.parent / "wait.js").write_text("0;")
    body = f"<!doctype html><meta charset=utf-8><body>{live_picture.still(model)}{WAIT}"
    page.write_text(body, encoding="utf-8")
    return page


def opened(page, link, folder):
    """What a browser makes of a page."""
    options = ["--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={folder}"]
    done = subprocess.run(
        [BROWSER, *options, "--dump-dom", page.as_uri() + link],
        capture_output=True, timeout=240, check=True,
    )  # fmt: skip
    return done.stdout.decode()


@pytest.mark.slow
@pytest.mark.skipif(BROWSER is None, reason="chromium is not installed")
def test_in_a_browser_the_page_checks_itself_and_writes_what_the_link_says(site, tmp_path):
    html = opened(site, "#live:p=To%20be&w=9&x=0-1&s=3", tmp_path / "profile")
    (root,) = re.findall(r"<section[^>]*>", html)
    assert 'data-checked="good"' in root
    assert float(re.search(r'data-deviation="([^"]+)"', root)[1]) <= LIMIT
    assert len(re.search(r"<span>To be</span><b>([^<]+)</b>", html)[1]) == 9
    faulty = site.parents[1] / "_static" / "live" / "engine.js"
    faulty.write_text(faulty.read_text("utf-8").replace("Math.fround(", "Number("), "utf-8")
    assert 'data-checked="bad"' in opened(site, "#live:", tmp_path / "profile")


GRID = """
<script>
const last = Date.now() + 120000;
const wait = () => {
  if (document.querySelector("[data-done='25']") || Date.now() > last) return;
  const next = document.createElement("script");
  next.src = "wait.js";
  next.onload = () => { next.remove(); wait(); };
  document.head.append(next);
};
wait();
</script>
"""


@pytest.mark.slow
@pytest.mark.skipif(BROWSER is None, reason="chromium is not installed")
def test_in_a_browser_a_link_opens_its_view_and_no_other(site, tmp_path, model):
    tools = live_views.Tools(
        model, tool.logits, tool.written, tool.uniform, tool.without_positions
    )
    views = [
        live_views.picture(tools, live_views.VIEWS[name]) for name in ("ablation", "patching")
    ]
    page = site.with_name("chapter.html")
    page.write_text(f"<!doctype html><meta charset=utf-8><body>{''.join(views)}{GRID}", "utf-8")
    link = "#live:v=patching&p=I%20know%20that%20thou%20ar&o=I%20know%20that%20they%20ar"
    html = opened(page, link, tmp_path / "profile")
    assert html.count("live-panel") == 1  # and the file that both name ran once
    table = re.search(r'<table class="live-grid" data-name="grid".*?</table>', html, re.DOTALL)[
        0
    ]
    shown = [float(x.replace("−", "-")) for x in re.findall(r">(−?\d\.\d\d)</button>", table)]
    shares = agreement(model, THOU, THEY)[0][:, 14:]
    torch.testing.assert_close(torch.tensor(shown), shares.T.flatten(), rtol=0, atol=0.0051)


# --- sizes, and the files that make book writes -----------------------------------------------


def test_what_is_fetched_is_within_its_budget():
    def packed(data):
        return len(gzip.compress(data, mtime=0))

    assert packed(ENGINE.read_bytes()) <= 8_000
    assert packed((LIVE / "load.js").read_bytes()) <= 1_000
    assert packed(PANEL.read_bytes() + STYLE.read_bytes()) <= 17_000
    assert packed(EDITS.read_bytes()) <= 4_000
    assert packed(LATER.read_bytes()) <= 8_000
    assert packed(tool.script("weights", tool.quantized()[1]).encode()) <= 850_000


def test_the_staged_book_has_what_the_start_page_includes():
    index = (tool.ROOT / "book" / "index.md").read_text(encoding="utf-8")
    assert ":file: _static/live/still.html" in index
    assert "still.html" in staged.LIVE


def test_the_files_are_made_once_for_each_checkpoint(tmp_path, monkeypatch):
    calls = []
    monkeypatch.setattr(staged.subprocess, "run", lambda command, **_: calls.append(command))
    (tmp_path / "book" / "_static" / "live").mkdir(parents=True)
    kept = [staged.stage_model(tmp_path) for _ in range(2)]
    assert len(calls) == 1
    assert kept[0] == kept[1]
    assert {path.name for path in kept[0]} == {*staged.LIVE, "made-from.txt"}
    monkeypatch.setattr(staged, "BOOK", tmp_path)
    assert staged.stage_model(tmp_path) == set()


@pytest.mark.slow
def test_the_command_writes_the_files(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(tool, "TEXTS", ({**tool.TEXTS[1], "n": 3},))
    assert tool.main([str(tmp_path)]) == 0
    assert {path.name for path in Path(tmp_path).iterdir()} == set(staged.LIVE)
    assert "weights.js" in capsys.readouterr().out
    assert tool.main([]) == 2
