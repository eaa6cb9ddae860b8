"""What a small BERT learns from each kind of wrong sentence, at its own step size.

    cd book
    python -m lab.objectives.linked_pairs_study --record objectives-pairs.json

Each kind is trained at every step size with one seed, and with the others at the best of them
and at the best one of the easy pairs: where one seed learns nothing, it prefers no step size.
Runs that the record holds already are kept.
"""

import argparse
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, get_args

from mathlm.train.objective_batches import Negatives
from mathlm.train.record import describe, record_on_cpu

from .linked_pairs import PairConfig, judged, train
from .objectives_study import Rows, kept, own_loss

GRID = (1e-3, 3e-3, 1e-2)


def run(config: PairConfig) -> dict[str, Any]:
    """One run as a row of the record; the loss as means over ten steps."""
    began = time.process_time()
    model, loss = train(config)
    tens = [sum(loss[i : i + 10]) / len(loss[i : i + 10]) for i in range(0, len(loss), 10)]
    row = {"config": describe(config), "loss": tens, "right": judged(model, config)}
    return row | {"cpu_seconds": time.process_time() - began}


def best(rows: Rows, negatives: str) -> float:
    """The step size at which seed 0 ends with the least loss."""
    own = [r for r in rows if r["config"]["negatives"] == negatives]
    return min((r for r in own if r["config"]["seed"] == 0), key=own_loss)["config"]["lr"]


def configs(base: PairConfig, seeds: int, rows: Rows) -> Iterator[PairConfig]:
    """The runs, in order; later ones depend on the rows before."""
    kinds = get_args(Negatives)
    for kind in kinds:
        for lr in GRID:
            yield replace(base, negatives=kind, lr=lr)
    for seed in range(1, seeds):
        for kind in kinds:
            for lr in dict.fromkeys((best(rows, kind), best(rows, "elsewhere"))):
                yield replace(base, negatives=kind, lr=lr, seed=seed)


def main(argv: Sequence[str] | None = None) -> Rows:
    """Train and judge; returns, and may record, a row for each run."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--record", type=Path)
    for name, default in (("steps", 900), ("seeds", 3)):
        parser.add_argument(f"--{name}", type=int, default=default)
    args = parser.parse_args(argv)
    results, _ = kept(args.record)
    for config in configs(PairConfig(steps=args.steps), args.seeds, results):
        if describe(config) in [row["config"] for row in results]:
            continue
        results.append(run(config))
        print(config, results[-1]["right"], flush=True)
        record_on_cpu(args.record, config=vars(args), results=results, untrained=[])
    return results


if __name__ == "__main__":
    main()
