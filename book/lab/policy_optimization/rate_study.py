"""How near to the optimum policies end by step size, with rates that decay and rates that stay.

cd book
python -m lab.policy_optimization.rate_study --record policy-rates.json
"""

import argparse
import itertools
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from mathlm.align.exact import standard_world
from mathlm.align.exact.training import BETA, go
from mathlm.train.record import record_on_cpu

SCHEDULES = {"decayed": 1.0, "constant": 0.0}  # share of the rate that is gone at the end
LOOKS = 30  # at the truth during a run: the last ten are the last third
ARMS: dict[str, dict[str, Any]] = {  # a way to train, sizes, and step sizes to try
    "RLOO, 8 samples": {
        "way": "RLOO",
        "sizes": {"group_size": 8, "iterations": 1500},
        "rates": (2.5e-4, 5e-4, 1e-3, 2e-3, 4e-3),
    },
    "RLOO, 512 samples": {
        "way": "RLOO",
        "sizes": {"group_size": 512, "iterations": 300},
        "rates": (1e-3, 2e-3, 4e-3, 8e-3),
    },
    "PPO, 512 samples": {
        "way": "PPO",
        "sizes": {"group_size": 512, "iterations": 300},
        "rates": (1e-3, 2e-3, 4e-3, 8e-3),
    },
    "PPO, 512 samples, no whitening": {
        "way": "PPO, no whitening",
        "sizes": {"group_size": 512, "iterations": 300},
        "rates": (1e-3, 2e-3, 4e-3, 8e-3),
    },
}


def one(arm: str, rate: float, schedule: str, seed: int, steps: int | None) -> dict[str, Any]:
    """A run: where it ends, and where it is on average in its last third [nats]."""
    sizes = dict(ARMS[arm]["sizes"])
    sizes["iterations"] = steps or sizes["iterations"]
    share = 2 if ARMS[arm]["way"].startswith("PPO") else 1  # two steps on what it wrote
    sizes |= {"lr": rate, "decay": SCHEDULES[schedule]}
    sizes["every"] = max(1, sizes["iterations"] // share // LOOKS)
    world = standard_world(vocabulary=4, prompts=2)
    run = go(world, ARMS[arm]["way"], seed=seed, **sizes)
    away = [look["to_optimum"] for look in run.path]
    third = away[-max(1, len(away) // 3) :]
    return {"end": away[-1], "last_third": sum(third) / len(third), "seconds": run.cpu_seconds}


def main(argv: Sequence[str] | None = None) -> list[dict[str, Any]]:
    """All arms, rates, schedules and seeds; returns, and may record, what they reach."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--record", type=Path)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--steps", type=int, help="instead of those of the arm")
    parser.add_argument("--arms", nargs="+", choices=list(ARMS), default=list(ARMS))
    args = parser.parse_args(argv)
    results = list[dict[str, Any]]()
    for arm, seed in itertools.product(args.arms, range(args.seeds)):
        for rate, schedule in itertools.product(ARMS[arm]["rates"], SCHEDULES):
            found = one(arm, rate, schedule, seed, args.steps)
            row = {"arm": arm, "rate": rate, "schedule": schedule, "seed": seed}
            results.append(row | found)
            print(f"{arm}, {rate:g} {schedule}, seed {seed}: {found['end']:.4f} nats away")
            record_on_cpu(args.record, config=vars(args) | {"beta": BETA}, results=results)
    return results


if __name__ == "__main__":
    main()
