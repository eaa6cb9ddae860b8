"""Where the logits go with SGD, with Adam, and with Adam and something that holds them.

cd book
python -m lab.perplexity.drift_study --record logit-drift.json
"""

import argparse
import itertools
import time
from collections.abc import Sequence
from pathlib import Path

from mathlm.train.record import record_on_cpu

from .logit_drift import DriftConfig, train

CASES: list[dict] = [
    {"optimizer": "sgd", "lr": 0.5},
    {},
    {"decay": 0.1},
    {"z": 1e-4},
    {"z": 1e-2},
]


def run(config: DriftConfig, every: int) -> dict:
    """One run as a row of the record: means over so many steps of each measure."""
    began = time.process_time()
    found = train(config)
    row: dict = {"config": config, "steps": [*range(every, config.steps + 1, every)]}
    for name, x in zip(found._fields[1:], found[1:], strict=True):
        row[name] = [sum(x[i - every : i]) / every for i in row["steps"]]
    return row | {"cpu_seconds": time.process_time() - began}


def main(argv: Sequence[str] | None = None) -> list[dict]:
    """Train every case with every seed; returns, and may record, where the logits went."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--record", type=Path)
    for name, default in (("steps", 800), ("seeds", 3), ("every", 20)):
        parser.add_argument(f"--{name}", type=int, default=default)
    args, results = parser.parse_args(argv), []
    for seed, case in itertools.product(range(args.seeds), CASES):
        config = DriftConfig(steps=args.steps, seed=seed, **case)
        results.append(run(config, args.every))
        print(f"{case}, seed {seed}: log Z {results[-1]['log_z'][-1]:.2f}")
        record_on_cpu(args.record, config=vars(args), results=results)
    return results


if __name__ == "__main__":
    main()
