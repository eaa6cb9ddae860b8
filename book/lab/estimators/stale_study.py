"""Where policies end that take one or many steps on each batch, by loss and step size.

cd book
python -m lab.estimators.stale_study --record estimators-stale.json
"""

import argparse
import itertools
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

from mathlm.train.record import record_on_cpu

from .ratios import LOSSES, Judged

CHANCES, VERDICTS = (0.6, 0.3, 0.1), (0.3, 0.5, 0.9)  # of three answers; the best is rare
STEPS, RATES, BATCHES = (1, 8, 32), (0.5, 2.0), 50


def judged_world() -> Judged:
    """Three answers, of which the rarest is called right most often."""
    double = torch.float64
    return Judged(
        torch.tensor(CHANCES, dtype=double).log(), torch.tensor(VERDICTS, dtype=double)
    )


def main(argv: Sequence[str] | None = None) -> list[dict[str, Any]]:
    """All losses, steps on a batch, step sizes and seeds; returns, and may record, the ends."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--record", type=Path)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--chains", type=int, default=500)
    parser.add_argument("--batches", type=int, default=BATCHES)
    args = parser.parse_args(argv)
    world, results = judged_world(), list[dict[str, Any]]()
    for name, steps, rate in itertools.product(LOSSES, STEPS, RATES):
        for seed in range(args.seeds):
            mean, share = world.after_batches(
                LOSSES[name], args.batches, steps, rate, args.chains, seed
            )
            row = {"loss": name, "steps": steps, "rate": rate, "seed": seed}
            results.append(row | {"mean_reward": mean, "prefers_best": share})
        print(f"{name}, {steps} steps of {rate:g}: mean reward {mean:.3f}, best {share:.0%}")
        record_on_cpu(args.record, config=vars(args), results=results)
    return results


if __name__ == "__main__":
    main()
