"""Teacher forcing against scheduled sampling, over several seeds.

cd book
python -m lab.objectives.exposure_study --record exposure.json
"""

import argparse
import itertools
import time
from collections.abc import Sequence
from pathlib import Path

from mathlm.train.record import record_on_cpu

from .exposure import forced_slips, free_slips, predicted_slips, recoveries
from .repeated_words import CopyConfig, train

SHARES = (0.0, 0.25, 0.5, 1.0)


def run(config: CopyConfig) -> dict:
    """One run as a row of the record."""
    began = time.process_time()
    model, losses = train(config)
    forced, back = forced_slips(model, config), recoveries(model, config)
    return {
        "config": config,
        "loss": sum(losses[-10:]) / len(losses[-10:]),
        "forced": forced.tolist(),
        "back": back.tolist(),
        "free": free_slips(model, config).tolist(),
        "predicted": predicted_slips(forced, back),
        "cpu_seconds": time.process_time() - began,
    }


def main(argv: Sequence[str] | None = None) -> list[dict]:
    """Train with every share, memory and seed; returns, and may record, the slips."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--record", type=Path)
    for name, default in (("steps", 500), ("seeds", 3)):
        parser.add_argument(f"--{name}", type=int, default=default)
    args, results = parser.parse_args(argv), []
    for forgets, share, seed in itertools.product((True, False), SHARES, range(args.seeds)):
        config = CopyConfig(forgets=forgets, share=share, steps=args.steps, seed=seed)
        results.append(run(config))
        slips = results[-1]["forced"][-1], results[-1]["free"][-1]
        print(f"forgets {forgets}, share {share}, seed {seed}: last slips {slips}")
        record_on_cpu(args.record, config=vars(args), results=results)
    return results


if __name__ == "__main__":
    main()
