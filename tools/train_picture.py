"""The text, the record and the pictures of the models that are trained in the page.

    python tools/train_picture.py    run the engine in Node, write the record, place the pictures

``book/_static/live/train-engine.js`` trains a small GPT in the reader's browser, on
``train-text.js`` beside it. Before the first use, and where scripts are off, a picture of a
recorded run stands there: the same engine trained in Node, from the start that the page offers.
The pictures are written into the Markdown cells of the pages, as HTML in the colors of the page.
"""

from __future__ import annotations

import json
import math
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

from live_weights import ROOT, script

from mathlm.text import corpus

LIVE = ROOT / "book" / "_static" / "live"
ENGINE, TEXT = LIVE / "train-engine.js", LIVE / "train-text.js"
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
