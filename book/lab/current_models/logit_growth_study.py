"""Scores and loss of every arm at every step size, over seeds.

cd book
python -m lab.current_models.logit_growth_study --record results/score-growth.json
"""

import argparse
import statistics
import time
from collections.abc import Iterable, Mapping, Sequence
from itertools import product
from pathlib import Path

from mathlm.train.record import record_on_cpu

from .logit_growth import ARMS, GrowthConfig, train

RATES = [0.003, 0.01, 0.03, 0.1, 0.3]


def study(arms: Iterable[str], rates: Iterable[float], seeds: int, steps: int) -> list[dict]:
    """Train once for each arm, rate and seed.

    Returns:
        For each run its ``arm``, ``lr``, ``seed``, held-out ``loss`` [nats/byte], largest
        ``score``, mean largest weight ``top`` and ``cpu_seconds``.
    """
    rows = []
    for seed, arm, lr in product(range(seeds), arms, rates):
        began = time.process_time()
        found = train(GrowthConfig(arm=arm, lr=lr, seed=seed, steps=steps))
        row = {"arm": arm, "lr": lr, "seed": seed, "loss": found.loss, "score": found.score}
        row |= {"top": found.top}
        rows.append(row | {"cpu_seconds": time.process_time() - began})
        print(row, flush=True)
    return rows


def by_rate(rows: Iterable[Mapping], name: str) -> dict[str, dict[float, tuple[float, float]]]:
    """For each arm and rate the mean of a measure over seeds, and its standard deviation.

    The deviation is that of a sample, divided by n - 1, of two seeds or more.
    """
    found: dict[str, dict[float, list[float]]] = {}
    for row in rows:
        found.setdefault(row["arm"], {}).setdefault(row["lr"], []).append(row[name])
    return {
        arm: {lr: (statistics.mean(x), statistics.stdev(x)) for lr, x in rates.items()}
        for arm, rates in found.items()
    }


def main(argv: Sequence[str] | None = None) -> list[dict]:
    """Run the study and write its record."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    add = parser.add_argument
    add("--arms", nargs="+", default=list(ARMS), choices=ARMS)
    add("--rates", type=float, nargs="+", default=RATES)
    add("--seeds", type=int, default=3)
    add("--steps", type=int, default=200)
    add("--record", type=Path, help="JSON file for options and results")
    args = parser.parse_args(argv)
    rows = study(args.arms, args.rates, args.seeds, args.steps)
    record_on_cpu(args.record, options=vars(args), runs=rows)
    return rows


if __name__ == "__main__":
    main()
