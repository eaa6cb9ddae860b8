"""Associative recall of states, attention and a hybrid: four step sizes, three seeds.

The linear arms train twice as long as the others, which are done before.

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
STEPS = {"decay": 600, "delta rule": 600, "attention": 300, "hybrid": 300}
RATES = [0.003, 0.01, 0.03, 0.1]


def study(
    arms: Iterable[str], rates: Iterable[float], seeds: int, steps: int | None = None
) -> list[dict]:
    """Train once for each arm, size of the state, rate and seed.

    Args:
        arms: Names of :data:`~lab.state_space.recall.ARMS`.
        rates: Step sizes, each tried in every arm.
        seeds: How many, from 0.
        steps: Of every arm; None = those of ``STEPS``.

    Returns:
        For each run ``arm``, ``d_state``, ``lr``, ``seed``, ``steps`` and ``recall`` by pairs.
    """
    rows = []
    sized = [(arm, N) for arm in arms for N in STATES[arm]]
    for (arm, N), lr, seed in product(sized, rates, range(seeds)):
        many = STEPS[arm] if steps is None else steps
        config = RecallConfig(mixers=ARMS[arm], d_state=N, lr=lr, seed=seed, steps=many)
        row = {"arm": arm, "d_state": N, "lr": lr, "seed": seed, "steps": many}
        recall = {str(n): share for n, share in train(config).recall.items()}
        rows.append(row | {"recall": recall})
    return rows


class Best(dict[int, tuple[float, float]]):
    """For each number of pairs the mean recall over seeds and its sample deviation."""

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
            curve[int(n)] = (statistics.mean(shares), statistics.stdev(shares))
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
    add("--steps", type=int, help="of every arm, in place of those of the study")
    add("--record", type=Path, help="JSON file for options and results")
    args = parser.parse_args(argv)
    rows = study(args.arms, args.rates, args.seeds, args.steps)
    record_on_cpu(args.record, options=vars(args), runs=rows)
    return rows


if __name__ == "__main__":
    main()
