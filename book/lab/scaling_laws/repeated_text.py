"""What a text is worth that is read again and again, against as much that is new.

    cd book
    python -m lab.scaling_laws.repeated_text --record repeated-text.json

One size, a constant rate, texts of several lengths; each run is read off after 1, 2, 4, 8, ...
epochs. A short text is pieces of all plays, so that it is as varied as a long one.
"""

import argparse
import logging
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from mathlm.train.record import record_on_cpu

from .scaling import SETTINGS
from .scaling_runs import HELD_OUT, STEP, held_out_loss, read_off, sizes, start, texts, windows

log = logging.getLogger(__name__)
WIDTH = 32
UNIQUE = (32, 64, 128, 256)  # steps that an epoch has
STEPS = 1024  # of a run


def run(unique: int | None, steps: int, width: int, seed: int = 0) -> list[dict[str, Any]]:
    """Train on a text of one length; one row for each reading.

    Args:
        unique: Steps in an epoch. None is text that is always new.
        steps: Of the whole run, at most.
        width: Of the model.
        seed: Of the weights and of the order.
    """
    size, first = sizes(width)["parameters"], unique or UNIQUE[0]
    text = texts()[0] if unique is None else pieces(texts()[0], unique)
    reads = [first * 2**k for k in range(20) if first * 2**k <= steps]
    lr, measure = SETTINGS["recorded"].lr(size), held_out_loss(HELD_OUT)
    found = read_off(start(width, seed), windows(text, seed), measure, reads, lr)
    fixed = {"parameters": size, "seed": seed, "lr": lr}
    return [fixed | row | counted(unique, row["tokens"]) for row in found]


def pieces(ids: np.ndarray, number: int) -> np.ndarray:
    """So many pieces of a text, evenly over its length, each as long as a step reads."""
    starts = np.linspace(0, len(ids) - STEP - 1, number).astype(int)
    return np.append(ids[starts[:, None] + np.arange(STEP)].ravel(), ids[starts[-1] + STEP])


def counted(unique: int | None, tokens: float | int) -> dict[str, Any]:
    """How many tokens were different ones, and how often each was read."""
    own = tokens if unique is None else unique * STEP
    return {"unique": own, "epochs": tokens / own}


def main(argv: Sequence[str] | None = None) -> list[dict[str, Any]]:
    """Train on texts of every length; returns, and may record, the readings."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--record", type=Path)
    parser.add_argument("--width", type=int, default=WIDTH)
    parser.add_argument("--steps", type=int, default=STEPS)
    parser.add_argument("--unique", type=int, nargs="+", default=UNIQUE)
    args, rows = parser.parse_args(argv), []
    for unique in (None, *args.unique):
        rows += run(unique, args.steps, args.width)
        log.info("%s steps an epoch: %.4f nats", unique, rows[-1]["loss"])
        record_on_cpu(args.record, config=vars(args), bytes_per_step=STEP, runs=rows)
    return rows


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO, format="%(message)s", stream=sys.stderr)
    main()
