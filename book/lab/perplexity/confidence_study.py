"""What label smoothing and repeated reading do to calibration, over several seeds.

cd book
python -m lab.perplexity.confidence_study --record confidence.json
"""

import argparse
import itertools
import time
from collections.abc import Sequence
from pathlib import Path

from mathlm.train.record import record_on_cpu

from .confidence import ConfidenceConfig, train

SMOOTHINGS = (0.0, 0.05, 0.1, 0.2)


def run(config: ConfidenceConfig, every: int) -> dict:
    """One run as a row of the record."""
    began = time.process_time()
    _, looks = train(config, every)
    return {"config": config, "looks": looks, "cpu_seconds": time.process_time() - began}


def main(argv: Sequence[str] | None = None) -> list[dict]:
    """Train with every smoothing and seed; returns, and may record, what was found."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--record", type=Path)
    for name, default in (("steps", 400), ("seeds", 3), ("every", 50), ("size", 20_000)):
        parser.add_argument(f"--{name}", type=int, default=default)
    args, results = parser.parse_args(argv), []
    for smoothing, seed in itertools.product(SMOOTHINGS, range(args.seeds)):
        config = ConfidenceConfig(
            smoothing=smoothing, seed=seed, steps=args.steps, size=args.size
        )
        results.append(run(config, args.every))
        last = results[-1]["looks"][-1]
        print(f"smoothing {smoothing}, seed {seed}: ece {last['ece']:.3f}")
        record_on_cpu(args.record, config=vars(args), results=results)
    return results


if __name__ == "__main__":
    main()
