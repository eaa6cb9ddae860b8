"""What each ingredient of pretraining is worth: one is changed at a time, the budget is fixed.

    cd book
    python -m lab.pretraining.ingredients --record ingredients.json

The small GPT of chapter 19 reads the same bytes of Shakespeare in every run. Two seeds, and a
third of the baseline, take 25 minutes on one core. Runs that the record holds are not redone.
"""

import argparse
import json
import logging
import math
import time
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from mathlm.errors import ConfigError
from mathlm.text import corpus
from mathlm.train.record import record_on_cpu

from .one_ingredient import held_out_bits, train
from .small_gpt import CONTEXT, SIZES, START, Ingredients

BINS = 22  # points of a curve, each the mean over as many tokens
CASES: dict[str, list[dict[str, Any]]] = {
    "baseline": [{}],
    "step size": [{"lr": lr} for lr in (5e-4, 1e-3, 2e-3, 8e-3, 1.6e-2, 3.2e-2)],
    "warm-up": [{"warmup": 0.0}, {"warmup": 0.3}, {"warmup": 0.0, "lr": 1.6e-2}],
    "clipping": [{"clip": None}, {"clip": 0.1}, {"clip": None, "lr": 1.6e-2}],
    "schedule": [{"schedule": "constant"}],
    "norm": [{"norm": "layer"}, {"norm": "none"}, {"norm": "none", "lr": 1e-3}],
    "start": [{"scaled": False}, {"std": 0.2}, {"std": 0.002}],
    "batch size": [
        {"batch_size": size, "lr": lr}
        for size, lrs in ((2, (2e-3, 4e-3)), (8, (4e-3, 8e-3)), (32, (4e-3, 8e-3, 1.6e-2)))
        for lr in lrs
    ],
    "optimizer": [{"optimizer": "sgd", "lr": lr} for lr in (0.1, 0.3, 1.0)]
    + [{"optimizer": "muon", "lr": lr} for lr in (4e-3, 8e-3)],
    "weight decay": [{"weight_decay": decay} for decay in (0.0, 1.0)],
    "dropout": [{"dropout": p} for p in (0.1, 0.2)],
}


def run(changes: dict[str, Any], seed: int, args: argparse.Namespace) -> dict[str, Any]:
    """Train one variant: its cost of held-out plays, its curve, and how it was clipped."""
    start, texts = time.process_time(), corpus.split("shakespeare")
    training, held_out = (np.frombuffer(text.encode(), np.uint8) for text in texts)
    ingredients = Ingredients(**changes)
    model, history = train(ingredients, training, args.tokens, seed)
    losses, norms = history.T
    ended = math.isfinite(losses[-1])
    bits = held_out_bits(model, held_out[: args.held_out]) if ended else None
    means = [part.mean() for part in np.array_split(losses / math.log(2), BINS) if len(part)]
    return {
        "seed": seed,
        "changes": changes,
        "held_out": bits,
        "curve": [round(float(x), 4) if math.isfinite(x) else None for x in means],
        "clipped": float(np.mean(norms > (ingredients.clip or math.inf))),
        "largest_norm": float(norms[np.isfinite(norms)].max(initial=0)),
        "cpu_seconds": round(time.process_time() - start, 1),
    }


def plan(seeds: int) -> list[tuple[str, dict[str, Any], int]]:
    """Ingredient, changes and seed of every run: the yardstick first, then seed by seed."""
    first: list[tuple[str, dict[str, Any], int]] = [
        ("baseline", {}, seed) for seed in range(seeds + 1)
    ]
    rest = [(name, c, seed) for seed in range(seeds) for name in CASES for c in CASES[name]]
    return first + [case for case in rest if case[0] != "baseline"]


def parse(argv: Sequence[str] | None = None) -> argparse.Namespace:
    """Options from the command line."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    add = parser.add_argument
    add("--record", type=Path, help="JSON file of the runs; those in it are kept")
    add("--tokens", type=int, default=350 * 4 * CONTEXT, help="bytes that every run reads")
    add("--held-out", type=int, default=60_000, help="held-out bytes that are scored")
    add("--seeds", type=int, default=2, help="seeds of each variant; the baseline has one more")
    return parser.parse_args(argv)


def main(argv: Sequence[str] | None = None) -> list[dict[str, Any]]:
    """Run every variant; returns, and may record, the results."""
    args, rows = parse(argv), list[dict[str, Any]]()
    config = {
        "tokens": args.tokens,
        "held_out": args.held_out,
        "baseline": asdict(Ingredients()),
    }
    config["model"] = SIZES | START
    if args.record and args.record.is_file():
        before = json.loads(args.record.read_text())
        if before["config"] != config:
            raise ConfigError(f"{args.record} holds another study: {before['config']}")
        rows = before["results"]
    for name, changes, seed in plan(args.seeds):
        if any((r["changes"], r["seed"]) == (changes, seed) for r in rows):
            continue
        rows.append({"ingredient": name} | run(changes, seed, args))
        logging.info("%s %s, seed %d: %s", name, changes, seed, rows[-1]["held_out"])
        record_on_cpu(args.record, config=config, results=rows)
    return rows


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    main()
