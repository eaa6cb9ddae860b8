"""Scores and loss of every arm at every step size, over seeds.

Runs that the record has already are not repeated, so that a grid can be extended.

cd book
python -m lab.current_models.logit_growth_study --record results/score-growth.json
"""

import argparse
import json
import statistics
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import product
from pathlib import Path

from mathlm.errors import ConfigError
from mathlm.train.record import record_on_cpu

from .logit_growth import ARMS, GrowthConfig, train

RATES = [0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0]
Run = tuple[str, float, int]  # arm, step size, seed


def study(runs: Iterable[Run], steps: int) -> Iterator[dict]:
    """Train once for each arm, rate and seed.

    Returns:
        For each run its ``arm``, ``lr``, ``seed``, held-out ``loss`` [nats/byte], largest
        ``score``, mean largest weight ``top`` and ``cpu_seconds``.
    """
    for arm, lr, seed in runs:
        began = time.process_time()
        found = train(GrowthConfig(arm=arm, lr=lr, seed=seed, steps=steps))
        row = {"arm": arm, "lr": lr, "seed": seed, "loss": found.loss, "score": found.score}
        row |= {"top": found.top}
        print(row, flush=True)
        yield row | {"cpu_seconds": time.process_time() - began}


def recorded(path: Path | None, steps: int) -> list[dict]:
    """The runs of a record of as many steps; none if there is no such file."""
    if path is None or not path.exists():
        return []
    record = json.loads(path.read_text())
    found = record["options"]["steps"]
    if found != steps:
        raise ConfigError(
            f"{path.name} has runs of {found} steps, not of steps={steps}; give another record"
        )
    return record["runs"]


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
    rows = recorded(args.record, args.steps)
    known = {(row["arm"], row["lr"], row["seed"]) for row in rows}
    wanted = [(a, r, s) for s, a, r in product(range(args.seeds), args.arms, args.rates)]
    for row in study([run for run in wanted if run not in known], args.steps):
        rows.append(row)
        record_on_cpu(args.record, options=vars(args), runs=rows)  # a stop loses nothing
    record_on_cpu(args.record, options=vars(args), runs=rows)
    return rows


if __name__ == "__main__":
    main()
