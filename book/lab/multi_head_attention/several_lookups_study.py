"""Learning rates of the task of several lookups, for each number of heads, over several seeds.

cd book
python -m lab.multi_head_attention.several_lookups_study --record results/several-lookups.json
"""

import argparse
import statistics
from collections.abc import Iterable, Mapping, Sequence
from itertools import product
from pathlib import Path

from mathlm.train.record import record_on_cpu

from .several_lookups import LookupsConfig, train

ARMS = {"1": (1, None), "2": (2, None), "4": (4, None), "8": (8, None), "1 wide": (1, 256)}
RATES = [0.0025, 0.005, 0.01, 0.02, 0.04]


def study(arms: Iterable[str], rates: Iterable[float], seeds: int, steps: int) -> list[dict]:
    """Train once for each arm, rate and seed; an arm is the heads, "wide" if of width 256.

    Returns:
        For each run its ``arm``, ``lr``, ``seed`` and ``error``, on sequences not seen.
    """
    rows = []
    for arm, lr, seed in product(arms, rates, range(seeds)):
        heads, width = ARMS[arm]
        config = LookupsConfig(n_heads=heads, d_head=width, lr=lr, seed=seed, steps=steps)
        rows.append({"arm": arm, "lr": lr, "seed": seed, "error": train(config).error})
    return rows


def best(rows: Iterable[Mapping]) -> dict[str, tuple[float, float, float]]:
    """For each arm its best rate, the mean error there, and the spread over seeds."""
    by: dict[str, dict[float, list[float]]] = {}
    for row in rows:
        by.setdefault(row["arm"], {}).setdefault(row["lr"], []).append(row["error"])
    found = {}
    for arm, rates in by.items():
        lr = min(rates, key=lambda rate: statistics.mean(rates[rate]))
        found[arm] = (lr, statistics.mean(rates[lr]), statistics.pstdev(rates[lr]))
    return found


def main(argv: Sequence[str] | None = None) -> list[dict]:
    """Run the study and write its record."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    add = parser.add_argument
    add("--arms", nargs="+", default=list(ARMS), choices=ARMS)
    add("--rates", type=float, nargs="+", default=RATES)
    add("--seeds", type=int, default=5)
    add("--steps", type=int, default=150)
    add("--record", type=Path, help="JSON file for options and results")
    args = parser.parse_args(argv)
    rows = study(args.arms, args.rates, args.seeds, args.steps)
    record_on_cpu(args.record, options=vars(args), runs=rows)
    return rows


if __name__ == "__main__":
    main()
