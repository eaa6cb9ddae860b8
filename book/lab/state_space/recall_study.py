"""Associative recall of states, attention and a hybrid: three step sizes, three seeds.

cd book
python -m lab.state_space.recall_study --record results/state-recall.json
"""

import argparse
import statistics
from collections.abc import Iterable, Mapping, Sequence
from itertools import product
from pathlib import Path

from mathlm.train.record import record_on_cpu

from .recall import ARMS, RecallConfig, train

STATES = {"decay": (8, 32), "delta rule": (8, 32), "attention": (8,), "hybrid": (8,)}
RATES = [0.003, 0.01, 0.03]


def study(arms: Iterable[str], rates: Iterable[float], seeds: int, steps: int) -> list[dict]:
    """Train once for each arm, size of the state, rate and seed.

    Returns:
        For each run its ``arm``, ``d_state``, ``lr``, ``seed`` and ``recall`` by pairs.
    """
    rows = []
    sized = [(arm, N) for arm in arms for N in STATES[arm]]
    for (arm, N), lr, seed in product(sized, rates, range(seeds)):
        config = RecallConfig(mixers=ARMS[arm], d_state=N, lr=lr, seed=seed, steps=steps)
        recall = {str(n): share for n, share in train(config).recall.items()}
        rows.append({"arm": arm, "d_state": N, "lr": lr, "seed": seed, "recall": recall})
    return rows


class Best(dict[int, tuple[float, float]]):
    """Mean recall and spread over seeds for each number of pairs, at the best step size."""

    lr: float


def best(rows: Iterable[Mapping]) -> dict[tuple[str, int], Best]:
    """For each arm and size of the state, the curve at its best step size.

    The best step size is the one with the highest recall, averaged over pairs and seeds.
    """
    by: dict[tuple[str, int], dict[float, list[Mapping]]] = {}
    for row in rows:
        by.setdefault((row["arm"], row["d_state"]), {}).setdefault(row["lr"], []).append(row)
    found = {}
    for arm, rates in by.items():
        lr = max(rates, key=lambda rate: sum(sum(r["recall"].values()) for r in rates[rate]))
        curve = Best()
        for n in sorted(rates[lr][0]["recall"], key=int):
            shares = [row["recall"][n] for row in rates[lr]]
            curve[int(n)] = (statistics.mean(shares), statistics.pstdev(shares))
        curve.lr = lr
        found[arm] = curve
    return found


def main(argv: Sequence[str] | None = None) -> list[dict]:
    """Run the study and write its record."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    add = parser.add_argument
    add("--arms", nargs="+", default=list(ARMS), choices=ARMS)
    add("--rates", type=float, nargs="+", default=RATES)
    add("--seeds", type=int, default=3)
    add("--steps", type=int, default=300)
    add("--record", type=Path, help="JSON file for options and results")
    args = parser.parse_args(argv)
    rows = study(args.arms, args.rates, args.seeds, args.steps)
    record_on_cpu(args.record, options=vars(args), runs=rows)
    return rows


if __name__ == "__main__":
    main()
