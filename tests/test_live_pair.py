"""The model before and after tuning on preferences, in the page: against the package."""

import gzip
import json
import re
import shutil
import subprocess
from dataclasses import asdict
from html.parser import HTMLParser

import live_weights
import pair_picture as tool
import pytest
import torch

from lab.preference_optimization import exclamations
from mathlm.adapt import add_lora

needs_node = pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")
PROMPT = list(tool.PROMPT)
RUN = """
const [engineFile, weightsFile, adapterFile, panelFile] = process.argv.slice(1);
const engine = require(engineFile), { serve, addUpdate } = require(panelFile);
require(weightsFile);
require(adapterFile);
const { weights, adapter } = globalThis.mathlmLive;
const input = JSON.parse(require("fs").readFileSync(0, "utf8")), heard = [];
const print = (value) => console.log(JSON.stringify(value));
"""
LOGITS = """
const m = addUpdate(engine.model(weights), adapter), run = engine.newRun(m);
engine.read(m, run, input);
print(input.map((_, t) => [...engine.logitsAt(m, run, t)]));
"""
SERVED = """
serve(engine, addUpdate, weights, adapter, (message) => heard.push(message))(input);
process.once("beforeExit", () => print(heard));
"""


@pytest.fixture(scope="module")
def weights(tmp_path_factory):
    path = tmp_path_factory.mktemp("pair") / "weights.js"
    path.write_text(live_weights.script("weights", live_weights.quantized()[1]), "utf-8")
    return path


@pytest.fixture(scope="module")
def models():
    """The model of the page, and the same with the update as an adapter of the package."""
    base, other = (live_weights.quantized()[0] for _ in range(2))
    numbers, setting = tool.update(), exclamations.Setting()
    add_lora(other, setting.rank, alpha=setting.alpha, targets=exclamations.MAPS)
    other.double()
    data = torch.frombuffer(
        bytearray(tool.base64.b64decode(numbers["data"])), dtype=torch.float32
    )
    own = [p for p in other.parameters() if p.requires_grad]
    with torch.no_grad():
        for p, values in zip(own, data.split([p.numel() for p in own]), strict=True):
            p.copy_(values.view_as(p))
    return base, other.eval()


def node(program, weights, given, panel=tool.PANEL):
    files = tool.LIVE / "engine.js", weights, tool.ADAPTER, panel
    done = subprocess.run(
        ["node", "-e", RUN + program, *map(str, files)],
        input=json.dumps(given), capture_output=True, text=True, check=True,
    )  # fmt: skip
    return json.loads(done.stdout)


def deviation(models, weights, panel=tool.PANEL):
    found = torch.tensor(node(LOGITS, weights, PROMPT, panel), dtype=torch.float64)
    with torch.no_grad():
        return float((found - models[1](torch.tensor([PROMPT]))[0]).abs().max())


@needs_node
def test_the_update_is_the_adapter_of_the_package(models, weights):
    assert deviation(models, weights) <= 1e-9
    with torch.no_grad():
        base, other = (m(torch.tensor([PROMPT])) for m in models)
        merged = tool.tuned(models[0])(torch.tensor([PROMPT]))
    torch.testing.assert_close(merged, other, rtol=0, atol=1e-9)
    assert float((base - other).abs().max()) > 0.5


FAULTS = {
    "scale lost": ("+= scale * sum", "+= sum"),
    "A read by columns": ("A + k * ins + i", "A + i * rank + k"),
    "B read by columns": ("B + o * rank + k", "B + k * out + o"),
    "rank one": ("k < rank", "k < 1"),
}


@needs_node
@pytest.mark.parametrize("name", FAULTS)
def test_a_planted_fault_is_seen(models, weights, tmp_path, name):
    text, (old, new) = tool.PANEL.read_text(encoding="utf-8"), FAULTS[name]
    assert old in text
    (panel := tmp_path / "pair.js").write_text(text.replace(old, new), encoding="utf-8")
    assert not deviation(models, weights, panel) <= 1e-6


@needs_node
def test_both_write_what_the_package_writes_and_the_rewards_are_its_ratios(models, weights):
    given = {"kind": "write", "ids": PROMPT, "n": 40, "temperature": 0.8, "seed": 5}
    *_, wrote, judged = node(SERVED, weights, given)
    options = {"n": 40, "temperature": 0.8, "top_p": 1.0, "seed": 5}
    assert wrote["texts"] == [live_weights.written(m, PROMPT, **options) for m in models]
    for text, reward in zip(wrote["texts"], judged["rewards"], strict=True):
        ids = torch.tensor([PROMPT + text])
        with torch.no_grad():
            logp = [exclamations.log_probability(m, ids, len(PROMPT)) for m in models]
        assert reward == pytest.approx(0.1 * float(logp[1] - logp[0]), rel=1e-9)


@needs_node
def test_texts_are_counted_over_the_seeds_that_follow(models, weights):
    given = {"kind": "survey", "ids": PROMPT, "n": 30, "temperature": 1, "seed": 8, "texts": 2}
    last = node(SERVED, weights, given)[-1]
    options = {"n": 30, "temperature": 1.0, "top_p": 1.0}
    wanted = [
        [live_weights.written(m, PROMPT, seed=seed, **options).count(33) for m in models]
        for seed in (8, 9)
    ]
    assert last == {"kind": "counted", "counts": wanted, "done": True}


# --- the record and the picture -------------------------------------------------------------


def test_what_the_page_says_of_the_record():
    record = json.loads(tool.RECORD.read_text(encoding="utf-8"))
    assert record["config"] == asdict(exclamations.Setting())
    rows = record["results"]
    assert [row["seed"] for row in rows] == [0, 1, 2]
    assert all(row["marks_after"] > 3 * row["marks_before"] for row in rows)
    assert all(row["bits_after"] > row["bits_before"] for row in rows)
    nb = json.loads(tool.PAGE.read_text(encoding="utf-8"))
    (cell,) = (s for c in nb["cells"] if "data-pair" in (s := "".join(c["source"])))
    for name in ("marks_before", "marks_after", "kl", "bits_before", "bits_after"):
        values = [row[name] for row in rows]
        low, high = f"{min(values):.2f}", f"{max(values):.2f}"
        assert (f"{low} and {high}" if low != high else low) in cell


def cell_of(page):
    """The text of the cell that holds the pair."""
    cells = json.loads(page.read_text(encoding="utf-8"))["cells"]
    (text,) = (s for c in cells if "data-pair" in (s := "".join(c["source"])))
    return text


PLACES = [(tool.PAGE, tool.PROMPT), (tool.STACK, tool.SPEAKER)]


@pytest.mark.parametrize(("page", "prompt"), PLACES, ids=["24", "27"])
def test_the_texts_are_those_that_both_models_write(models, page, prompt):
    record = json.loads(tool.TEXTS.read_text(encoding="utf-8"))
    record = record if page == tool.PAGE else record["speaker"]
    texts, means = record["texts"], record["means"]
    options = {"n": 30, "temperature": tool.TEMPERATURE, "top_p": 1.0, "seed": tool.SEED}
    assert [t[:30] for t in texts] == [
        live_weights.written(m, list(prompt), **options) for m in models
    ]
    cell = cell_of(page)
    html = re.search(r"<section.*</section>", cell, re.DOTALL)[0]
    assert html == tool.section(texts, prompt)
    for before, after in means.values():  # of empty lines, questions and marks
        assert after > before
        assert f" {after:g} " in cell
        assert re.search(rf" {before:g}\b", cell)
    assert "\n\n" not in html


def test_the_first_prompt_of_a_page_survives_its_html():
    start = HTMLParser()
    found = {}
    start.handle_starttag = lambda tag, pairs: tag == "section" and found.update(pairs)
    start.feed(tool.section([[65], [66]], b'A & "B":\n<C>\n'))
    assert found["data-prompt"] == 'A & "B":\n<C>\n'
    assert "data-prompt" not in tool.section([[65], [66]])


def test_signs_are_counted_per_text():
    both = [[list(b"a!?"), list(b"!!\n\n?")], [list(b"ab"), list(b"c\n\nd\n\n")]]
    wanted = {"marks": [0.5, 1.0], "questions": [0.5, 0.5], "speeches": [0.0, 1.5]}
    assert tool.counts(both) == wanted


@needs_node
def test_the_panel_starts_where_the_picture_stands():
    program = f"console.log(JSON.stringify(require({json.dumps(str(tool.PANEL))}).START))"
    start = json.loads(subprocess.check_output(["node", "-e", program]))
    wanted = {
        "prompt": tool.PROMPT.decode(),
        "temperature": tool.TEMPERATURE,
        "seed": tool.SEED,
    }
    assert start == wanted


def test_the_update_is_small():
    assert len(gzip.compress(tool.ADAPTER.read_bytes(), mtime=0)) <= 64_000
    assert len(gzip.compress(tool.PANEL.read_bytes(), mtime=0)) <= 6_000
