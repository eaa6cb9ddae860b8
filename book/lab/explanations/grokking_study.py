"""When is addition modulo p understood? Several seeds, with and without weight decay.

cd book
python -m lab.explanations.grokking_study --seeds 3 --record grokking.json
"""

import argparse
import logging
import time
from collections.abc import Sequence
from pathlib import Path

from mathlm.train.record import record_on_cpu

from .grokking import GrokkingConfig, GrokkingRun, train

LOG = logging.getLogger(__name__)


def main(argv: Sequence[str] | None = None) -> list[GrokkingRun]:
    """Train, log the two steps that matter, and record the curves if asked."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--steps", type=int, default=GrokkingConfig.steps)
    parser.add_argument("--decay", type=float, nargs="+", default=[GrokkingConfig.decay, 0.0])
    parser.add_argument("--record", type=Path, help="JSON file for the curves")
    args, runs, start = parser.parse_args(argv), list[GrokkingRun](), time.process_time()
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    for decay in args.decay:
        for seed in range(args.seeds):
            runs.append(train(GrokkingConfig(decay=decay, seed=seed, steps=args.steps)))
            known, added = runs[-1].step_at("train", 0.99), runs[-1].step_at("test", 0.95)
            LOG.info("decay %g, seed %d: known at %s, added at %s", decay, seed, known, added)
    results = [{"config": run.config, "curves": run.curves} for run in runs]
    seconds = time.process_time() - start
    record_on_cpu(args.record, options=vars(args), results=results, cpu_seconds=seconds)
    return runs


if __name__ == "__main__":
    main()
