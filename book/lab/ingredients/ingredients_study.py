"""What each ingredient of pretraining is worth: each arm has a step size of its own.

    cd book
    python -m lab.ingredients.ingredients_study --record ingredients.json

The small GPT of chapter 19 reads as many bytes of Shakespeare in every run; a seed says which.
An arm changes one ingredient. It is trained with one seed at three step sizes or more, until
the best lies between two others, and with two more seeds at the best and at the better of its
neighbors. The 187 runs take 66 minutes on one core. Runs that the record holds are
not redone.
"""

import argparse
import json
import logging
import math
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from mathlm.errors import ConfigError
from mathlm.text import corpus
from mathlm.train.record import record_on_cpu

from .one_ingredient import held_out_bits, train
from .small_gpt import CONTEXT, SIZES, START, Ingredients

BINS = 22  # points of a curve, each the mean over as many tokens
SEEDS = (0, 1, 2)
GRID = (1e-3, 2e-3, 4e-3)  # step sizes of an arm; the best may lie beyond them
MOST = 6  # step sizes tried for one arm
EDGE = (1e-3, 2e-3, 4e-3, 8e-3)  # with all seeds, for the arms whose best one moves
ARMS: dict[str, dict[str, Any]] = {
    "baseline": {},
    "no warm-up": {"warmup": 0.0},
    "no clipping": {"clip": None},
    "8 windows in a batch": {"batch_size": 8},
    "2 windows in a batch": {"batch_size": 2},
    "no weight decay": {"weight_decay": 0.0},
    "constant step size": {"schedule": "constant"},
    "Muon": {"optimizer": "muon"},
    "SGD with momentum": {"optimizer": "sgd"},
    "no norms": {"norm": "none"},
    "LayerNorm": {"norm": "layer"},
    "dropout 0.1": {"dropout": 0.1},
    "start ten times smaller": {"std": 0.002},
    "start ten times larger": {"std": 0.2},
    "residual start not scaled": {"scaled": False},
    "warm-up of 30 %": {"warmup": 0.3},
    "clipping at 0.1": {"clip": 0.1},
    "32 windows in a batch": {"batch_size": 32},
    "weight decay 1": {"weight_decay": 1.0},
}
GRIDS = {"SGD with momentum": (0.03, 0.1, 0.3)}  # where the grid is another
EDGES = ("baseline", "no warm-up", "no clipping")

Bits = Mapping[float, Mapping[int, float]]  # step size, then seed, to bits/byte


class Arm(NamedTuple):
    """What an arm costs at its best step size: ``lr``, and ``bits`` [bits/byte] by seed."""

    lr: float
    bits: tuple[float, ...]


def run(arm: str, lr: float, seed: int, args: argparse.Namespace) -> dict[str, Any]:
    """Train one variant: its cost of held-out plays, its curve, and how it was clipped."""
    start, texts = time.process_time(), corpus.split("shakespeare")
    training, held_out = (np.frombuffer(text.encode(), np.uint8) for text in texts)
    ingredients = Ingredients(**ARMS[arm], lr=lr)
    model, history = train(ingredients, training, args.tokens, seed)
    losses, norms = history.T
    ended = math.isfinite(losses[-1])
    bits = held_out_bits(model, held_out[: args.held_out]) if ended else None
    means = [part.mean() for part in np.array_split(losses / math.log(2), BINS) if len(part)]
    return {
        "arm": arm,
        "lr": lr,
        "seed": seed,
        "held_out": bits,
        "curve": [round(float(x), 4) if math.isfinite(x) else None for x in means],
        "clipped": float(np.mean(norms > (ingredients.clip or math.inf))),
        "largest_norm": float(norms[np.isfinite(norms)].max(initial=0)),
        "cpu_seconds": round(time.process_time() - start, 1),
    }


def by_step_size(rows: Sequence[dict[str, Any]], arm: str) -> dict[float, dict[int, float]]:
    """Step size and seed to bits/byte, for one arm; a run that overflowed has infinity."""
    bits = defaultdict[float, dict[int, float]](dict)
    for row in (r for r in rows if r["arm"] == arm):
        found = row["held_out"]
        bits[row["lr"]][row["seed"]] = math.inf if found is None else found
    return dict(sorted(bits.items()))


def next_step_size(bits: Bits, grid: Sequence[float]) -> float | None:
    """The step size that the first seed lacks: of the grid, or beyond a best one at its end."""
    first = {lr: seeds[0] for lr, seeds in bits.items() if 0 in seeds}
    missing = [lr for lr in grid if lr not in first]
    if missing:
        return missing[0]
    best = min(first, key=lambda lr: first[lr])
    beyond = {min(first): best / 2, max(first): best * 2}.get(best)
    return beyond if len(first) < MOST else None


def best_and_neighbor(bits: Bits) -> list[float]:
    """The best step size for the first seed, and the better of the two next to it."""
    first = {lr: seeds[0] for lr, seeds in bits.items() if 0 in seeds}
    rates = sorted(first)
    best = rates.index(min(rates, key=lambda lr: first[lr]))
    beside = [rates[i] for i in (best - 1, best + 1) if 0 <= i < len(rates)]
    return [rates[best], min(beside, key=lambda lr: first[lr])]


def missing(rows: list[dict[str, Any]]) -> Iterator[tuple[str, float, int]]:
    """Arm, step size and seed of each run that is still to do; ``rows`` grows meanwhile."""
    for arm in ARMS:
        while lr := next_step_size(by_step_size(rows, arm), GRIDS.get(arm, GRID)):
            yield arm, lr, SEEDS[0]
        bits = by_step_size(rows, arm)
        rates = best_and_neighbor(bits) + [lr for lr in EDGE if arm in EDGES]
        for lr in dict.fromkeys(rates):
            for seed in SEEDS:
                if seed not in bits.get(lr, {}):
                    yield arm, lr, seed


def finished(rows: Sequence[dict[str, Any]]) -> dict[str, Arm]:
    """The arms that have all seeds at two step sizes or more, at the better on average."""
    found = {}
    for arm in ARMS:
        whole = {lr: b for lr, b in by_step_size(rows, arm).items() if set(SEEDS) <= b.keys()}
        if len(whole) < 2:
            continue
        lr = min(whole, key=lambda lr: sum(whole[lr].values()))
        found[arm] = Arm(lr, tuple(whole[lr][seed] for seed in SEEDS))
    return found


def differences(arms: Mapping[str, Arm], against: str = "baseline") -> dict[str, np.ndarray]:
    """What each arm costs more than another one, seed by seed [bits/byte].

    Implements eq-ingredient-difference::

        Δ_s = b_s(arm, its best step size) - b_s(baseline, its best step size)

    A seed fixes the first weights and the order of the text, so runs of one seed are a pair.
    """
    base = np.array(arms[against].bits)
    return {name: np.array(arm.bits) - base for name, arm in arms.items() if name != against}


def parse(argv: Sequence[str] | None = None) -> argparse.Namespace:
    """Options from the command line."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    add = parser.add_argument
    add("--record", type=Path, help="JSON file of the runs; those in it are kept")
    add("--tokens", type=int, default=350 * 4 * CONTEXT, help="bytes that every run reads")
    add("--held-out", type=int, default=60_000, help="held-out bytes that are scored")
    return parser.parse_args(argv)


def main(argv: Sequence[str] | None = None) -> list[dict[str, Any]]:
    """Train every arm; returns, and may record, the results."""
    args, rows = parse(argv), list[dict[str, Any]]()
    config = {
        "tokens": args.tokens,
        "held_out": args.held_out,
        "baseline": asdict(Ingredients()),
        "arms": ARMS,
        "model": SIZES | START,
    }
    if args.record and args.record.is_file():
        before = json.loads(args.record.read_text())
        if before["config"] != config:
            raise ConfigError(f"{args.record} holds another study: {before['config']}")
        rows = before["results"]
    for arm, lr, seed in missing(rows):
        rows.append(run(arm, lr, seed, args))
        logging.info("%s, step size %g, seed %d: %s", arm, lr, seed, rows[-1]["held_out"])
        record_on_cpu(args.record, config=config, results=rows)
    return rows


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    main()
