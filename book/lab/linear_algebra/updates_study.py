"""How many directions the updates of a small GPT use, over several seeds.

cd book
python -m lab.linear_algebra.updates_study --record update-directions.json
"""

import argparse
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from mathlm.train.record import record_on_cpu

from .update_cuts import RANKS, directions, shares_kept
from .updates import train_twice


def study(seeds: Sequence[int], steps: tuple[int, int]) -> list[dict]:
    """Train twice from each seed, count directions, and cut.

    Returns:
        For each seed: ``seed``, ``tuned_loss`` [nats/byte], ``directions`` of each matrix (by
        pretraining, by fine-tuning, by chance) and ``kept``, the shares of the gain.
    """
    rows = []
    for seed in seeds:
        run, rng = train_twice(seed, steps=steps), np.random.default_rng(seed)
        row = {"seed": seed, "tuned_loss": run.tuned_loss}
        rows.append(row | {"directions": directions(run, rng), "kept": shares_kept(run, rng)})
    return rows


def main(argv: Sequence[str] | None = None) -> list[dict]:
    """Run every seed and write the record."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--steps", type=int, nargs=2, default=(160, 80), help="of each text")
    parser.add_argument("--record", type=Path)
    args = parser.parse_args(argv)
    rows = study(range(args.seeds), (args.steps[0], args.steps[1]))
    record_on_cpu(args.record, options=vars(args), ranks=RANKS, runs=rows)
    return rows


if __name__ == "__main__":
    main()
