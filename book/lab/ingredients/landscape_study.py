"""The landscape that pretraining runs through: random slices, the way to the end, barriers.

    cd book
    python -m lab.ingredients.landscape_study --record landscape.json

Trains the small GPT of chapter 19 from two starts, and again from the first start in another
order of the data from the beginning or from a later step. Three minutes on one core.
"""

import argparse
import logging
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from mathlm.models import GPT
from mathlm.optim import AdamW, warmup_cosine
from mathlm.text import corpus
from mathlm.train import TokenWindows, Trainer, TrainerConfig, next_token
from mathlm.train.objectives import Batch
from mathlm.train.record import record_on_cpu

from .directions import random_direction, towards
from .landscape import barrier, line, plane
from .small_gpt import CONTEXT, Ingredients, build

PEAK = 4e-3


def windows(ids: np.ndarray, seed: int, batch_size: int = 4) -> TokenWindows:
    """Batches in an order of their own."""
    return TokenWindows(ids, context=CONTEXT, batch_size=batch_size, vocab_size=256, seed=seed)


def trained(ids: np.ndarray, steps: int, start: int, order: int, fork: int = 0) -> GPT:
    """A trained model; its data have the order 0 before step ``fork``, then ``order``.

    So runs of one start share their first steps, as far as the fork.
    """
    model, first, then = build(Ingredients(), start), windows(ids, 0), windows(ids, order)

    def data(step: int) -> Batch:
        return first(step) if step < fork else then(step)

    schedule = warmup_cosine(PEAK, steps // 10, steps, final=PEAK / 10)
    optimizer = AdamW(model.parameters(), betas=(0.9, 0.95), weight_decay=0.1)
    config = TrainerConfig(steps=steps, schedule=schedule, log_every=steps)
    Trainer(model, next_token, data, optimizer, config).fit()
    return model.eval()


def study(training: np.ndarray, batch: Batch, args: argparse.Namespace) -> dict[str, Any]:
    """Every slice of the record; losses [nats/byte] of ``batch``."""

    def random_slices(model: GPT, xs: np.ndarray) -> list[list[float]]:
        ways = [random_direction(model, seed) for seed in range(3)]
        return [line(model, way, xs, batch).tolist() for way in ways]

    start, steps = build(Ingredients(), 0), args.steps
    end = trained(training, steps, start=0, order=0)
    others = {"another start": trained(training, steps, start=1, order=1)}
    for fork in args.forks:
        others[f"fork at {fork}"] = trained(training, steps, start=0, order=1, fork=fork)
    xs, t = np.linspace(-1, 1, args.points), np.linspace(0, 1, args.points)
    paths = {name: line(end, towards(end, model), t, batch) for name, model in others.items()}
    first, second = (random_direction(end, seed) for seed in (0, 1))
    few = np.linspace(-1, 1, args.side)
    heights = plane(end, first, second, few, few, batch)
    return {
        "x": xs.tolist(),
        "random": {name: random_slices(m, xs) for name, m in (("start", start), ("end", end))},
        "t": t.tolist(),
        "from_start": line(start, towards(start, end), t, batch).tolist(),
        "between": {name: path.tolist() for name, path in paths.items()},
        "barriers": {name: barrier(path) for name, path in paths.items()},
        "plane": {"x": few.tolist(), "loss": heights.tolist()},
    }


def parse(argv: Sequence[str] | None = None) -> argparse.Namespace:
    """Options from the command line."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    add = parser.add_argument
    add("--record", type=Path, help="JSON file of the slices")
    add("--steps", type=int, default=350, help="optimizer steps of every model")
    add(
        "--forks",
        type=int,
        nargs="*",
        default=[0, 20, 60, 120],
        help="steps; the order changes",
    )
    add("--points", type=int, default=25, help="points of a line")
    add("--side", type=int, default=21, help="points of a side of the plane")
    add(
        "--batch-size",
        type=int,
        default=8,
        help="held-out windows that every point is judged on",
    )
    return parser.parse_args(argv)


def main(argv: Sequence[str] | None = None) -> dict[str, Any]:
    """Train, cut and record; returns the slices."""
    args = parse(argv)
    texts = corpus.split("shakespeare")
    training, held_out = (np.frombuffer(text.encode(), np.uint8) for text in texts)
    found = study(training, windows(held_out, 0, args.batch_size)(0), args)
    logging.info("%s", found["barriers"])
    record_on_cpu(args.record, options=vars(args), results=found)
    return found


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    main()
