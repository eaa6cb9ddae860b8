"""The text, the record and the pictures of the models that are trained in the page.

    python tools/train_picture.py    train in Node, write text and record, place the pictures

``book/_static/live/train-engine.js`` trains a small GPT in the reader's browser, on
``train-text.js`` beside it. Before the first use, and where scripts are off, a picture of a
recorded run stands there: the same engine trained in Node, from the start that the page
offers. The pictures are HTML in the colors of the page, drawn by ``train.js`` and written into
the Markdown cells of the pages.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from html import escape
from pathlib import Path
from typing import Any

from live_weights import ROOT, script

from mathlm.text import corpus

LIVE = ROOT / "book" / "_static" / "live"
ENGINE, TEXT, PANEL = (LIVE / name for name in ("train-engine.js", "train-text.js", "train.js"))
RECORD = ROOT / "book" / "results" / "training-in-the-page.json"

# --- the text -------------------------------------------------------------------------------

TRAINING = "Prologue:\nTwo households", "THESEUS:\nNow, fair", "BERNARDO:\nWho's there?"
HELD_OUT = "KENT:\nI thought the king"  # another play
LONGEST, LONGEST_HELD_OUT = 18_000, 4_097


def beginning(words: str, longest: int) -> str:
    """The beginning of the play that begins with these words."""
    (play,) = (p for p in corpus.documents("shakespeare") if p.startswith(words))
    return play[:longest]


def text() -> dict[str, str]:
    """What the page trains on, from three plays, and what it is judged on, from a fourth."""
    pieces = (beginning(words, LONGEST) for words in TRAINING)
    return {
        "training": "\n".join(pieces),
        "heldOut": beginning(HELD_OUT, LONGEST_HELD_OUT),
    }


# --- the record -----------------------------------------------------------------------------

RUN = """
const [engineFile, textFile, panelFile] = process.argv.slice(1);
const engine = require(engineFile), panel = require(panelFile);
require(textFile);
const print = (value) => console.log(JSON.stringify(value));
"""
TRAIN = """
const found = { losses: [], judged: [], samples: [] };
const take = panel.serve(engine, globalThis.mathlmLive.text, (message) => {
  if (message.kind === "ready") found.counted = message.counted;
  if (message.kind === "begun") found.parameters = message.parameters;
  if (message.kind === "step") found.losses.push([message.step, message.nats]);
  if (message.kind === "judged") found.judged.push([message.step, message.nats]);
  if (message.text !== undefined) found.samples.push([message.step, message.text]);
  if (message.kind === "gradients") found.gradients = message;
  if (message.kind === "paused") print(found);
});
take({ kind: "begin", size: "full", seed: 1 });
take({ kind: "gradients", words: panel.WORDS });
take({ kind: "judge" });
take({ kind: "run", rate: panel.RATE, until: panel.AHEAD });
"""
ENDS = """
const { training, heldOut } = globalThis.mathlmLive.text;
const characters = engine.alphabet(training);
const [read, other] = [training, heldOut].map((words) => engine.encode(words, characters));
print(panel.RATES.map((rate) => {
  const model = engine.start({ ...engine.SIZES.full, vocab: characters.length }, 1);
  while (model.step < panel.AHEAD) engine.trainStep(model, read, rate);
  return [rate, engine.evaluate(model, other)];
}));
"""
DRAW = """
const record = JSON.parse(require("fs").readFileSync(0, "utf8"));
const { counted, judged, losses, gradients: { arrays, layers } } = record;
print({
  training: panel.trainingChart({ runs: [{ label: "", losses, judged }], counted, width: 420 }),
  gradients: panel.gradientTable({ arrays, layers, buttons: false }),
});
"""


def node(program: str, given: object = None) -> Any:
    """What a program prints that has the engine, the text and the panel."""
    command = ["node", "-e", RUN + program, *map(str, (ENGINE, TEXT, PANEL))]
    done = subprocess.run(
        command, input=json.dumps(given), capture_output=True, text=True, check=True
    )
    return json.loads(done.stdout)


def rounded(value: Any) -> Any:
    """Numbers to six digits, so that a record made on another processor is the same."""
    if isinstance(value, float):
        return float(f"{value:.6g}")
    if isinstance(value, dict):
        return {name: rounded(part) for name, part in value.items()}
    return [rounded(part) for part in value] if isinstance(value, list) else value


# --- the pictures ---------------------------------------------------------------------------


def section(kind: str, label: str, button: str, note: str, picture: str) -> str:
    """A component with its picture; no empty line ends the HTML inside Markdown."""
    return (
        f'<section class="train tex2jax_ignore mathjax_ignore" data-train="{kind}" '
        f'aria-label="{label}">\n'
        '<link rel="stylesheet" href="../_static/live/train.css">\n'
        f'<p class="train-title">{label}</p>\n'
        '<div class="train-row train-before"><button type="button" '
        f'class="train-start train-main" hidden>{button}</button></div>\n'
        '<noscript><p class="train-note">With scripts on, it runs here.</p></noscript>\n'
        f'<div class="train-before">{picture}\n<p class="train-note">{note}</p></div>\n'
        '<script src="../_static/live/load.js" defer></script>\n'
        '<script src="../_static/live/train.js" defer></script>\n</section>'
    )


def samples(record: dict[str, Any]) -> str:
    """What the model of the record wrote at the start and later."""
    nats = dict(map(tuple, record["judged"]))
    rows = "".join(
        f"<tr><td>{step}</td><td>{nats[step]:.2f}</td>"
        f"<td>{escape(re.sub(chr(10) + '+', ' / ', text.strip()), quote=False)}</td></tr>"
        for step, text in record["samples"]
        if step in {0, 100, 300}
    )
    return (
        '<table class="train-samples"><thead><tr><th scope="col">step</th>'
        '<th scope="col">held out</th><th scope="col">text</th></tr></thead>'
        f"<tbody>{rows}</tbody></table>"
    )


def sections(record: dict[str, Any]) -> dict[str, str]:
    """The component of each page."""
    drawn = node(DRAW, record)
    step, nats = record["judged"][-1]
    gradients = record["gradients"]
    return {
        "19-pretraining": section(
            "training",
            "A language model to train in this page",
            "Open the trainer",
            f"A recorded run of the same program: {record['parameters']:,} parameters, {step} "
            f"steps, {nats:.2f} nats per character on held-out text (thick), the loss of each "
            "step on its own 512 characters (thin), and what counting reaches (dotted).",
            drawn["training"] + samples(record),
        ),
        "16-transformer-backward": section(
            "gradients",
            "The gradient of your text",
            "Open the gradients",
            f"Norm of the gradient in each array, for “{gradients['words']}” and a model of "
            f"{record['parameters']:,} parameters at its start, which pays "
            f"{gradients['loss']:.2f} nats per character.",
            drawn["gradients"],
        ),
    }


PLACE = re.compile(r'<section class="train .*?</section>', re.DOTALL)


def place(page: Path, html: str) -> None:
    """Put a component where the page has one."""
    nb = json.loads(page.read_text(encoding="utf-8"))
    for cell in nb["cells"]:
        source = "".join(cell["source"])
        if cell["cell_type"] == "markdown" and PLACE.search(source):
            cell["source"] = PLACE.sub(lambda _: html, source).splitlines(keepends=True)
    text = json.dumps(nb, indent=1, ensure_ascii=False)
    page.write_text(text + "\n", encoding="utf-8")


def main(argv: list[str]) -> int:
    """Write text and record, and place the pictures."""
    if argv:
        print(__doc__)
        return 2
    TEXT.write_text(script("text", text()), encoding="utf-8")
    record = rounded({**node(TRAIN), "ends": node(ENDS)})
    RECORD.write_text(json.dumps(record, ensure_ascii=False) + "\n", encoding="utf-8")
    for name, html in sections(record).items():
        place(ROOT / "book" / f"{name}.ipynb", html)
    print(f"{RECORD.name}: {record['judged'][-1][1]:.2f} nats per character")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
