"""Mixtures of experts against dense models of equal active and of equal total parameters.

    cd book
    python -m lab.mixture_of_experts.record --record mixture-of-experts.json

Every arm at step sizes a factor of two apart, on both sides of its best one, and three seeds.
"""

import argparse
import itertools
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from mathlm.train.record import record_on_cpu

from .expert_runs import ARMS, ExpertRunConfig, train

STEP_SIZES = {
    "dense, active": (4e-3, 8e-3, 1.6e-2, 3.2e-2),
    "dense, total": (4e-3, 8e-3, 1.6e-2),
} | dict.fromkeys(("no balance", "balance loss", "bias"), (1e-3, 2e-3, 4e-3, 8e-3, 1.6e-2))
RUNS = [(arm, lr) for arm in ARMS for lr in STEP_SIZES[arm]]


def main(argv: Sequence[str] | None = None) -> list[dict]:
    """Train every arm at its step sizes and all seeds; returns, and may record, the results."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--record", type=Path)
    for name, default in (("steps", 200), ("seeds", 3)):
        parser.add_argument(f"--{name}", type=int, default=default)
    args, results = parser.parse_args(argv), []
    for seed, (arm, lr) in itertools.product(range(args.seeds), RUNS):
        config = ExpertRunConfig(arm=arm, lr=lr, steps=args.steps, seed=seed)
        began = time.process_time()
        run = train(config)
        results.append(
            {
                "config": config,
                "test": run.test,
                "load": run.load,
                "cpu_seconds": time.process_time() - began,
            }
        )
        print(arm, lr, seed, round(run.test, 4), flush=True)
        record_on_cpu(args.record, config=vars(args), results=results)
    return results


def best(results: Sequence[dict]) -> dict[str, tuple[float, list[dict]]]:
    """For each arm the step size with the least mean loss, and its runs, one a seed."""
    found: dict[str, tuple[float, list[dict]]] = {}
    for arm in ARMS:
        rows = [r for r in results if r["config"]["arm"] == arm]
        rates = sorted({r["config"]["lr"] for r in rows})
        runs = {lr: [r for r in rows if r["config"]["lr"] == lr] for lr in rates}
        lr = min(runs, key=lambda lr: np.mean([r["test"] for r in runs[lr]]))
        found[arm] = lr, runs[lr]
    return found


if __name__ == "__main__":
    main()
